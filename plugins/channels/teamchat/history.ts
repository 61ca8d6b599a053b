import { backoffMs, type Log, reasonOf, sleep } from "@svc/sdk";
import type { Cursor, Cursors } from "./cursors.ts";
import { refusalIn, wordsOf } from "./failure.ts";
import type { Arguments, WebApi } from "./web-api.ts";
import { compareTs, earlierTs, tsAt, type WirePost } from "./wire.ts";

/** Dependencies of reading the history. */
export interface HistoryDeps {
  readonly api: WebApi;
  readonly log: Log;
  readonly cursors: Cursors;
  readonly signal: AbortSignal;
  /** Reach of the history in milliseconds. */
  readonly reachMs: number;
  /** Something cannot be read, as a sentence that says what to do. Told once for each. */
  lacks(words: string): void;
}

/** Reads messages from times without a connection: socket mode redelivers only within some minutes. */
export interface History {
  /** Messages of a chat that may not have been heard, oldest first. Does not reject. */
  missedIn(chat: string, from: number | undefined): Promise<readonly WirePost[]>;
  /** The chats that the bot is in. */
  chats(): Promise<readonly string[]>;
}

/** An event may come so much later than its message, and a later one be noted before it. */
const OVERLAP_MS = 600_000;
const PAGE = 200;
/** Of one chat: who missed more will not read answers to all of it. */
const MOST = 2_000;
const TRIES = 6;
/** A thread in which nothing was said for so long is not looked into. */
const THREAD_MS = 7 * 24 * 3_600_000;

/** Makes the reader of one workspace. */
export function createHistory({ api, log, cursors, signal, reachMs, lacks }: HistoryDeps): History {
  const told = new Set<string>();

  /** Calls again while the platform asks to wait; undefined where it will not answer. */
  async function ask<T>(method: string, args: Arguments): Promise<(T & { response_metadata?: { next_cursor?: string } }) | undefined> {
    for (let failures = 1; !signal.aborted; failures += 1) {
      try {
        return await api.call<T>(method, args, { signal });
      } catch (error) {
        if (signal.aborted) return undefined;
        const { retryAfterMs, failure } = error as { retryAfterMs?: number; failure?: string };
        const refusal = refusalIn(error);
        const passing = retryAfterMs !== undefined || (failure === "retry" && refusal?.error !== "missing_scope" && failures < TRIES);
        if (!passing) {
          const words = refusal === undefined ? reasonOf(error) : wordsOf(refusal);
          // A room that was left or closed meanwhile is not an error.
          if (refusal?.error === "missing_scope" || failure === "retry") tell(`what was said while it was not connected is not read: ${words}`);
          else log.debug({ method, reason: words }, "a part of the history cannot be read");
          return undefined;
        }
        await sleep(retryAfterMs ?? backoffMs(failures, { longestMs: 20_000 }), signal);
      }
    }
    return undefined;
  }

  function tell(words: string): void {
    if (told.has(words)) return;
    told.add(words);
    lacks(words);
  }

  async function pages(method: string, args: Arguments): Promise<WirePost[]> {
    const found: WirePost[] = [];
    for (let cursor = ""; !signal.aborted; ) {
      const answer = await ask<{ messages?: WirePost[] }>(method, { ...args, limit: PAGE, ...(cursor === "" ? {} : { cursor }) });
      found.push(...(answer?.messages ?? []));
      cursor = answer?.response_metadata?.next_cursor ?? "";
      if (answer === undefined || cursor === "") break;
      if (found.length >= MOST) {
        log.warn({ channel: args.channel as string }, `more than ${MOST} messages were missed in a chat; the others are not answered`);
        break;
      }
    }
    return found;
  }

  /** Threads of a chat that may hold something new, with the message from which on they are read. */
  function threadsToRead(posts: readonly WirePost[], cursor: Cursor | undefined, oldest: string): Map<string, string> {
    const earliest = tsAt(Date.now() - THREAD_MS);
    const known = Object.entries(cursor?.threads ?? {}).filter(([, last]) => compareTs(last, earliest) > 0);
    const threads = new Map(known.map(([thread, last]) => [thread, later(earlierTs(last, OVERLAP_MS), oldest)]));
    for (const { ts = "", reply_count = 0, latest_reply = "0" } of posts)
      if (reply_count > 0 && compareTs(latest_reply, oldest) > 0 && !threads.has(ts)) threads.set(ts, oldest);
    return threads;
  }

  return {
    async missedIn(chat, from) {
      if (reachMs === 0) return [];
      const cursor = await cursors.get(chat);
      if (cursor === undefined && from === undefined) return [];
      const reach = tsAt(Date.now() - reachMs);
      const oldest = later(earlierTs(cursor?.ts ?? tsAt(from ?? Date.now()), OVERLAP_MS), reach);
      const posts = await pages("conversations.history", { channel: chat, oldest });
      const replies: WirePost[] = [];
      for (const [thread, after] of threadsToRead(posts, cursor, oldest))
        replies.push(...inThread(await pages("conversations.replies", { channel: chat, ts: thread, oldest: later(after, reach) }), thread));
      const unique = new Map([...posts, ...replies].filter(({ ts }) => ts !== undefined && compareTs(ts, reach) > 0).map((post) => [post.ts as string, post]));
      return [...unique.values()].sort((left, right) => compareTs(left.ts as string, right.ts as string));
    },
    async chats() {
      const found: string[] = [];
      for (let cursor = ""; !signal.aborted; ) {
        const args = { types: "public_channel,private_channel,mpim,im", exclude_archived: true, limit: PAGE, ...(cursor === "" ? {} : { cursor }) };
        const answer = await ask<{ channels?: { id?: string }[] }>("users.conversations", args);
        found.push(...(answer?.channels ?? []).flatMap(({ id }) => (id === undefined ? [] : [id])));
        cursor = answer?.response_metadata?.next_cursor ?? "";
        if (answer === undefined || cursor === "") break;
      }
      return found;
    },
  };
}

/** Answers in a thread with who began it: the first message of what was read. */
function inThread(posts: readonly WirePost[], thread: string): readonly WirePost[] {
  const parent = posts.find(({ ts }) => ts === thread)?.user;
  return posts.map((post) => (post.ts === thread || parent === undefined ? post : { parent_user_id: parent, ...post }));
}

const later = (left: string, right: string): string => (compareTs(left, right) > 0 ? left : right);
