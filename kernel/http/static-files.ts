import { constants } from "node:fs";
import { open, realpath } from "node:fs/promises";
import { join, sep } from "node:path";
import type { HttpReply } from "@svc/sdk";
import { fail } from "../base/errors.ts";
import type { FileRoot } from "../base/file-root.ts";

const MAX_BYTES = 26_214_400;
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
  webp: "image/webp",
  woff2: "font/woff2",
};

/** Answers with one file of a folder. Throws `SVC_FILE_UNSERVED` (404) for whatever is not a plain file in it, and does not say why. */
export async function serveFile({ folder, within }: FileRoot, path: string, reply: HttpReply): Promise<void> {
  const missing = () => fail("SVC_FILE_UNSERVED", { path: `/${path}` });
  const segments = path.split("/");
  if (!segments.every((segment) => SEGMENT.test(segment))) throw missing();
  const bytes = await read(folder, within, segments).catch(() => undefined);
  if (bytes === undefined) throw missing();
  const name = segments.at(-1) as string;
  reply.send(bytes, TYPES[name.slice(name.lastIndexOf(".") + 1).toLowerCase()] ?? "application/octet-stream");
}

/** Undefined for anything but a regular file inside the folder. */
async function read(folder: string, within: string | undefined, segments: readonly string[]): Promise<Uint8Array | undefined> {
  const root = await realpath(folder);
  if (within !== undefined && !root.startsWith((await realpath(within)) + sep)) return undefined;
  const file = join(root, ...segments);
  // A link anywhere on the way leads to another name.
  if ((await realpath(file)) !== file) return undefined;
  const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const { size, isFile } = await handle.stat().then((stat) => ({ size: stat.size, isFile: stat.isFile() }));
    return isFile && size <= MAX_BYTES ? await handle.readFile() : undefined;
  } finally {
    await handle.close();
  }
}
