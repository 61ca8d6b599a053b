import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { channelError, codeOf, type Media, type PluginContext, reasonOf, type Target } from "@svc/sdk";
import { unreachableError } from "./failure.ts";
import type { WebApi } from "./web-api.ts";
import type { WireFile } from "./wire.ts";

/** Files of one workspace, both ways. */
export interface Files {
  /** The bytes of a file that came with a message. */
  fetch(id: string, signal: AbortSignal): Promise<{ readonly data: Uint8Array; readonly type?: string }>;
  /** Resolves with the id of the file, which is shown in that chat. */
  upload(media: Media, target: Target, signal: AbortSignal): Promise<string>;
}

/** The kernel takes no more of one turn. */
const FETCH_BYTES = 25 * 1_048_576;
/** The largest file that is sent. */
export const UPLOAD_BYTES = 50 * 1_048_576;
const HOPS = 3;
const UPLOAD_MS = 120_000;

/** Makes the file side of one workspace. The token goes to the platform's own hosts and nowhere else. */
export function createFiles({ fetch }: Pick<PluginContext, "fetch">, api: WebApi, token: string): Files {
  async function download(file: WireFile, signal: AbortSignal): Promise<{ data: Uint8Array; type: string }> {
    let address = file.url_private_download ?? file.url_private ?? "";
    for (let hop = 0; hop <= HOPS; hop += 1) {
      if (!api.owns(address)) throw channelError("permanent", "the file lies outside of the platform's own hosts, where the token is not sent");
      const answer = await fetch(address, {
        headers: { authorization: `Bearer ${token}` },
        redirect: "manual",
        maxBytes: FETCH_BYTES,
        timeoutMs: UPLOAD_MS,
        trustedOrigins: api.trustedOrigins,
        signal,
      }).catch((error: unknown) => Promise.reject(notFetched(error)));
      const { location } = answer.headers;
      if (answer.status >= 300 && answer.status < 400 && location !== undefined && URL.canParse(location, address)) {
        address = new URL(location, address).href;
        continue;
      }
      if (answer.truncated) throw channelError("permanent", "the file is too large");
      const type = (answer.headers["content-type"] ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
      if (answer.status === 200 && !isSignIn(type, file)) return { data: answer.body, type };
      if (answer.status === 200)
        throw channelError("permanent", "the platform answered with its sign-in page in place of the file: the app lacks the scope files:read");
      throw channelError(answer.status >= 500 || answer.status === 429 ? "retry" : "permanent", `the file could not be downloaded: status ${answer.status}`);
    }
    throw channelError("permanent", "the file could not be downloaded: too many redirects");
  }

  async function bytesOf(media: Media, signal: AbortSignal): Promise<Uint8Array> {
    if (media.data !== undefined) return media.data;
    if (media.path !== undefined)
      return readFile(media.path, { signal }).catch((error: unknown) =>
        Promise.reject(channelError("permanent", `the file cannot be read: ${codeOf(error) ?? reasonOf(error)}`)),
      );
    if (media.handle !== undefined) return (await download(await info(media.handle.slice(media.handle.lastIndexOf("/") + 1), signal), signal)).data;
    const answer = await fetch(media.url ?? "", { maxBytes: UPLOAD_BYTES, timeoutMs: UPLOAD_MS, signal }).catch((error: unknown) =>
      Promise.reject(notFetched(error)),
    );
    if (answer.status !== 200 || answer.truncated) throw channelError("permanent", `the file could not be had: status ${answer.status}`);
    return answer.body;
  }

  const info = async (id: string, signal: AbortSignal): Promise<WireFile> => (await api.call<{ file: WireFile }>("files.info", { file: id }, { signal })).file;

  return {
    async fetch(id, signal) {
      const file = await info(id, signal);
      const { data, type } = await download(file, signal);
      return { data, type: file.mimetype ?? type };
    },
    async upload(media, target, signal) {
      const data = await bytesOf(media, signal);
      if (data.byteLength === 0) throw channelError("permanent", "an empty file cannot be sent here");
      const filename = media.name ?? (media.path === undefined ? defaultName(media) : basename(media.path));
      const place = await api.call<{ upload_url: string; file_id: string }>("files.getUploadURLExternal", { filename, length: data.byteLength }, { signal });
      if (!api.owns(place.upload_url)) throw channelError("permanent", "files.getUploadURLExternal named an address that is none of the platform's");
      // The address itself is the permission; the file stays invisible until the last step.
      const taken = await fetch(place.upload_url, {
        method: "POST",
        headers: { "content-type": "application/octet-stream" },
        body: data,
        timeoutMs: UPLOAD_MS,
        redirect: "manual",
        trustedOrigins: api.trustedOrigins,
        signal,
      }).catch((error: unknown) => Promise.reject(unreachableError("upload", false, error)));
      if (taken.status !== 200)
        throw channelError(taken.status >= 500 || taken.status === 429 ? "retry" : "permanent", `the upload was answered with status ${taken.status}`);
      const { chat, thread } = target;
      await api.call(
        "files.completeUploadExternal",
        { files: [{ id: place.file_id, title: filename }], channel_id: chat, ...(thread === undefined ? {} : { thread_ts: thread }) },
        { signal, writes: true },
      );
      return place.file_id;
    },
  };
}

/** Without the permission the platform redirects to a sign-in page, which answers 200. */
const isSignIn = (type: string, { mimetype = "" }: WireFile): boolean => type === "text/html" && mimetype !== "text/html";

function notFetched(error: unknown): Error {
  if (codeOf(error) === "SVC_FETCH_TOO_LARGE") return channelError("permanent", "the file is too large");
  return channelError("retry", "the file could not be downloaded: no answer");
}

const ENDS = { image: "png", audio: "mp3", video: "mp4", file: "bin" } as const;
const defaultName = ({ kind }: Media): string => `${kind}.${ENDS[kind]}`;
