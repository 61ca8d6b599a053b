import { type Call, Refused } from "./call.ts";
import { wireOf } from "./wire.ts";
import type { Post, Room } from "./world.ts";

const byTs = (left: Post, right: Post) => (left.ts < right.ts ? -1 : 1);

/** A page of messages, newest first in a room and oldest first in a thread, as the platform has it. */
export function page(call: Call, room: Room, posts: readonly Post[], newestFirst: boolean): Record<string, unknown> {
  const { oldest, latest, inclusive = false, limit = "100", cursor } = call.args as Record<string, string | undefined> & { inclusive?: boolean };
  if (Number(limit) < 1 || Number(limit) > 999) throw new Refused("invalid_limit");
  const late = (ts: string) => oldest === undefined || Number(ts) > Number(oldest) || (inclusive && ts === oldest);
  const early = (ts: string) => latest === undefined || Number(ts) < Number(latest) || (inclusive && ts === latest);
  const found = [...posts].sort(byTs).filter(({ ts }) => late(ts) && early(ts));
  if (newestFirst) found.reverse();
  const from = cursor === undefined || cursor === "" ? 0 : Number(Buffer.from(cursor, "base64").toString().replace("next:", ""));
  if (!Number.isInteger(from)) throw new Refused("invalid_cursor");
  const to = from + Number(limit);
  const withMetadata = call.args.include_all_metadata === true;
  return {
    messages: found.slice(from, to).map((post) => ({ ...wireOf(post, call.url, room), ...(withMetadata && post.metadata ? { metadata: post.metadata } : {}) })),
    has_more: found.length > to,
    response_metadata: { next_cursor: found.length > to ? Buffer.from(`next:${to}`).toString("base64") : "" },
  };
}
