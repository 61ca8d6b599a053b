/** Finds the JSON of an answer: the whole, what stands in a fence, or what is surrounded by words. Undefined where there is none. */
export function jsonIn(answer: string): unknown {
  const text = answer.trim();
  const from = text.search(/[{[]/);
  const to = Math.max(text.lastIndexOf("}"), text.lastIndexOf("]")) + 1;
  for (const part of [text, fenced(text), from === -1 ? undefined : text.slice(from, to)]) {
    try {
      if (part !== undefined) return JSON.parse(part);
    } catch {
      // Perhaps the next part is JSON.
    }
  }
  return undefined;
}

/** What stands in the first fence. In two steps: a single pattern takes the cube of a text of empty lines. */
function fenced(text: string): string | undefined {
  const [, inside] = text.split(/```(?:json)?[^\S\n]*\n/, 2);
  return inside?.split(/\n[^\S\n]*```/, 1)[0];
}
