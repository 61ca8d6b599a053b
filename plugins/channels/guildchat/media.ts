import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { channelError, type Media } from "@svc/sdk";
import { type Api, at, type Upload } from "./api.ts";
import { isId, type WireMessage } from "./wire.ts";

/** The largest file that the platform takes from a bot, in bytes. */
export const LARGEST_FILE = 10 * 1_048_576;
/** The largest that is taken in: the kernel's own limit for one turn. */
const LARGEST_IN = 25 * 1_048_576;

/**
 * The bytes of a file of a message. Its address works for some hours; where it works no more, the message is asked for, which names a new
 * one.
 */
export async function fetchFile(api: Api, { handle = "", type }: Media, signal: AbortSignal): Promise<{ readonly data: Uint8Array; readonly type?: string }> {
  const [, place = "", message = "", file = "", url = ""] = /^(\d+)\/(\d+)\/(\d+) (https?:\/\/\S+)$/.exec(handle) ?? [];
  if (!isId(file)) throw channelError("permanent", "this file is not of this channel");
  let found = await api.download(url, LARGEST_IN, signal);
  if (found.status === 403 || found.status === 404) {
    const post = await api.call<WireMessage | null | undefined>({ path: at("channels", place, "messages", message), signal });
    const again = Array.isArray(post?.attachments) ? post.attachments.find(({ id }) => id === file) : undefined;
    if (again === undefined) throw channelError("permanent", "the file is not there any more");
    found = await api.download(again.url, LARGEST_IN, signal);
  }
  if (!found.whole) throw channelError("permanent", "the file is too large");
  if (found.status !== 200) {
    const gone = found.status >= 400 && found.status < 500 && found.status !== 429;
    throw channelError(gone ? "permanent" : "retry", `a file could not be downloaded: ${found.status}`);
  }
  const known = type ?? found.type;
  return { data: found.data, ...(known === undefined ? {} : { type: known }) };
}

/** A file on its way out, with its bytes. */
export async function uploadOf(api: Api, file: Media, signal: AbortSignal): Promise<Upload> {
  const { data, path, url, handle, name, type } = file;
  const head = { name: name ?? (path === undefined ? file.kind : basename(path)), ...(type === undefined ? {} : { type }) };
  if (data !== undefined) return { ...head, data };
  if (path !== undefined) {
    const bytes = await readFile(path, { signal }).catch((error: NodeJS.ErrnoException) => {
      throw channelError("permanent", `the file ${head.name} could not be read: ${error.code ?? "it is not there"}`);
    });
    return { ...head, data: bytes };
  }
  if (handle !== undefined) return { ...head, data: (await fetchFile(api, file, signal)).data };
  const answer = url === undefined ? undefined : await api.download(url, LARGEST_FILE, signal);
  if (answer?.status !== 200 || !answer.whole) throw channelError("permanent", `the file ${head.name} could not be had`);
  return { ...head, data: answer.data };
}
