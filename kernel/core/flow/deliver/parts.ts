import { stat } from "node:fs/promises";
import type { ChannelTraits, Media, Render } from "@svc/sdk";

/** One platform message of a text, in the channel's dialect and without markup. */
export interface Part {
  readonly text: string;
  readonly plain: string;
}

/**
 * Split, then render: markup is never cut in two. Each part fits the platform as it is sent, marked up or not; what shows nothing (no
 * platform takes it) has no part. While a text grows, the parts before its last ones stay as they are.
 */
export function partsOf(markdown: string, traits: ChannelTraits, render: Render): readonly Part[] {
  if (markdown.trim() === "") return [];
  const parts = fit(markdown, traits.maxChars, traits, render);
  return traits.lines === "one" ? parts.flatMap(linesOf) : parts;
}

/** A platform without line breaks gets a message a line; lines that show nothing are left out. */
function linesOf({ text, plain }: Part): readonly Part[] {
  const marked = text.split(/\r?\n/).filter((line) => line.trim() !== "");
  const words = plain.split(/\r?\n/).filter((line) => line.trim() !== "");
  return marked.map((line, at) => ({ text: line, plain: words.length === marked.length ? (words[at] as string) : line }));
}

function fit(markdown: string, limit: number, traits: ChannelTraits, render: Render): readonly Part[] {
  return render.split(markdown, limit, traits.unit).flatMap((piece) => {
    const text = render.to(traits.dialect, piece);
    if (text.trim() === "") return [];
    const words = render.to("plain", piece);
    const part = { text, plain: words.trim() === "" ? piece : words };
    if (limit < 2 || fits(part, traits)) return [part];
    // By halves, and not by how much it is too long: that would move all cuts with every word that is added behind them.
    return fit(piece, Math.floor(limit / 2), traits, render);
  });
}

/** Escapes, tables and links make words longer than what was written of them. */
function fits({ text, plain }: Part, { dialect, maxChars, unit }: ChannelTraits): boolean {
  if (lengthIn(unit, plain) > maxChars) return false;
  // This platform counts what is left after its markup is parsed; all others count what is sent.
  const counted = dialect === "html-telegram" ? text.replace(/<[^>]*>/g, "").replace(/&(?:amp|lt|gt|quot);/g, "&") : text;
  return lengthIn(unit, counted) <= maxChars;
}

/** The length of a text as the platform counts it. */
export function lengthIn(unit: ChannelTraits["unit"], text: string): number {
  if (unit === "utf16") return text.length;
  if (unit === "utf8") return Buffer.byteLength(text);
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

/** Sorts attachments into those the platform takes and a line for people about each one that it does not. */
export async function admitMedia(
  media: readonly Media[],
  traits: ChannelTraits,
  mayLeave: (path: string) => boolean,
): Promise<{ readonly taken: readonly Media[]; readonly refused: readonly string[] }> {
  const taken: Media[] = [];
  const refused: string[] = [];
  for (const item of media) {
    const limit = traits.maxMediaBytes;
    const name = item.name ?? item.kind;
    if (limit === undefined) {
      refused.push(`(${name} was not sent: files cannot be sent here.)`);
      continue;
    }
    if (item.path !== undefined && !mayLeave(item.path)) {
      refused.push(`(${name} was not sent: it belongs to the daemon.)`);
      continue;
    }
    const size = await sizeOf(item);
    if (size === "missing") refused.push(`(${name} was not sent: the file is not there any more.)`);
    else if (size !== undefined && size > limit) refused.push(`(${name} was not sent: it is larger than ${Math.floor(limit / 1_048_576)} MiB.)`);
    else taken.push(item);
  }
  return { taken, refused };
}

async function sizeOf({ data, path, size }: Media): Promise<number | "missing" | undefined> {
  if (data !== undefined) return data.byteLength;
  if (path === undefined) return size;
  try {
    const found = await stat(path);
    // A device or a pipe has no end.
    return found.isFile() ? found.size : "missing";
  } catch {
    return "missing";
  }
}
