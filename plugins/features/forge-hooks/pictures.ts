import { channelError, type Forge, type Media } from "@svc/sdk";
import { openHandle } from "./prompt.ts";

/** The largest picture of a note, in bytes. */
const MAX_BYTES = 10 * 1_048_576;

const MAGIC: readonly (readonly [type: string, test: (bytes: Uint8Array) => boolean])[] = [
  ["image/png", (bytes) => begins(bytes, [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])],
  ["image/jpeg", (bytes) => begins(bytes, [0xff, 0xd8, 0xff])],
  ["image/gif", (bytes) => begins(bytes, [0x47, 0x49, 0x46, 0x38])],
  ["image/webp", (bytes) => begins(bytes, [0x52, 0x49, 0x46, 0x46]) && begins(bytes.subarray(8), [0x57, 0x45, 0x42, 0x50])],
  ["image/bmp", (bytes) => begins(bytes, [0x42, 0x4d])],
  ["image/avif", (bytes) => begins(bytes.subarray(4), [0x66, 0x74, 0x79, 0x70, 0x61, 0x76, 0x69, 0x66])],
];

/** The bytes of a picture of a note, with the token of the agent that was asked. A page to sign in is no picture, whatever its type says. */
export async function fetchPicture(
  forge: Forge,
  { handle = "", kind }: Media,
  signal: AbortSignal,
): Promise<{ readonly data: Uint8Array; readonly type?: string }> {
  const opened = openHandle(handle);
  if (opened === undefined) throw channelError("permanent", "this file is not one of the forge's");
  const { data, type } = await forge.download(opened.handle, { agent: opened.agent }, MAX_BYTES, signal);
  const picture = MAGIC.find(([, test]) => test(data))?.[0];
  if (picture !== undefined) return { data, type: picture };
  if (kind === "image") throw channelError("permanent", "the forge answered something else than a picture; the token may lack the right to read it");
  if (looksLikePage(data)) throw channelError("permanent", "the forge answered a page in place of the file; the token may lack the right to read it");
  return { data, ...(type === undefined ? {} : { type }) };
}

const begins = (bytes: Uint8Array, magic: readonly number[]): boolean => magic.every((byte, at) => bytes[at] === byte);

const looksLikePage = (bytes: Uint8Array): boolean => /^\s*(?:<!doctype html|<html)/i.test(new TextDecoder().decode(bytes.subarray(0, 512)));
