import type { Collection } from "@svc/sdk";
import { idAt, isLater, timeOf } from "./wire.ts";

/** A session of the gateway that can be taken up again. */
export interface Session {
  readonly id: string;
  readonly url: string;
}

/** Read position of this channel: a row that outlives the process. */
export interface StoredPosition {
  readonly session?: Session;
  /** Every event up to this number was dealt with. */
  readonly seq: number;
  /** Every message up to this id was dealt with, wherever it was written. */
  readonly until: string;
  /** Unix time in milliseconds. */
  readonly at: number;
}

/** Handled and open events, stored after the work: after a crash some are read again, and deduplicated. */
export interface Position {
  /** As it was left by the last process. */
  readonly left: StoredPosition | undefined;
  /** History is read from here on. */
  readonly until: string;
  session(session: Session | undefined): void;
  /** A number is to be dealt with; the answer says that it was. `id`: the message that it brings. */
  begin(work: { readonly s?: number; readonly id?: string }): () => void;
  /** Every event up to this number has come. */
  reached(s: number): void;
  /** While histories are read, `until` stands. The answer ends that. */
  reading(): () => void;
  save(): Promise<void>;
}

/** Events of different channels come a little out of order: so much is read again. */
const OVERLAP_MS = 60_000;
/** Keys of messages are kept for a week: older ones could be answered twice. */
const OLDEST_MS = 6 * 86_400_000;
const SAVE_MS = 1_000;
const KEY = "gateway";

/** Reads the row and keeps it. `failed` is told when it could not be written; the next change tries again. */
export async function openPosition(rows: Collection<StoredPosition>, failed: (error: unknown) => void, now: () => number = Date.now): Promise<Position> {
  const left = (await rows.get(KEY))?.value;
  const first = idAt(now());
  const oldest = idAt(now() - OLDEST_MS);
  let until = left === undefined ? first : isLater(oldest, left.until) ? oldest : left.until;
  let session = left?.session;
  let seq = left?.seq ?? 0;
  let highest: string | undefined;
  let readers = 0;
  let timer: NodeJS.Timeout | undefined;
  let saving: Promise<void> = Promise.resolve();
  const numbers = new Set<number>();
  const ids = new Set<string>();

  const save = (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    if (readers === 0 && highest !== undefined) {
      const [oldestOpen] = ids;
      const reached = idAt(timeOf(oldestOpen !== undefined && isLater(highest, oldestOpen) ? oldestOpen : highest) - OVERLAP_MS);
      if (isLater(reached, until)) until = reached;
    }
    const [open] = numbers;
    const row: StoredPosition = { ...(session === undefined ? {} : { session }), seq: open === undefined ? seq : Math.min(seq, open - 1), until, at: now() };
    saving = saving.then(async () => void (await rows.put(KEY, row))).catch(failed);
    return saving;
  };
  const soon = (): void => {
    timer ??= setTimeout(() => void save(), SAVE_MS);
  };

  // Before anything is heard: a process that is killed in its first second has begun here all the same.
  if (left === undefined) await rows.put(KEY, { seq, until, at: now() });
  return {
    left,
    get until() {
      return until;
    },
    session(next) {
      session = next;
      seq = 0;
      numbers.clear();
      soon();
    },
    begin({ s, id }) {
      if (s !== undefined) numbers.add(s);
      if (id !== undefined) ids.add(id);
      return () => {
        if (s !== undefined) numbers.delete(s);
        if (id !== undefined) {
          ids.delete(id);
          if (highest === undefined || isLater(id, highest)) highest = id;
        }
        soon();
      };
    },
    reached(s) {
      seq = s;
      soon();
    },
    reading() {
      readers += 1;
      let over = false;
      return () => {
        if (over) return;
        over = true;
        readers -= 1;
        soon();
      };
    },
    save,
  };
}
