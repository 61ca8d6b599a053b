import { randomUUID } from "node:crypto";
import { type Choice, codeOf, type Delivery, type Inbound, type Log, type Message, type Op, put, remove, type Store, type Target } from "@svc/sdk";
import { whyNoChoices } from "@svc/sdk/host";
import { fail } from "../base/errors.ts";
import type { Bus } from "../core/bus/bus.ts";
import type { Deliveries, DeliveryChoices } from "../core/flow/deliveries-port.ts";
import { DEDUP } from "../core/flow/record.ts";
import { currentScope } from "../core/host/call.ts";
import type { Live } from "../core/host/live.ts";
import { type OutboxEntry, openEntry, pushEntry, sealEntry } from "./outbox-entry.ts";
import type { ProgressBook, Shown } from "./progress.ts";

/** Dependencies of the book of choices. */
export interface ChoiceBookDeps {
  readonly store: Store;
  readonly bus: Pick<Bus, "current">;
  readonly log: Log;
  readonly book: ProgressBook;
  /** The store's steady milliseconds. */
  now(): number;
  live(): Live;
  /** Called when a delivery for that channel has been put into the outbox. */
  wake(channel: string): void;
  send: Deliveries["send"];
}

/** A delivery as it must be shown now: with its choices while they are open, or with its outcome. */
export interface ShownQuestion {
  readonly text: string;
  readonly choices?: readonly Choice[];
}

/** Deliveries with choices, each a row from before it is sent until a week after the last moment at which it could be answered. */
export interface ChoiceBook extends DeliveryChoices {
  /** The writes that put an entry into its outbox, with the row of its choices. */
  push(entry: OutboxEntry): readonly Op[];
  shown(delivery: Delivery): Promise<ShownQuestion>;
  /**
   * Returns the write for the commit that completes the entry. "changed": the question was closed while the entry was being sent, so the platform
   * shows an outdated version.
   */
  sent(delivery: Delivery, shown: Shown, showed: ShownQuestion): Promise<readonly Op[] | "changed">;
  /** The writes that forget the choices of an entry that was given up. */
  drop(delivery: Pick<Delivery, "id" | "choices">): readonly Op[];
  sweep(): Promise<void>;
}

interface Row {
  readonly entry: OutboxEntry;
  /** Unix milliseconds, because people read it so. */
  readonly until: number;
  /** While a number that is typed there counts. */
  readonly place?: string;
  /** Steady milliseconds. */
  readonly sentAt?: number;
  /** The messages of its text, as the platform has them. */
  readonly sent?: Shown;
  readonly closed?: { readonly text: string; readonly words?: string };
}

const COLLECTION = "choices";
const INDEXES = ["place", "until"] as const;
const DAY_MS = 86_400_000;
const KEPT_MS = 7 * DAY_MS;
const PAGE = 500;
const WORDS_CHARS = 120;
/** Placeholder for a file in a digest. */
const MEDIA = "media";

const NUMBER = /^\s*([1-8])[.)]?\s*$/;
const placeOf = ({ channel, chat, thread }: Pick<Target, "channel" | "chat" | "thread">): string => JSON.stringify([channel, chat, thread ?? ""]);

/** The choices in a collection of the store. */
export function createChoiceBook(deps: ChoiceBookDeps): ChoiceBook {
  const { store, log, live, now } = deps;
  const rows = store.collection<Row>(COLLECTION, { indexes: INDEXES });

  /** Only the channel's plugin, and the program that embeds the kernel, can know who pressed or typed there. */
  function isFromChannel({ channel }: Message): boolean {
    const scope = currentScope();
    return scope === undefined || live().channels.get(channel)?.scope === scope;
  }

  /** A button was pressed. Throws where it may not count. */
  async function judge(message: Message): Promise<Message> {
    const { delivery, id } = message.choice as NonNullable<Message["choice"]>;
    const row = (await rows.get(delivery))?.value;
    const problem = whyNot(row, message, id);
    if (problem === undefined) return message;
    // A message that was accepted already is recognised by its key, whatever the state of the question now.
    const { dedupKey } = message;
    if (dedupKey !== undefined && (await store.collection(DEDUP).get(dedupKey)) !== undefined) return message;
    throw problem;
  }

  /** A number was typed: the answer to the newest open question of that place, or to the one that it quotes. */
  async function typed(message: Message, number: number): Promise<Message> {
    const found = await rows.list({ where: { place: placeOf(message) }, limit: 1_000 });
    const quoted = message.replyTo?.platformId;
    const open = found
      .map(({ value }) => value)
      .filter((row) => isHere(row, message) && row.until > Date.now() && (quoted === undefined || row.sent?.ids.includes(quoted)));
    const newest = open.reduce<Row | undefined>((best, row) => ((row.sentAt ?? 0) >= (best?.sentAt ?? 0) ? row : best), undefined);
    const choice = newest?.entry.delivery.choices?.[number - 1];
    if (newest === undefined || choice === undefined || !mayChoose(newest, message)) return message;
    return { ...message, choice: { delivery: newest.entry.delivery.id, id: choice.id } };
  }

  /** The words pass the `deliver` taps as any others do; where these do not let them, the question ends without. */
  async function judgedText(delivery: Delivery, words: string | undefined): Promise<string> {
    if (words === undefined || words.trim() === "") return delivery.text;
    const text = delivery.text.trim() === "" ? words : `${delivery.text}\n\n${words}`;
    try {
      const judged = await live().hooks.deliver({ ...delivery, kind: "notice", text });
      return judged.held === undefined ? judged.text : delivery.text;
    } catch {
      return delivery.text;
    }
  }

  /** Returns the writes that update the platform with the end of a question. */
  function tellOps(row: Row, text: string): readonly Op[] {
    if (row.sent === undefined) return [];
    const { media: _media, choices: _choices, choicesUntil: _until, choosers: _choosers, ...delivery } = openEntry(row.entry);
    const { target } = delivery;
    const id = `out_${randomUUID()}`;
    const edits = live().channels.get(target.channel)?.thing.edit !== undefined;
    const added = text.startsWith(delivery.text) ? text.slice(delivery.text.length).trim() : text;
    if (!edits && added === "") return [];
    const first = row.sent.ids[0];
    const place = edits || first === undefined ? target : { ...target, replyTo: first };
    const rootId = deps.bus.current()?.rootId ?? row.entry.rootId;
    const entry = sealEntry(
      { ...delivery, id, kind: "notice", target: place, text: edits ? text : added },
      { at: now(), progress: id, ...(rootId === undefined ? {} : { rootId }) },
    );
    return [...(edits ? [deps.book.keep(id, row.sent)] : []), pushEntry(entry)];
  }

  return {
    heard(message) {
      if (message.choice !== undefined) return isFromChannel(message) ? judge(message) : Promise.reject(fail("SVC_CHOICE_FOREIGN"));
      const number = message.entry === "channel" && message.media === undefined ? NUMBER.exec(message.text)?.[1] : undefined;
      return number === undefined || !isFromChannel(message) ? message : typed(message, Number(number));
    },
    async unclaimed({ channel, chat, account, thread, platformId }: Inbound) {
      const place = { ...(account === undefined ? {} : { account }), ...(thread === undefined ? {} : { thread }) };
      const target: Target = { channel, chat, ...place, ...(platformId === undefined ? {} : { replyTo: platformId }) };
      const text = "Your choice was not taken: nothing here waits for it now. Nothing has been done.";
      await deps.send({ kind: "notice", target, text }).catch((error) => log.warn({ channel, err: error }, "that a choice was not taken was not told"));
      return "nothing took the choice";
    },
    async close(id, words) {
      for (;;) {
        const found = await rows.get(id);
        if (found === undefined || found.value.closed !== undefined) return false;
        const { place: _, ...row } = found.value;
        const text = await judgedText(openEntry(row.entry), words);
        const closed = { text, ...(words === undefined ? {} : { words }) };
        try {
          await store.commit([put(COLLECTION, id, { ...row, closed }, found.version), ...tellOps(row, text)]);
          deps.wake(row.entry.delivery.target.channel);
          return true;
        } catch (error) {
          // Sent in between, or closed by another writer.
          if (codeOf(error) !== "SVC_STORE_CONFLICT") throw error;
        }
      }
    },
    push(entry) {
      const { choices, ...delivery } = entry.delivery;
      if (choices === undefined) return [pushEntry(entry)];
      const reason = whyNoChoices(choices);
      if (reason !== undefined) {
        log.warn({ delivery: delivery.id, channel: delivery.target.channel }, `a delivery goes out without its choices: ${reason}`);
        return [pushEntry({ ...entry, delivery })];
      }
      const row: Row = { entry, until: delivery.choicesUntil ?? Date.now() + DAY_MS };
      return [pushEntry(entry), put(COLLECTION, delivery.id, row)];
    },
    async shown(delivery) {
      const row = (await rows.get(delivery.id))?.value;
      if (row?.closed !== undefined) return { text: row.closed.text };
      const open = row !== undefined && row.until > Date.now();
      return { text: delivery.text, ...(open && delivery.choices !== undefined ? { choices: delivery.choices } : {}) };
    },
    async sent({ id, target }, { ids, shown }, showed) {
      const found = await rows.get(id);
      if (found === undefined) return [];
      const row = found.value;
      if (row.closed !== undefined) return showed.choices === undefined && showed.text === row.closed.text ? [] : "changed";
      const texts = shown.flatMap((digest, at) => (digest === MEDIA ? [] : [at]));
      const sent: Shown = { ids: texts.map((at) => ids[at] as string), shown: texts.map((at) => shown[at] as string) };
      const traits = live().channels.get(target.channel)?.thing.traits;
      const counts = showed.choices !== undefined && traits?.choices !== true && traits?.receives !== false;
      return [put(COLLECTION, id, { ...row, sentAt: now(), sent, ...(counts ? { place: placeOf(target) } : {}) }, found.version)];
    },
    drop: ({ id, choices }) => (choices === undefined ? [] : [remove(COLLECTION, id)]),
    async sweep() {
      for (;;) {
        const old = await rows.list({ by: "until", to: Date.now() - KEPT_MS, limit: PAGE });
        if (old.length > 0) await store.commit(old.map(({ key }) => remove(COLLECTION, key)));
        if (old.length < PAGE) return;
      }
    },
  };
}

const isHere = ({ entry: { delivery } }: Row, { channel, chat, account }: Message): boolean =>
  delivery.target.channel === channel && delivery.target.chat === chat && (delivery.target.account === undefined || delivery.target.account === account);

const mayChoose = ({ entry: { delivery } }: Row, { sender }: Message): boolean =>
  delivery.choosers === undefined || (sender !== undefined && delivery.choosers.includes(sender.id));

/** Returns why a choice does not count, for the person who made it. A question of another chat is treated like an unknown one. */
function whyNot(row: Row | undefined, message: Message, id: string): Error | undefined {
  if (row === undefined || !isHere(row, message)) return fail("SVC_CHOICE_CLOSED");
  if (!mayChoose(row, message)) return fail("SVC_CHOICE_FOREIGN");
  const words = row.closed?.words?.replace(/\.\s*$/, "").slice(0, WORDS_CHARS);
  if (row.closed !== undefined) return fail("SVC_CHOICE_CLOSED", { reason: words ? `: ${words}` : "" });
  if (row.until <= Date.now()) return fail("SVC_CHOICE_CLOSED", { reason: ": it was asked too long ago" });
  return row.entry.delivery.choices?.some((choice) => choice.id === id) ? undefined : fail("SVC_CHOICE_CLOSED");
}
