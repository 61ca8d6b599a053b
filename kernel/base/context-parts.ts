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
export const digestOf = ({ name, text }: ContextText): ContextPart => ({
  name,
  bytes: Buffer.byteLength(text),
  hash: hash("sha256", text, "hex").slice(0, 16),
});
