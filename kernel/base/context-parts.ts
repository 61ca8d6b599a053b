import { hash } from "node:crypto";
import type { ContextPart, TurnContext } from "@svc/sdk";

/** A named piece of what an engine is told, with its words. */
export interface ContextText {
  readonly name: string;
  readonly text: string;
}

type Words = Pick<TurnContext, "system" | "layers" | "history" | "prompt">;

/** The pieces in the order in which an engine gets them; those without words are left out, and a name that stands twice is numbered. */
export function contextTexts({ system, layers, history, prompt }: Words): readonly ContextText[] {
  const sorted = layers.toSorted((left, right) => left.priority - right.priority);
  const said = history.map(({ role, text }) => `${role}: ${text}`).join("\n");
  const seen = new Map<string, number>();
  return [{ name: "system", text: system }, ...sorted, { name: "messages", text: said }, { name: "prompt", text: prompt }].flatMap(({ name, text }) => {
    if (text === "") return [];
    const count = (seen.get(name) ?? 0) + 1;
    seen.set(name, count);
    return [{ name: count === 1 ? name : `${name} (${count})`, text }];
  });
}

/** What a trace keeps of a context: how much each piece had, and a hash to tell whether it is another one by now. */
export const contextDigest = (context: Words): readonly ContextPart[] => contextTexts(context).map(digestOf);

/** The same of one piece. */
export function digestOf(part: ContextText): ContextPart {
  if (part.name !== "system") return measured(part);
  const known = preambles.get(part.text);
  if (known !== undefined) return known;
  if (preambles.size === MOST_PREAMBLES) preambles.clear();
  const made = measured(part);
  preambles.set(part.text, made);
  return made;
}

/** The preamble of an agent is the same text in all its turns. */
const preambles = new Map<string, ContextPart>();
const MOST_PREAMBLES = 100;

const measured = ({ name, text }: ContextText): ContextPart => ({ name, bytes: Buffer.byteLength(text), hash: hash("sha256", text, "hex").slice(0, 16) });
