import { stat } from "node:fs/promises";
import type { ChannelTraits, Markup, Media } from "@svc/sdk";
import type { ChannelRender, TextTraits } from "../base/channel-render.ts";

/** One platform message of a text, in the channel's markup and without any. */
export interface Part {
  readonly text: string;
  readonly plain: string;
}

/**
 * Splits, then renders: markup is never cut in two. Each part fits the platform's limit as it is sent, marked up or not; an empty text (which no
 * platform accepts) has no part. While a text grows, the parts before its last ones stay unchanged.
 */
export function partsOf(markdown: string, traits: TextTraits, render: ChannelRender): readonly Part[] {
  if (markdown.trim() === "") return [];
  const parts = fit(markdown, traits.maxChars, traits, render);
  return traits.lines === "one" ? parts.flatMap(linesOf) : parts;
}

/** For a platform without line breaks: one message per line, without blank lines. */
function linesOf({ text, plain }: Part): readonly Part[] {
  const marked = text.split(/\r?\n/).filter((line) => line.trim() !== "");
  const words = plain.split(/\r?\n/).filter((line) => line.trim() !== "");
  return marked.map((line, at) => ({ text: line, plain: words.length === marked.length ? (words[at] as string) : line }));
}

function fit(markdown: string, limit: number, traits: TextTraits, render: ChannelRender): readonly Part[] {
  const form = formOf(traits, render);
  return render.split(markdown, limit, traits.unit).flatMap((piece) => {
    const text = render.to(form, piece);
    if (text.trim() === "") return [];
    const words = render.to("plain", piece);
    const part = { text, plain: words.trim() === "" ? piece : words };
    const counted = typeof form === "object" && form.counts === "shown" ? render.to(shownOf(form), piece) : text;
    if (limit < 2 || (lengthIn(traits.unit, part.plain) <= traits.maxChars && lengthIn(traits.unit, counted) <= traits.maxChars)) return [part];
    // By halves, and not by the excess: that would move all cuts with every appended word.
    return fit(piece, Math.floor(limit / 2), traits, render);
  });
}

function formOf({ markup, dialect = "plain" }: TextTraits, { former = {} }: ChannelRender): string | Markup {
  return markup ?? (Object.hasOwn(former, dialect) ? former[dialect] : undefined) ?? dialect;
}

const shown = new WeakMap<Markup, Markup>();

/** Returns the text that counts towards the limit on a platform that parses its markup first: without the markup. */
function shownOf(markup: Markup): Markup {
  const { bullet, rule, quote } = markup;
  const left: Markup = {
    link: "{}",
    ...(quote === undefined ? {} : { quote: quote.includes("{}") ? "{}" : quote }),
    ...(bullet === undefined ? {} : { bullet }),
    ...(rule === undefined ? {} : { rule }),
  };
  const known = shown.get(markup) ?? left;
  shown.set(markup, known);
  return known;
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
