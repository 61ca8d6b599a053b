import type { Post, Room } from "./world.ts";
import { wordsOf } from "./world.ts";

/** A message as the platform writes it in events and answers. */
export function wireOf(post: Post, url: string, room?: Room): Record<string, unknown> {
  const replies = room?.posts.filter((one) => one.threadTs === post.ts) ?? [];
  return {
    type: "message",
    ...(post.subtype === undefined ? {} : { subtype: post.subtype }),
    ...(post.botId === undefined ? {} : { bot_id: post.botId, app_id: post.appId, bot_profile: { id: post.botId, app_id: post.appId } }),
    user: post.user,
    ...(post.team === undefined ? {} : { team: post.team }),
    ts: post.ts,
    text: post.text === "" ? wordsOf(post) : post.text,
    ...(post.blocks === undefined ? {} : { blocks: post.blocks }),
    ...(post.threadTs === undefined ? {} : { thread_ts: post.threadTs }),
    ...(replies.length === 0 ? {} : { thread_ts: post.ts, reply_count: replies.length, latest_reply: replies.at(-1)?.ts }),
    ...(post.files.length === 0 ? {} : { files: post.files.map((file) => fileWire(file, url)) }),
    ...(post.edits === 0 ? {} : { edited: { user: post.user, ts: post.ts } }),
  };
}

export const fileWire = ({ id, name, mimetype, data, user, title }: Post["files"][number], url: string): Record<string, unknown> => ({
  id,
  name,
  title: title ?? name,
  mimetype,
  filetype: name.split(".").at(-1),
  mode: "hosted",
  user,
  size: data.length,
  url_private: `${url}/files-pri/${id}/${encodeURIComponent(name)}`,
  url_private_download: `${url}/files-pri/${id}/download/${encodeURIComponent(name)}`,
});
