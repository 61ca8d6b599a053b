import { hash } from "node:crypto";
import type { ContextPart, TurnContext } from "@svc/sdk";

/** A named part of an engine's context, with its text. */
export interface ContextText {
  readonly name: string;
  readonly text: string;
}

type Words = Pick<TurnContext, "system" | "layers" | "history" | "prompt">;
type Said = Words["history"][number];

/** Returns the texts of the context in the order in which an engine gets them; empty ones are left out, and duplicate names are numbered. */
export function contextTexts({ system, layers, history, prompt }: Words): readonly ContextText[] {
  return [{ name: "system", text: system }, ...numbered(layers), { name: MESSAGES, text: asText(history) }, { name: "prompt", text: prompt }].filter(hasText);
}

/**
 * Returns a trace's digest of a context, part by part as `contextTexts` lists them: the size of each, and a hash that shows later changes. Of a long
 * history only the newest messages are hashed: a turn must not cost more the longer a conversation is.
 */
export function contextDigest({ system, layers, history, prompt }: Words): readonly ContextPart[] {
  const parts = numbered(layers).map(repeated);
  if (system !== "") parts.unshift(repeated({ name: "system", text: system }));
  if (history.length > 0) parts.push(digestOfMessages(history));
  if (prompt !== "") parts.push(measured({ name: "prompt", text: prompt }));
  return parts;
}

const MESSAGES = "messages";
/** So many messages at the end of a history are hashed, beside how many there are and how long they are together. */
const NEWEST = 8;
/** Texts whose hash is remembered. */
const MOST_HASHES = 200;

const asText = (messages: readonly Said[]): string => messages.map(({ role, text }) => `${role}: ${text}`).join("\n");
const hasText = ({ text }: ContextText): boolean => text !== "";
const hashOf = (text: string): string => hash("sha256", text, "hex").slice(0, 16);
const measured = ({ name, text }: ContextText): ContextPart => ({ name, characters: text.length, hash: hashOf(text) });

/** An agent's preamble and most of its layers are the same texts in all its turns. */
const hashes = new Map<string, string>();

function repeated({ name, text }: ContextText): ContextPart {
  let known = hashes.get(text);
  if (known === undefined) {
    known = hashOf(text);
    if (hashes.size === MOST_HASHES) hashes.clear();
    hashes.set(text, known);
  }
  return { name, characters: text.length, hash: known };
}

function digestOfMessages(history: readonly Said[]): ContextPart {
  let characters = 0;
  for (const { text } of history) characters += text.length;
  return { name: MESSAGES, characters, hash: hashOf(`${history.length} ${characters}\n${asText(history.slice(-NEWEST))}`) };
}

/** In their order, each with a name of its own. */
function numbered(layers: Words["layers"]): readonly ContextText[] {
  const seen = new Map<string, number>();
  return layers
    .toSorted((left, right) => left.priority - right.priority)
    .filter(hasText)
    .map(({ name, text }) => {
      const count = (seen.get(name) ?? 0) + 1;
      seen.set(name, count);
      return { name: count === 1 ? name : `${name} (${count})`, text };
    });
}
