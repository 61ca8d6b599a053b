import { open } from "node:fs/promises";
import { type Media, recentHistory, type TurnContext, turnText } from "@svc/sdk";
import type { ModelMessage, SystemModelMessage } from "ai";

/** The smallest limit of the vendors for one picture. */
const MAX_BYTES = 5 * 1024 * 1024;
const MAX_PICTURES = 20;

/** The stable preamble, marked for the cache of the APIs that want to be asked. */
export function systemOf({ system }: TurnContext): { system?: SystemModelMessage } {
  if (system === "") return {};
  return { system: { role: "system", content: system, providerOptions: { anthropic: { cacheControl: { type: "ephemeral" } } } } };
}

/** The bounded history, then the turn: its pictures, then its words. A picture that cannot be passed on is named in the words. */
export async function messagesOf(context: TurnContext): Promise<ModelMessage[]> {
  const pictures: { type: "image"; image: Uint8Array; mediaType: string }[] = [];
  const missing: string[] = [];
  for (const media of context.media.filter(({ kind }) => kind === "image")) {
    const image = pictures.length < MAX_PICTURES ? await bytesOf(media) : undefined;
    const mediaType = image && typeOf(image);
    if (image && mediaType) pictures.push({ type: "image", image, mediaType });
    else missing.push(media.name ?? "a picture");
  }
  const note = missing.length === 0 ? "" : `\n\n(Not passed on, because it is no picture of at most 5 MB: ${missing.join(", ")})`;
  return [
    // An empty text is no message to the APIs.
    ...recentHistory(context.history.filter(({ text }) => text.trim() !== "")).map(({ role, text }) => ({ role, content: text })),
    { role: "user", content: [...pictures, { type: "text", text: turnText(context) + note }] },
  ];
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
