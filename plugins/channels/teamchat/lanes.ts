import { backoffMs, type Log, sleep } from "@svc/sdk";
import { compareTs } from "./wire.ts";

/** Something that was heard in a chat and waits for its turn. */
export interface Item {
  /** The same for every copy of it. */
  readonly key: string;
  /** When it was said: what waits is worked on in this order. */
  readonly ts: string;
  /** Time by which an earlier message may be delivered later; 0: the platform delivers in order. */
  readonly settleMs: number;
  /** Resolves when it is kept or rightly dropped. While it rejects, it is tried again. */
  work(): Promise<void>;
  acknowledge(): void;
}

/** The order of each chat: one item after the other, the earliest first, and nothing before what was missed. */
export interface Lanes {
  push(chat: string, item: Item): void;
  /** Messages may have been missed: before its next item each chat is read once. */
  missed(): void;
  /** Reads a chat now, unless that was done since. */
  catchUp(chat: string): Promise<void>;
  stop(): Promise<void>;
}

interface Lane {
  readonly waiting: (Item & { readonly arrived: number; readonly told: (() => void)[] })[];
  reading?: Promise<void> | undefined;
  running?: Promise<void> | undefined;
}

const LONGEST_PAUSE_MS = 30_000;

/** `bringIn` has what a chat holds and was not heard kept; it does not reject. */
export function createLanes({ log, bringIn }: { readonly log: Log; bringIn(chat: string): Promise<void> }): Lanes {
  const lanes = new Map<string, Lane>();
  const cut = new AbortController();
  /** Chats that have been read since the last gap. */
  let read = new Set<string>();
  let gaps = 0;

  const laneOf = (chat: string): Lane => {
    const lane = lanes.get(chat) ?? { waiting: [] };
    lanes.set(chat, lane);
    return lane;
  };

  async function caughtUp(chat: string, lane: Lane): Promise<void> {
    while (gaps > 0 && !read.has(chat) && !cut.signal.aborted) {
      const until = gaps;
      lane.reading ??= bringIn(chat).finally(() => {
        lane.reading = undefined;
        // One more gap meanwhile: it is read once more.
        if (until === gaps) read.add(chat);
      });
      await lane.reading;
    }
  }

  async function run(chat: string, lane: Lane): Promise<void> {
    while (!cut.signal.aborted) {
      await caughtUp(chat, lane);
      lane.waiting.sort((left, right) => compareTs(left.ts, right.ts));
      const [item] = lane.waiting;
      if (item === undefined) break;
      const early = item.arrived + item.settleMs - performance.now();
      if (item.settleMs > 0 && early > 0) {
        await sleep(early, cut.signal);
        continue;
      }
      if (!(await done(item))) break;
      lane.waiting.splice(lane.waiting.indexOf(item), 1);
      item.acknowledge();
      for (const tell of item.told) tell();
    }
    lane.running = undefined;
    if (lane.waiting.length === 0 && lane.reading === undefined) lanes.delete(chat);
  }

  /** False when all was stopped before the item was dealt with. */
  async function done(item: Item): Promise<boolean> {
    for (let failures = 1; !cut.signal.aborted; failures += 1) {
      try {
        await item.work();
        return true;
      } catch (error) {
        if (cut.signal.aborted) return false;
        if (failures === 1) log.error({ message: item.key, err: error }, "a message could not be kept; it is not acknowledged and tried again");
        await sleep(backoffMs(failures, { longestMs: LONGEST_PAUSE_MS }), cut.signal);
      }
    }
    return false;
  }

  return {
    push(chat, item) {
      const lane = laneOf(chat);
      const twin = lane.waiting.find(({ key }) => key === item.key);
      if (twin !== undefined) twin.told.push(item.acknowledge);
      else lane.waiting.push({ ...item, arrived: performance.now(), told: [] });
      lane.running ??= run(chat, lane);
    },
    missed() {
      gaps += 1;
      read = new Set();
    },
    async catchUp(chat) {
      const lane = laneOf(chat);
      await caughtUp(chat, lane);
      if (lane.running === undefined && lane.waiting.length === 0) lanes.delete(chat);
    },
    async stop() {
      cut.abort();
      await Promise.all([...lanes.values()].flatMap(({ running, reading }) => [running, reading]));
    },
  };
}
