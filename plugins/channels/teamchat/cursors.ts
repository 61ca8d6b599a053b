import type { Store } from "@svc/sdk";
import { compareTs } from "./wire.ts";

/** Read position of a chat. */
export interface Cursor {
  /** The latest message that was kept or dropped. */
  readonly ts: string;
  /** Recent messages, newest last: for deduplication when they are read again. */
  readonly recent: readonly string[];
  /** Threads in which something was said lately, with the latest message of each. */
  readonly threads: Readonly<Record<string, string>>;
  /** Unix milliseconds of the last change. */
  readonly at: number;
}

/** Where the reading of each chat of one workspace stands. */
export interface Cursors {
  get(chat: string): Promise<Cursor | undefined>;
  /** A message of this chat is dropped. Resolves when that is stored: it is told of once. */
  dropped(chat: string, ts: string, thread?: string): Promise<void>;
  /** A message of this chat is kept. Stored within two seconds: lost with a kill, it is read once more, and known by its key. */
  kept(chat: string, ts: string, thread?: string): Promise<void>;
  /** The chats in which something was heard since that time. */
  since(at: number): Promise<readonly string[]>;
  /** When this workspace was connected to for the last time, as far as it is known; undefined: never. */
  lastHeard(): Promise<number | undefined>;
  /** Records that the connection is up. */
  connected(): Promise<void>;
  /** Stores the pending positions. */
  flush(): Promise<void>;
}

const RECENT = 100;
const THREADS = 20;
/** Chats that are kept in memory. */
const CHATS = 500;
const PAGE = 500;
const SOON_MS = 2_000;

/** The cursors of one bot, in the plugin's store. */
export function createCursors(store: Store, bot: string, now: () => number = Date.now): Cursors {
  const rows = store.collection<Cursor & { readonly bot: string }>("cursors", { indexes: ["bot", "at"] });
  const known = new Map<string, Cursor>();
  const writes = new Map<string, Promise<void>>();
  /** Chats whose cursor is not stored yet. */
  const unstored = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  const keyOf = (chat: string) => `${bot}/${chat}`;

  async function load(chat: string): Promise<Cursor | undefined> {
    const before = known.get(chat);
    if (before !== undefined) return before;
    const found = (await rows.get(keyOf(chat)))?.value;
    // Noted meanwhile: that one is newer.
    const raced = known.get(chat);
    if (raced !== undefined || found === undefined) return raced;
    remember(chat, found);
    return found;
  }

  function remember(chat: string, cursor: Cursor): void {
    known.delete(chat);
    known.set(chat, cursor);
    for (const [oldest] of known) {
      if (known.size <= CHATS) break;
      if (!writes.has(oldest) && !unstored.has(oldest)) known.delete(oldest);
      else break;
    }
  }

  /** One write per chat at a time; later positions are batched into the next one. */
  function write(chat: string): Promise<void> {
    unstored.delete(chat);
    const before = writes.get(chat) ?? Promise.resolve();
    const next = before
      .catch(() => {})
      .then(async () => {
        const cursor = known.get(chat);
        if (cursor !== undefined) await rows.put(keyOf(chat), { bot, ...cursor });
      })
      .catch((error: unknown) => {
        unstored.add(chat);
        throw error;
      })
      .finally(() => {
        if (writes.get(chat) === next) writes.delete(chat);
      });
    writes.set(chat, next);
    return next;
  }

  /** All of them in one transaction, and not while an answer waits for the disk. */
  function writeAll(): readonly Promise<void>[] {
    clearTimeout(timer);
    timer = undefined;
    return [...unstored].map(write);
  }

  async function note(chat: string, ts: string, thread?: string): Promise<void> {
    const before = (await load(chat)) ?? { ts, recent: [], threads: {}, at: 0 };
    const threads = thread === undefined ? before.threads : withThread(before.threads, thread, ts);
    const recent = before.recent.includes(ts) ? before.recent : [...before.recent, ts].slice(-RECENT);
    unstored.add(chat);
    remember(chat, { ts: compareTs(ts, before.ts) > 0 ? ts : before.ts, recent, threads, at: now() });
  }

  return {
    get: load,
    async dropped(chat, ts, thread) {
      await note(chat, ts, thread);
      await write(chat);
    },
    async kept(chat, ts, thread) {
      await note(chat, ts, thread);
      timer ??= setTimeout(() => {
        for (const written of writeAll()) written.catch(() => {});
      }, SOON_MS).unref();
    },
    async since(at) {
      const chats: string[] = [];
      for (let after: string | undefined; ; ) {
        const page = await rows.list({ by: "at", from: at, limit: PAGE, ...(after === undefined ? {} : { after }) });
        chats.push(...page.filter(({ key }) => key.startsWith(`${bot}/`)).map(({ key }) => key.slice(bot.length + 1)));
        if (page.length < PAGE) return chats.filter((chat) => chat !== "").reverse();
        after = page.at(-1)?.key;
      }
    },
    async lastHeard() {
      const [latest] = await rows.list({ where: { bot }, by: "at", reverse: true, limit: 1 });
      return latest?.value.at;
    },
    async connected() {
      await rows.put(keyOf(""), { bot, ts: "0", recent: [], threads: {}, at: now() });
    },
    async flush() {
      writeAll();
      await Promise.allSettled(writes.values());
    },
  };
}

function withThread(threads: Cursor["threads"], thread: string, ts: string): Cursor["threads"] {
  const before = threads[thread];
  const next = { ...threads, [thread]: before === undefined || compareTs(ts, before) > 0 ? ts : before };
  const latest = Object.entries(next)
    .sort(([, left], [, right]) => compareTs(right, left))
    .slice(0, THREADS);
  return Object.fromEntries(latest);
}
