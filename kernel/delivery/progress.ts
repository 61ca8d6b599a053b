import { codeOf, type Op, put, remove, type Store } from "@svc/sdk";

/** Messages of one delivery that the platform already has. */
export interface Progress {
  /** Platform ids in order. */
  readonly ids: readonly string[];
  /** For each of them the digest of the text it shows. */
  readonly shown: readonly string[];
  /** A first send began and its answer is not known: the platform may have the message. */
  readonly sending?: boolean;
  /** Unix milliseconds of the last change. */
  readonly at: number;
}

/** Progress without its time. */
export type Shown = Omit<Progress, "at">;

/** Progress of the deliveries on their way. Written as soon as a platform has answered, so that a restart edits instead of sending again. */
export interface ProgressBook {
  load(key: string): Promise<Progress>;
  save(key: string, progress: Shown): Promise<void>;
  /** Returns the write that makes messages already shown the progress of another delivery: it becomes an edit. */
  keep(key: string, progress: Shown): Op;
  /** Returns the write that deletes the progress of a finished delivery; it goes into the commit that completes it. */
  forget(key: string): Op;
  /** Drops progress without a delivery: turns that were cancelled while their answer grew. */
  sweep(): Promise<void>;
}

const COLLECTION = "outbox-progress";
const KEPT_MS = 7 * 24 * 3_600_000;
/** The store takes nothing more for the moment: deliveries go on without it. */
const NO_ROOM = /^SVC_STORE_(BUSY|FULL)$/;

/** The progress book in a collection of the store. What that has no room for is known to this process alone. */
export function createProgressBook(store: Store, now: () => number): ProgressBook {
  const book = store.collection<Progress>(COLLECTION, { indexes: ["at"] });
  const unstored = new Map<string, Progress>();
  return {
    load: async (key) => unstored.get(key) ?? (await book.get(key))?.value ?? { ids: [], shown: [], at: 0 },
    async save(key, shown) {
      const progress = { ...shown, at: now() };
      try {
        await book.put(key, progress);
        unstored.delete(key);
      } catch (error) {
        if (!NO_ROOM.test(codeOf(error) ?? "")) throw error;
        unstored.set(key, progress);
      }
    },
    keep: (key, { ids, shown }) => put(COLLECTION, key, { ids, shown, at: now() } satisfies Progress),
    forget: (key) => remove(COLLECTION, key),
    async sweep() {
      for (const [key, { at }] of unstored) if (at < now() - KEPT_MS) unstored.delete(key);
      for (;;) {
        const old = await book.list({ by: "at", to: now() - KEPT_MS, limit: 500 });
        if (old.length > 0) await store.commit(old.map(({ key }) => remove(COLLECTION, key)));
        if (old.length < 500) return;
      }
    },
  };
}

/** The same progress with message `index` sent or edited. A doubt about a send stays until a send has answered. */
export function withShown({ ids, shown, sending }: Shown, index: number, id: string, digest: string): Shown {
  const next = { ids: [...ids], shown: [...shown], ...(sending === true && index < ids.length ? { sending } : {}) };
  next.ids[index] = id;
  next.shown[index] = digest;
  return next;
}
