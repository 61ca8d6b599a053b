import type { PluginContext } from "@svc/sdk";
import type { Chat, Contact, GroupMetadata, WAMessage, WASocket } from "@whiskeysockets/baileys";
import { isGroup, isPerson, type People } from "../people.ts";

/** A chat as it is remembered: what it is called and what its newest message is named, never what that says. */
export interface KnownChat {
  /** The group's address, or the person's name here: digits of the number, or the platform's id. */
  readonly id: string;
  readonly kind: "direct" | "group";
  readonly name?: string;
  /** The address that it is read by. */
  readonly address: string;
  /** Unix milliseconds of the newest message. */
  readonly lastAt?: number;
  /** The newest message's own name at the platform. */
  readonly last?: { readonly id: string; readonly fromMe: boolean; readonly participant?: string };
}

/** A person as it is remembered. */
export interface KnownContact {
  readonly id: string;
  readonly number?: string;
  /** As the owner of the phone has saved it. */
  readonly saved?: string;
  /** As the person calls itself; anybody may choose any. */
  readonly push?: string;
}

/** Chats and contacts, from what the platform tells by itself. Asking here reads nothing from the phone. */
export interface Directory {
  chats(): Promise<readonly KnownChat[]>;
  contacts(): Promise<readonly KnownContact[]>;
  /** Notes that a message was there. */
  saw(message: WAMessage): Promise<void>;
  /** Listens to what a connection tells of chats and contacts. */
  attend(socket: WASocket): void;
  /** A group's name; asked of the platform once where it is `needed` and not known. Undefined where the platform does not show it. */
  groupName(address: string, needed: boolean): Promise<string | undefined>;
  /** Keeps what the platform said of a group. */
  learn(group: Pick<GroupMetadata, "id" | "subject">): Promise<void>;
}

const PAGE = 1_000;

/** Makes the record in the plugin's store. Without `listens` it remembers no more than the names of groups that routes ask for. */
export function createDirectory(ctx: Pick<PluginContext, "store" | "log">, people: People, listens: boolean, socket: () => WASocket | undefined): Directory {
  const chats = () => ctx.store.collection<KnownChat>("chats");
  const contacts = () => ctx.store.collection<KnownContact>("contacts");
  const names = new Map<string, string>();
  let order: Promise<unknown> = Promise.resolve();

  /** One after the other: each reads what it changes. */
  const inOrder = <T>(work: () => Promise<T>): Promise<T> => {
    const done = order.then(work);
    order = done.catch((error: unknown) => ctx.log.warn({ err: error }, "what the phone told of chats and contacts could not be kept"));
    return done;
  };

  async function noteChat(address: string, more: Partial<KnownChat>, other?: string): Promise<void> {
    if (!isGroup(address) && !isPerson(address)) return;
    const id = isGroup(address) ? address : (await people.known(address, other)).id;
    const before = (await chats().get(id))?.value;
    if (before?.lastAt !== undefined && more.lastAt !== undefined && more.lastAt < before.lastAt) return;
    const next: KnownChat = { id, kind: isGroup(address) ? "group" : "direct", ...before, ...more, address };
    if (JSON.stringify(next) !== JSON.stringify(before)) await chats().put(id, next);
    if (next.name !== undefined) names.set(id, next.name);
  }

  async function noteContact({ id: address, lid, phoneNumber, name, notify }: Partial<Contact>): Promise<void> {
    if (address === undefined || !isPerson(address)) return;
    const { id, number } = await people.known(address, phoneNumber ?? (lid === address ? undefined : lid));
    const before = (await contacts().get(id))?.value;
    const next: KnownContact = {
      ...before,
      id,
      ...(number === undefined ? {} : { number }),
      ...(name ? { saved: name } : {}),
      ...(notify ? { push: notify } : {}),
    };
    if (JSON.stringify(next) !== JSON.stringify(before)) await contacts().put(id, next);
  }

  const noteChats = (told: readonly Partial<Chat>[]) => {
    for (const { id, name, pnJid } of told as readonly (Partial<Chat> & { pnJid?: string })[])
      if (typeof id === "string") void inOrder(() => noteChat(id, name ? { name } : {}, pnJid)).catch(() => {});
  };
  const noteContacts = (told: readonly Partial<Contact>[]) => {
    for (const contact of told) void inOrder(() => noteContact(contact)).catch(() => {});
  };

  const saw: Directory["saw"] = async ({ key, message, messageTimestamp, pushName }) => {
    if (!listens || message?.protocolMessage) return;
    await inOrder(async () => {
      const { remoteJid, id, participant, fromMe } = key;
      if (typeof remoteJid !== "string" || typeof id !== "string" || (!isGroup(remoteJid) && !isPerson(remoteJid))) return;
      const last = { id, fromMe: fromMe === true, ...(typeof participant === "string" && participant !== "" ? { participant } : {}) };
      await noteChat(remoteJid, { last, lastAt: Number(messageTimestamp ?? 0) * 1_000 }, key.remoteJidAlt ?? undefined);
      const from = isGroup(remoteJid) ? participant : remoteJid;
      if (fromMe !== true && typeof from === "string" && typeof pushName === "string") await noteContact({ id: from, notify: pushName });
    });
  };
  const learn: Directory["learn"] = ({ id, subject }) => inOrder(() => noteChat(id, { name: subject }));

  return {
    saw,
    learn,
    chats: () => all(chats()),
    contacts: () => all(contacts()),
    attend({ ev }) {
      if (!listens) return;
      ev.on("chats.upsert", noteChats);
      ev.on("chats.update", noteChats);
      ev.on("contacts.upsert", noteContacts);
      ev.on("contacts.update", noteContacts);
      ev.on("groups.upsert", (groups) => noteChats(groups.map(({ id, subject }) => ({ id, name: subject }))));
      ev.on("groups.update", (groups) =>
        noteChats(groups.map(({ id, subject }) => ({ ...(id === undefined ? {} : { id }), ...(subject === undefined ? {} : { name: subject }) }))),
      );
      ev.on("messaging-history.set", ({ chats: told, contacts: known, messages }) => {
        noteChats(told);
        noteContacts(known);
        // Of messages of the past only which was the newest of its chat.
        const newest = new Map<string, WAMessage>();
        for (const message of messages) {
          const chat = message.key.remoteJid ?? "";
          if (Number(message.messageTimestamp ?? 0) >= Number(newest.get(chat)?.messageTimestamp ?? 0)) newest.set(chat, message);
        }
        for (const message of newest.values()) void saw(message).catch(() => {});
      });
    },
    async groupName(address, needed) {
      const known = names.get(address) ?? (await chats().get(address))?.value.name;
      if (known !== undefined || !needed) return known;
      const line = socket();
      if (line === undefined) throw new Error("the name of a group cannot be asked for while there is no connection");
      const group = await line.groupMetadata(address).catch((error: unknown) => {
        // A group that the number has left is not shown to it: what was written there must not wait for its name, and all others behind it.
        if (isRefusal(error)) return undefined;
        throw error;
      });
      if (group === undefined) return undefined;
      await learn({ id: address, subject: group.subject });
      return group.subject;
    },
  };
}

/** The platform's own number of a refusal; not of too many questions, nor of a connection that ended. */
const isRefusal = (error: unknown): boolean => {
  const { data } = (error ?? {}) as { data?: unknown };
  return typeof data === "number" && data >= 400 && data < 500 && data !== 408 && data !== 429;
};

async function all<T>(collection: {
  list(query: { limit: number; after?: string }): Promise<readonly { readonly key: string; readonly value: T }[]>;
}): Promise<readonly T[]> {
  const found: T[] = [];
  for (let after: string | undefined; ; ) {
    const page = await collection.list({ limit: PAGE, ...(after === undefined ? {} : { after }) });
    found.push(...page.map(({ value }) => value));
    after = page.at(-1)?.key;
    if (page.length < PAGE) return found;
  }
}
