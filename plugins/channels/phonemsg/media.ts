import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { readFile } from "node:fs/promises";
import { channelError, codeOf, type GuardedFetch, type Media } from "@svc/sdk";
import type { proto, WASocket } from "@whiskeysockets/baileys";
import type { Vendor } from "./vendor.ts";

/** A kind of file, as the platform tells them apart. */
export type FileType = "image" | "video" | "audio" | "document" | "sticker";

/** Where a file lies at the platform, and the key that opens it. */
interface Handle {
  readonly type: FileType;
  readonly path: string;
  readonly key: string;
  readonly digest: string;
}

/** The platform's public store of files. */
const PUBLIC_STORE = "https://mmg.whatsapp.net";
/** Behind the file stand ten bytes by which it is known to be whole. */
const SEAL = 10;
const DOWNLOAD_BYTES = 64 * 1_048_576;

/** Returns the handle by which a message's file is fetched later; undefined if the message lacks the details. */
export function handleOf(
  type: FileType,
  { directPath, mediaKey, fileEncSha256 }: Pick<proto.Message.IDocumentMessage, "directPath" | "mediaKey" | "fileEncSha256">,
): string | undefined {
  if (!directPath?.startsWith("/") || !mediaKey?.length || !fileEncSha256?.length) return undefined;
  const base = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64");
  return JSON.stringify({ type, path: directPath, key: base(mediaKey), digest: base(fileEncSha256) } satisfies Handle);
}

/** Dependencies of files. */
export interface MediaDeps {
  readonly vendor: Vendor;
  readonly fetch: GuardedFetch;
  /** In place of the platform's own servers. */
  readonly server?: string;
}

/** The bytes of a file that came with a message; refused unless they are those that its sender sealed. */
export async function download({ vendor, fetch, server }: MediaDeps, handle: string, signal: AbortSignal): Promise<Uint8Array> {
  const { type, path, key, digest } = JSON.parse(handle) as Handle;
  const address = `${server ?? PUBLIC_STORE}${path}`;
  const answer = await fetch(address, { signal, maxBytes: DOWNLOAD_BYTES, headers: { origin: "https://web.whatsapp.com" }, ...trusted(server) }).catch(
    (error: unknown) => {
      if (codeOf(error) === "SVC_FETCH_TOO_LARGE") throw channelError("permanent", "a file is too large");
      throw channelError("retry", `a file could not be downloaded: ${codeOf(error) ?? "no answer"}`);
    },
  );
  if (answer.truncated) throw channelError("permanent", "a file is too large");
  if (answer.status === 404 || answer.status === 410) throw channelError("permanent", "the platform has this file no more");
  if (answer.status !== 200) throw channelError("retry", `a file could not be downloaded: ${answer.status}`);
  const bytes = Buffer.from(answer.body);
  const { iv, cipherKey, macKey } = await vendor.getMediaKeys(Buffer.from(key, "base64"), type);
  const sealed = bytes.subarray(0, -SEAL);
  const seal = createHmac("sha256", macKey as Buffer)
    .update(iv)
    .update(sealed)
    .digest()
    .subarray(0, SEAL);
  if (bytes.length <= SEAL || !timingSafeEqual(seal, bytes.subarray(-SEAL)) || sha256(bytes).toString("base64") !== digest)
    throw channelError("permanent", "a file is not what its sender sealed");
  const cipher = createDecipheriv("aes-256-cbc", cipherKey, iv);
  return Buffer.concat([cipher.update(sealed), cipher.final()]);
}

/** Seals a file, hands it to the platform, and answers with what a message says of it. */
export async function upload(deps: MediaDeps, socket: WASocket, media: Media, signal: AbortSignal): Promise<proto.IMessage> {
  const bytes = Buffer.from(await bytesOf(deps, media, signal));
  const type: FileType = media.kind === "file" ? "document" : media.kind;
  const mediaKey = randomBytes(32);
  const { iv, cipherKey, macKey } = await deps.vendor.getMediaKeys(mediaKey, type);
  const cipher = createCipheriv("aes-256-cbc", cipherKey, iv);
  const sealed = Buffer.concat([cipher.update(bytes), cipher.final()]);
  const whole = Buffer.concat([
    sealed,
    createHmac("sha256", macKey as Buffer)
      .update(iv)
      .update(sealed)
      .digest()
      .subarray(0, SEAL),
  ]);
  const fileEncSha256 = sha256(whole);
  const { url, directPath } = await put(deps, socket, type, whole, fileEncSha256, signal);
  const file = {
    url,
    directPath,
    mediaKey,
    mediaKeyTimestamp: Math.floor(Date.now() / 1_000),
    fileLength: bytes.length,
    fileSha256: sha256(bytes),
    fileEncSha256,
    mimetype: media.type ?? MIME[media.kind],
  };
  switch (media.kind) {
    case "image":
      return { imageMessage: file };
    case "video":
      return { videoMessage: file };
    case "audio":
      return { audioMessage: file };
    case "file":
      return { documentMessage: { ...file, fileName: media.name ?? "file", title: media.name ?? "file" } };
    default:
      throw channelError("permanent", `files of the kind '${media.kind satisfies never}' are not known here`);
  }
}

/** The bytes of a file on its way out. What cannot be had has not been sent either. */
async function bytesOf(deps: MediaDeps, { data, path, handle, url, name }: Media, signal: AbortSignal): Promise<Uint8Array> {
  if (data !== undefined) return data;
  if (handle !== undefined) return download(deps, handle, signal);
  const lost = (why: string | undefined) => channelError("permanent", `the file ${name ?? ""} could not be had: ${why ?? "no answer"}`);
  if (path !== undefined) return readFile(path, { signal }).catch((error) => Promise.reject(lost(codeOf(error))));
  const answer = await deps.fetch(url ?? "", { signal, maxBytes: DOWNLOAD_BYTES }).catch((error) => Promise.reject(lost(codeOf(error))));
  if (answer.status !== 200 || answer.truncated) throw lost(answer.truncated ? "it is too large" : String(answer.status));
  return answer.body;
}

const MIME: Readonly<Record<Media["kind"], string>> = { image: "image/jpeg", video: "video/mp4", audio: "audio/mpeg", file: "application/octet-stream" };

/** Tries each server that the platform names. */
async function put({ vendor, fetch, server }: MediaDeps, socket: WASocket, type: FileType, body: Buffer, digest: Buffer, signal: AbortSignal) {
  const { hosts, auth } = await socket.refreshMediaConn(false);
  const token = digest.toString("base64url");
  const bases = server === undefined ? hosts.map(({ hostname }) => `https://${hostname}`) : [server];
  let reason = "the platform names no server for files";
  for (const base of bases) {
    const address = `${base}${vendor.MEDIA_PATH_MAP[type]}/${token}?auth=${encodeURIComponent(auth)}&token=${token}`;
    const headers = { "content-type": "application/octet-stream", origin: "https://web.whatsapp.com" };
    const answer = await fetch(address, { method: "POST", body, headers, signal, ...trusted(server) }).catch((error: unknown) => codeOf(error) ?? "no answer");
    // The address holds a token: it does not go into the reason.
    reason = typeof answer === "string" ? answer : String(answer.status);
    if (typeof answer === "string" || answer.status !== 200) continue;
    const { url, direct_path: directPath } = placeIn(answer.text());
    if (typeof url === "string" && typeof directPath === "string") return { url, directPath };
    reason = "it names no place for the file";
  }
  await socket.refreshMediaConn(true).catch(() => {});
  throw channelError("retry", `a file could not be handed to the platform: ${reason}`);
}

/** Where the platform has put the file; nothing where something else answers in its place. */
function placeIn(text: string): { readonly url?: unknown; readonly direct_path?: unknown } {
  try {
    return (JSON.parse(text) ?? {}) as object;
  } catch {
    return {};
  }
}

const trusted = (server: string | undefined) => (server === undefined ? {} : { trustedOrigins: [new URL(server).origin] });

const sha256 = (bytes: Uint8Array): Buffer => createHash("sha256").update(bytes).digest();
