import type { Store } from "../store.ts";

/** What a tier keeps about conversations, a row each; those not written for a month are deleted. */
export interface ConversationRows<T> {
  get(conversation: string): Promise<T | undefined>;
  put(conversation: string, value: T): Promise<void>;
}

/** Sessions end after a day at most: what was kept for one is of no use long before. */
const KEPT_MS = 30 * 86_400_000;
/** Of the old ones so many go with each that is written: more than are added, and no pause for anybody. */
const STEP = 10;

/** Opens the rows in a collection of the tier's store. */
export function conversationRows<T extends object>(store: Store, name: string): ConversationRows<T> {
  const rows = store.collection<T & { readonly at: number }>(name, { indexes: ["at"] });
  return {
    get: async (conversation) => (await rows.get(conversation))?.value,
    async put(conversation, value) {
      await rows.put(conversation, { ...value, at: Date.now() });
      // The row is stored: that an old one stays is no failure of the turn.
      const old = await rows.list({ by: "at", to: Date.now() - KEPT_MS, limit: STEP }).catch(() => []);
      for (const { key, version } of old) await rows.delete(key, version).catch(() => undefined);
    },
  };
}
