import type { PluginContext } from "@svc/sdk";

/** A message of ours as it was made: a device that could not open it asks for it again, and an edit must know how old it is. */
export interface SentMessage {
  readonly address: string;
  /** Unix milliseconds. */
  readonly at: number;
  /** The message in the platform's own form, in base64; of one that was edited, as it is now. */
  readonly message: string;
  /** Id of the edited message; its text is stored there. */
  readonly edits?: string;
}

/** Messages sent within the last two days. */
export interface Sent {
  get(id: string): Promise<SentMessage | undefined>;
  keep(id: string, message: SentMessage): Promise<void>;
  /** Resolves when everything is kept that is being kept now; rejects when the store refuses one. */
  settled(): Promise<void>;
  forget(id: string): Promise<void>;
}

const KEPT_MS = 2 * 24 * 3_600_000;
const SWEEP_EVERY = 100;

/** Makes the record in the plugin's store. */
export function createSent({ store }: Pick<PluginContext, "store">, now: () => number = Date.now): Sent {
  const rows = () => store.collection<SentMessage>("sent", { indexes: ["at"] });
  const writing = new Set<Promise<unknown>>();
  let kept = 0;
  return {
    get: async (id) => (await rows().get(id))?.value,
    async keep(id, message) {
      const written = rows().put(id, message);
      writing.add(written);
      await written.finally(() => writing.delete(written));
      kept += 1;
      if (kept % SWEEP_EVERY !== 1) return;
      for (const { key } of await rows().list({ by: "at", to: now() - KEPT_MS, limit: 1_000 })) await rows().delete(key);
    },
    settled: async () => void (await Promise.all(writing)),
    forget: (id) => rows().delete(id),
  };
}
