import { createHash } from "node:crypto";
import { type BigIntStats, constants } from "node:fs";
import { type FileHandle, open, realpath } from "node:fs/promises";
import { join, sep } from "node:path";
import { Readable } from "node:stream";
import type { HttpReply, HttpRequest } from "@svc/sdk";
import { fail } from "../base/errors.ts";
import type { FileRoot, ServedFolder } from "../base/file-root.ts";
import { CODINGS, type Coding, codingsOf, isKnown, rangeOf, type Version } from "./file-request.ts";
import type { ServedReply } from "./reply.ts";

/** A file that is open, as it was at that moment. */
interface Opened {
  readonly handle: FileHandle;
  readonly stat: BigIntStats;
}

const CHUNK = 65_536;
/** One name on the way to a file: no dots before it, no separators of any system, no control characters. */
const SEGMENT = /^[^./\\\u0000-\u001f\u007f][^/\\\u0000-\u001f\u007f]*$/;

const TYPES: Readonly<Record<string, string>> = {
  css: "text/css; charset=utf-8",
  html: "text/html; charset=utf-8",
  ico: "image/x-icon",
  jpg: "image/jpeg",
  js: "text/javascript; charset=utf-8",
  json: "application/json; charset=utf-8",
  map: "application/json; charset=utf-8",
  mjs: "text/javascript; charset=utf-8",
  png: "image/png",
  svg: "image/svg+xml; charset=utf-8",
  txt: "text/plain; charset=utf-8",
  wasm: "application/wasm",
  webmanifest: "application/manifest+json; charset=utf-8",
  webp: "image/webp",
  woff2: "font/woff2",
};

/** Answers `GET` and `HEAD` with one file of a folder. Throws `SVC_FILE_UNSERVED` (404) unless the path is a regular file in it, without the reason. */
export async function serveFile(served: ServedFolder, { method, headers, params }: HttpRequest, reply: HttpReply): Promise<void> {
  const path = params["*"] ?? "";
  const segments = path.split("/");
  const found = segments.every((segment) => SEGMENT.test(segment)) ? await findIn(served, segments, codingsOf(headers)) : undefined;
  if (found === undefined) throw fail("SVC_FILE_UNSERVED", { path: `/${path}` });
  const { opened, coding } = found;
  const asked = { method, headers, name: segments.at(-1) as string, cacheControl: served.cacheControl };
  try {
    if (coding === "unpack") await answerUnpacked(opened, asked, reply as ServedReply);
    else await answer(opened, coding, asked, reply as ServedReply);
  } catch (error) {
    await opened.handle.close();
    throw error;
  }
}

interface Asked extends Pick<HttpRequest, "method" | "headers"> {
  readonly name: string;
  readonly cacheControl: string;
}

async function answer({ handle, stat }: Opened, coding: Coding | undefined, { method, headers, name, cacheControl }: Asked, reply: ServedReply): Promise<void> {
  const size = Number(stat.size);
  const version: Version = { etag: etagOf(stat), modified: Number(stat.mtimeMs) };
  const type = typeOf(name);
  writeVersion(reply, version, cacheControl);
  if (coding === undefined) reply.header("accept-ranges", "bytes");
  if (isKnown(headers, version)) return notModified(handle, reply);
  if (coding !== undefined) reply.header("content-encoding", coding);
  const range = method === "GET" ? rangeOf(headers, version, size) : undefined;
  if (range === "unsatisfiable") {
    await handle.close();
    reply.status(416).header("content-range", `bytes */${size}`).header("content-length", "0");
    reply.sendStream(undefined, type);
    return;
  }
  const { first, last } = range ?? { first: 0, last: size - 1 };
  if (range !== undefined) reply.status(206).header("content-range", `bytes ${first}-${last}/${size}`);
  reply.header("content-length", String(last - first + 1));
  if (method === "HEAD" || size === 0) {
    await handle.close();
    reply.sendStream(undefined, type);
    return;
  }
  reply.sendStream(streamOf({ handle, stat }, first, last), type);
}

/** Answers with the decompressed content of a file that exists compressed only, for clients that do not accept the encoding: whole, and without a length. */
async function answerUnpacked({ handle, stat }: Opened, { method, headers, name, cacheControl }: Asked, reply: ServedReply): Promise<void> {
  const version: Version = { etag: `${etagOf(stat).slice(0, -1)}-plain"`, modified: Number(stat.mtimeMs) };
  writeVersion(reply, version, cacheControl);
  if (isKnown(headers, version)) return notModified(handle, reply);
  if (method === "HEAD") {
    await handle.close();
    reply.sendStream(undefined, typeOf(name));
    return;
  }
  const { createBrotliDecompress } = await import("node:zlib");
  const packed = streamOf({ handle, stat }, 0, Number(stat.size) - 1);
  const plain = packed.pipe(createBrotliDecompress());
  // `pipe` forwards neither errors nor the close of its destination.
  packed.once("error", (error) => plain.destroy(error));
  plain.once("close", () => packed.destroy());
  reply.sendStream(plain, typeOf(name));
}

const typeOf = (name: string): string => TYPES[name.slice(name.lastIndexOf(".") + 1).toLowerCase()] ?? "application/octet-stream";

function writeVersion(reply: ServedReply, { etag, modified }: Version, cacheControl: string): void {
  reply.header("cache-control", cacheControl).header("etag", etag).header("vary", "accept-encoding");
  reply.header("last-modified", new Date(modified).toUTCString());
}

async function notModified(handle: FileHandle, reply: ServedReply): Promise<void> {
  await handle.close();
  reply.status(304);
  reply.sendStream(undefined, undefined);
}

function streamOf({ handle, stat }: Opened, first: number, last: number): Readable {
  const bytes = Readable.from(bytesOf(handle, stat, first, last), { objectMode: false, highWaterMark: CHUNK });
  // Not in the generator, which never starts if the client disconnects before its first byte.
  bytes.once("close", () => void handle.close());
  return bytes;
}

/** Fails rather than send bytes of two versions: the last chunk is sent only if the file is still unchanged. */
async function* bytesOf(handle: FileHandle, stat: BigIntStats, first: number, last: number): AsyncGenerator<Uint8Array> {
  for (let at = first; at <= last; ) {
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(Math.min(CHUNK, last - at + 1)), 0, undefined, at);
    at += bytesRead;
    if (bytesRead === 0 || (at > last && etagOf(await handle.stat({ bigint: true })) !== etagOf(stat)))
      throw new Error("the file was changed while it was sent");
    yield buffer.subarray(0, bytesRead);
  }
}

interface Found {
  readonly opened: Opened;
  /** Encoding of its bytes; `unpack`: brotli, for a client that does not accept it. */
  readonly coding?: Coding | "unpack";
}

/**
 * The file in a coding that its caller takes, lies beside it and is not older, else the file itself; where only its brotli form is kept,
 * that one. The others are closed.
 */
async function findIn(root: FileRoot, segments: readonly string[], codings: readonly Coding[]): Promise<Found | undefined> {
  const beside = (coding: Coding) => openWithin(root, [...segments.slice(0, -1), `${segments.at(-1)}${CODINGS[coding]}`]);
  const plain = await openWithin(root, segments);
  if (plain === undefined) {
    const opened = await beside("br");
    return opened && { opened, coding: codings.includes("br") ? "br" : "unpack" };
  }
  for (const coding of codings) {
    const packed = await beside(coding);
    if (packed === undefined) continue;
    const [opened, dropped] = packed.stat.mtimeMs >= plain.stat.mtimeMs ? [packed, plain] : [plain, packed];
    await dropped.handle.close();
    if (opened === packed) return { opened, coding };
  }
  return { opened: plain };
}

/** Another one whenever the file is written or replaced; says nothing about the disk. */
function etagOf({ ino, size, mtimeNs }: BigIntStats): string {
  return `"${createHash("sha256").update(`${ino} ${size} ${mtimeNs}`).digest("base64url").slice(0, 22)}"`;
}

/** Undefined for anything but a regular file inside the folder. */
async function openWithin({ folder, within }: FileRoot, segments: readonly string[]): Promise<Opened | undefined> {
  let handle: FileHandle | undefined;
  try {
    const root = await realpath(folder);
    if (within !== undefined && !root.startsWith((await realpath(within)) + sep)) return undefined;
    const file = join(root, ...segments);
    // The real path differs if a component is a link, or if its case differs on a case-insensitive disk.
    if ((await realpath(file)) !== file) return undefined;
    handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const stat = await handle.stat({ bigint: true });
    if (stat.isFile()) return { handle, stat };
  } catch {
    // Missing and unreadable files get the same answer.
  }
  await handle?.close();
  return undefined;
}
