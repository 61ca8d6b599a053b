import type { Address, Contact } from "@svc/sdk";
import type { ContactSettings } from "./settings.ts";

type Key = "senderId" | "username" | "chatId";

/** Keys by which an entry is found, the most specific first. */
const KEYS: readonly Key[] = ["senderId", "username", "chatId"];

const plain = (username: string): string => username.replace(/^@/, "").toLowerCase();
const keyOf = (channel: string, key: Key, value: string): string => JSON.stringify([channel, key, value]);

/** Weight of an entry's match: a sender's id more than a chat, a chat more than a handle. */
const weightOf = ({ senderId, chatId, username }: ContactSettings): number =>
  (senderId === undefined ? 0 : 4) + (chatId === undefined ? 0 : 2) + (username === undefined ? 0 : 1);

const fits = ({ senderId, chatId, username }: ContactSettings, { sender, chat, username: handle }: Address): boolean =>
  (senderId === undefined || senderId === sender) &&
  (chatId === undefined || chatId === chat) &&
  (username === undefined || (handle !== undefined && plain(username) === plain(handle)));

/** Finds the entry of the contact map that an address belongs to, without looking at all of them. */
export class Contacts {
  readonly #byKey = new Map<string, ContactSettings[]>();

  constructor(entries: readonly ContactSettings[]) {
    for (const entry of entries) {
      const key = KEYS.find((one) => entry[one] !== undefined);
      if (entry.channel === undefined || key === undefined) continue;
      const value = entry[key] as string;
      const at = keyOf(entry.channel, key, key === "username" ? plain(value) : value);
      const there = this.#byKey.get(at);
      if (there === undefined) this.#byKey.set(at, [entry]);
      else there.push(entry);
    }
  }

  /** The entry that says most about the address; of several the first. */
  find(address: Address): Contact | undefined {
    const { channel, sender, chat, username } = address;
    const values: Readonly<Record<Key, string | undefined>> = { senderId: sender, chatId: chat, username: username && plain(username) };
    let best: ContactSettings | undefined;
    for (const key of KEYS) {
      const value = values[key];
      if (value === undefined || value === "") continue;
      for (const entry of this.#byKey.get(keyOf(channel, key, value)) ?? [])
        if (fits(entry, address) && (best === undefined || weightOf(entry) > weightOf(best))) best = entry;
    }
    if (best === undefined) return undefined;
    const { client, project, displayName } = best;
    return {
      ...(client === undefined ? {} : { client }),
      ...(project === undefined ? {} : { project }),
      ...(displayName === undefined ? {} : { displayName }),
    };
  }
}
