import type { Collection, PluginContext } from "@svc/sdk";

/** What of a message with a poll is at the platform. */
export interface AskedRow {
  /** Id of the words in front of the poll. */
  readonly words?: string;
  /** Id of the poll. */
  readonly id?: string;
  /** Unix milliseconds. */
  readonly at: number;
}

/** Messages with a poll are two at the platform: what is there already is not sent again by an edit or a retry. */
export interface Asked {
  get(key: string): Promise<AskedRow | undefined>;
  /** Adds to what is known of the message. */
  keep(key: string, more: Omit<AskedRow, "at">): Promise<void>;
}

/** Longer than a delivery is tried, and than an answer grows. */
const KEPT_MS = 7 * 24 * 3_600_000;
const SWEEP = 200;

/** Makes the record in the plugin's store. */
export function createAsked({ store }: Pick<PluginContext, "store">, now: () => number = Date.now): Asked {
  const rows: Collection<AskedRow> = store.collection("polls", { indexes: ["at"] });
  const get = async (key: string) => (await rows.get(key))?.value;
  return {
    get,
    async keep(key, more) {
      await rows.put(key, { ...(await get(key)), ...more, at: now() });
      for (const { key: old } of await rows.list({ by: "at", to: now() - KEPT_MS, limit: SWEEP })) await rows.delete(old);
    },
  };
}
