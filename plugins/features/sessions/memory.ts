import type { Collection, Log } from "@svc/sdk";
import type { Kept } from "./rotation.ts";

/** State of conversations. A change is visible to the next reader at once and stored soon after. */
export interface Memory {
  get(key: string): Promise<Kept | undefined>;
  set(key: string, kept: Kept): void;
  /** Deletes some entries that were not used since `before`, in Unix milliseconds; the rest waits for the next call. */
  forget(before: number): Promise<void>;
  /** Resolves when everything set so far is stored. */
  settled(): Promise<void>;
}

const PAGE = 1000;

/** Only pending writes are kept in memory: conversations are many and most of them are idle. */
export function createMemory(stored: () => Collection<Kept>, log: Log): Memory {
  const writing = new Map<string, { readonly kept: Kept; readonly done: Promise<void> }>();
  return {
    get: async (key) => writing.get(key)?.kept ?? (await stored().get(key))?.value,
    set(key, kept) {
      const done = stored()
        .put(key, kept)
        .then(
          () => undefined,
          (error) => log.error({ err: error }, "a session was not stored; after a restart the conversation goes on with an older one"),
        );
      const write = { kept, done };
      writing.set(key, write);
      void done.then(() => (writing.get(key) === write ? writing.delete(key) : undefined));
    },
    async forget(before) {
      const old = await stored().list({ by: "at", to: before, limit: PAGE });
      // One that is used right now has another version: it stays.
      await Promise.all(
        old.map(({ key, version }) =>
          stored()
            .delete(key, version)
            .catch(() => undefined),
        ),
      );
    },
    async settled() {
      await Promise.all([...writing.values()].map(({ done }) => done));
    },
  };
}
