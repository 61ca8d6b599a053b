import { type Log, type Outgoing, reasonOf } from "@svc/sdk";
import { refusalIn } from "./failure.ts";
import type { WebApi } from "./web-api.ts";
import { compareTs, isDirect, type Me, tsAt, type WirePost } from "./wire.ts";

/** Sends each key once: the messages of the bot carry the key of their delivery, where it is looked for before it is sent again. */
export interface Sent {
  /** Returns the metadata that marks a message with its key. */
  mark(key: string): { readonly event_type: string; readonly event_payload: { readonly key: string } };
  /** Does `send`, unless the message is there already from an earlier try. Resolves with its id. */
  once(out: Outgoing, signal: AbortSignal, send: () => Promise<string>): Promise<string>;
}

/** Dependencies of finding earlier tries. */
export interface SentDeps {
  readonly api: WebApi;
  readonly log: Log;
  me(): Me | undefined;
  /** Unix milliseconds at which this process could use the workspace; undefined: not yet. */
  usableSince(): number | undefined;
}

/** A try of this process. */
interface Tried {
  /** Unix milliseconds of the first one. */
  readonly at: number;
  /** The last one may have arrived. */
  readonly doubt: boolean;
}

const EVENT = "svc_delivery";
/** Milliseconds after the start in which an earlier process may have sent a delivery already. */
const INHERITED_MS = 900_000;
/** So far back an earlier try may lie where nothing says what it answers. */
const REACH_MS = 3_600_000;
/** The platform's clock may be behind ours by so much. */
const SKEW_MS = 60_000;
const REMEMBERED = 2_000;
const PAGES = 5;
const PAGE = 200;

/** Makes the memory of one workspace's deliveries. */
export function createSent({ api, log, me, usableSince }: SentDeps): Sent {
  const tried = new Map<string, Tried>();
  let readable = true;

  const note = (key: string, doubt: boolean): void => {
    const { at } = tried.get(key) ?? { at: Date.now() };
    tried.delete(key);
    tried.set(key, { doubt, at });
    if (tried.size > REMEMBERED) tried.delete(tried.keys().next().value as string);
  };

  function mayBeThere({ key, target, media }: Outgoing): boolean {
    const before = tried.get(key);
    if (before !== undefined) return before.doubt;
    // A file has no key on it: only a try of our own says when it was sent.
    if (media !== undefined) return false;
    const since = usableSince() ?? Date.now();
    // A message received by this process is answered by it for the first time.
    if (target.replyTo !== undefined && compareTs(target.replyTo, tsAt(since)) > 0) return false;
    return Date.now() - since < INHERITED_MS;
  }

  function oldestOf(key: string, replyTo: string | undefined): string {
    if (replyTo !== undefined) return replyTo;
    const at = tried.get(key)?.at;
    return tsAt(at === undefined ? Date.now() - REACH_MS : at - SKEW_MS);
  }

  async function find({ key, target, media }: Outgoing, signal: AbortSignal): Promise<string | undefined> {
    const { chat, thread, replyTo } = target;
    const own = me();
    // One that grows natively gets its mark with its end.
    const begun = media === undefined && thread !== undefined && isDirect(chat) && tried.get(key)?.doubt === true;
    if (!readable || own === undefined || !/^[CDG]/.test(chat)) return undefined;
    const method = thread === undefined ? "conversations.history" : "conversations.replies";
    const args = { channel: chat, ...(thread === undefined ? {} : { ts: thread }), oldest: oldestOf(key, replyTo), limit: PAGE };
    for (let cursor = "", page = 0; page < PAGES; page += 1) {
      const answer = await api.call<{ messages?: readonly WirePost[] }>(
        method,
        { ...args, include_all_metadata: true, ...(cursor === "" ? {} : { cursor }) },
        { signal },
      );
      const posts = (answer.messages ?? []).filter(({ user, bot_id }) => user === own.user || bot_id === own.botId);
      const found = posts.find((post) => isMarked(post, key, media?.[0])) ?? posts.find((post) => begun && isUnmarked(post));
      if (found !== undefined) return found.files?.[0] === undefined ? found.ts : `file:${found.files[0].id}`;
      cursor = answer.response_metadata?.next_cursor ?? "";
      if (cursor === "") return undefined;
    }
    return undefined;
  }

  return {
    mark: (key) => ({ event_type: EVENT, event_payload: { key } }),
    async once(out, signal, send) {
      if (mayBeThere(out)) {
        try {
          const there = await find(out, signal);
          if (there !== undefined) return there;
        } catch (error) {
          // Only what may be mended while the delivery waits is worth the wait.
          if ((error as { failure?: string }).failure === "retry" && refusalIn(error)?.error !== "missing_scope") throw error;
          if (readable && refusalIn(error)?.error === "missing_scope") {
            readable = false;
            log.warn({ reason: reasonOf(error) }, "whether a message was sent before a restart cannot be looked up: it may be there twice");
          }
        }
      }
      note(out.key, true);
      try {
        const id = await send();
        note(out.key, true);
        return id;
      } catch (error) {
        note(out.key, (error as { failure?: string }).failure === "unknown");
        throw error;
      }
    },
  };
}

/** Words are known by their key; a file has none, and is known by its name and size. */
function isMarked({ metadata, files = [] }: WirePost, key: string, media: NonNullable<Outgoing["media"]>[number] | undefined): boolean {
  if (media === undefined) return metadata?.event_type === EVENT && metadata.event_payload?.key === key;
  const size = media.data?.byteLength ?? media.size;
  return files.some((file) => file.name === media.name && (size === undefined || file.size === size));
}

/** Words without a mark of any delivery. */
const isUnmarked = ({ metadata, files = [] }: WirePost): boolean => metadata?.event_type !== EVENT && files.length === 0;
