import { open } from "node:fs/promises";
import { type Media, type TurnContext, turnText } from "@svc/sdk";
import type { Fields } from "./lines.ts";

/** The vendor's limit for one picture. */
const MAX_BYTES = 5 * 1024 * 1024;
const MAX_PICTURES = 20;

/** The turn as content blocks: pictures first, then the words. A picture that cannot be passed on is named in the words. */
export async function contentOf(context: TurnContext): Promise<Fields[]> {
  const blocks: Fields[] = [];
  const missing: string[] = [];
  for (const media of context.media.filter(({ kind }) => kind === "image")) {
    const data = blocks.length < MAX_PICTURES ? await bytesOf(media) : undefined;
    const type = data && typeOf(data);
    if (data && type) blocks.push({ type: "image", source: { type: "base64", media_type: type, data: Buffer.from(data).toString("base64") } });
    else missing.push(media.name ?? media.path ?? "a picture");
  }
  const note = missing.length === 0 ? "" : `\n\n(Not passed on, because it is no picture of at most 5 MB: ${missing.join(", ")})`;
  return [...blocks, { type: "text", text: turnText(context) + note }];
}

async function bytesOf({ data, path }: Media): Promise<Uint8Array | undefined> {
  if (data !== undefined) return data.byteLength <= MAX_BYTES ? data : undefined;
  if (path === undefined) return undefined;
  const file = await open(path).catch(() => undefined);
  if (file === undefined) return undefined;
  try {
    const facts = await file.stat();
    return facts.isFile() && facts.size <= MAX_BYTES ? await file.readFile() : undefined;
  } finally {
    await file.close();
  }
}

/** By the bytes, not by what the sender claims: so nothing but a picture leaves this machine as one. */
function typeOf(data: Uint8Array): string | undefined {
  const start = Buffer.from(data.subarray(0, 12)).toString("latin1");
  if (start.startsWith("\x89PNG")) return "image/png";
  if (start.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (start.startsWith("GIF8")) return "image/gif";
  return start.startsWith("RIFF") && start.endsWith("WEBP") ? "image/webp" : undefined;
}
