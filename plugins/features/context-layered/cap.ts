import { LAYERS, type Layer, turnText } from "@svc/sdk";
import { cut } from "./words.ts";

/** 6000 tokens (000:L357) at 4 characters each (CTX-04). */
export const CAP = 24_000;

/** Order of trimming, the first one first; layers of other names come at `undefined`. Channel rules, scope and identity are never trimmed. */
const CUT_ORDER: readonly (string | undefined)[] = ["history", "wiki hint", undefined, "artifacts", "landscape", "intent", "references"];

/** A rest shorter than this says nothing. */
const LEAST = 20;

/** The characters that layers take in the message, the empty lines between them and after them included. */
export const sizeOf = (layers: readonly Layer[]): number => turnText({ layers, prompt: " " }).length - 1;

/** Layers that together fit into `cap`. History loses its oldest lines, the others their last. */
export function fitLayers(layers: readonly Layer[], cap: number = CAP): Layer[] {
  let fitted = [...layers];
  for (const name of CUT_ORDER) {
    const excess = sizeOf(fitted) - cap;
    if (excess <= 0) break;
    let left = excess;
    fitted = fitted.map((layer) => {
      if (left <= 0 || (name === undefined ? Object.hasOwn(LAYERS, layer.name) : layer.name !== name)) return layer;
      const text = name === "history" ? keepEnd(layer.text, layer.text.length - left) : keepStart(layer.text, layer.text.length - left);
      // Without a text the empty line before it goes, too.
      left -= layer.text.length - text.length;
      return { ...layer, text, whole: layer.whole ?? layer.text.length };
    });
  }
  return fitted;
}

/** The heading and the newest lines; of a line that is too long by itself, its end. */
function keepEnd(text: string, room: number): string {
  const [heading = "", ...lines] = text.split("\n");
  let used = heading.length;
  let from = lines.length;
  while (from > 0 && used + (lines[from - 1] as string).length + 1 <= room) used += (lines[--from] as string).length + 1;
  if (from < lines.length) return [heading, ...lines.slice(from)].join("\n");
  const end = room - heading.length - 2;
  return end < LEAST ? "" : `${heading}\n…${(lines.at(-1) ?? "").slice(-end)}`;
}

/** The heading and the first lines; of a line that is too long by itself, its beginning. */
function keepStart(text: string, room: number): string {
  const heading = text.indexOf("\n") + 1;
  if (room < heading + LEAST) return "";
  const kept = cut(text, room - 1);
  const end = kept.lastIndexOf("\n");
  return `${end < heading ? kept : kept.slice(0, end)}…`;
}
