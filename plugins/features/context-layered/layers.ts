import type { Inbound, Layer, Turn } from "@svc/sdk";
import { firstLine, layer, oneLine } from "./words.ts";

const FACTS = 20;
const QUOTED = 2_000;
/** Facts that say what the message is attached to, and not where it was written. */
const ATTACHED = /^(issue|merge_?request|pull_?request|mr|pr|commit|pipeline|note|discussion|url)/i;

/** Delivery rules of the answer. Empty for an HTTP caller without limits. */
export function channelRules({ messages, agent }: Turn): Layer {
  const [{ channel, options = {} }] = messages;
  return layer("channel rules", "Channel rules", [
    channel !== "http" && `Your answer is delivered on the channel ${oneLine(channel)}; do not send it there yourself.`,
    agent.settings.richMessages === false && "Write plain text: no Markdown, buttons or polls.",
    options.maxOutputTokens !== undefined && `Keep the answer below about ${options.maxOutputTokens} tokens.`,
    options.scheduled === true && "A schedule started this run: nobody can answer questions.",
  ]);
}

/** Where the words come from: a project, a group or one person, with what the channel has verified. */
export function scope({ messages }: Turn): Layer {
  const [first] = messages;
  const facts = Object.entries(first.facts ?? {}).filter(([key]) => !ATTACHED.test(key));
  const senders = [...new Set(messages.map(describeSender).filter((name) => name !== ""))];
  const kind = kindOf(first);
  return layer("scope", "Scope", [
    kind && `${kind} on ${oneLine(first.channel)}, chat ${oneLine(first.chat)}.`,
    senders.length > 0 && `From: ${senders.join("; ")}`,
    ...facts.slice(0, FACTS).map(factLine),
  ]);
}

function kindOf({ channel, direct, facts = {} }: Inbound): string | undefined {
  if ("project" in facts || "repository" in facts) return "A project conversation";
  if (direct !== undefined) return direct ? "A personal conversation" : "A group conversation";
  return channel === "http" ? undefined : "A conversation";
}

function describeSender({ sender }: Inbound): string {
  if (sender === undefined) return "";
  const name = sender.name ?? sender.handle;
  return `${name === undefined ? "" : `${oneLine(name, 80)}, `}id ${oneLine(sender.id, 80)}${sender.bot ? ", a bot" : ""}`;
}

const factLine = ([key, value]: [string, string | number | boolean]): string => `- ${oneLine(key, 60)}: ${oneLine(String(value))}`;

/** The first line of the agent's prompt; the whole of it is in the preamble (CTX-03). */
export function identity({ agent }: Turn): Layer {
  return layer("identity", "Identity", [firstLine(agent.systemPrompt ?? "") || `You are ${oneLine(agent.name)}.`]);
}

/** Attachments of the message: files, the message it answers, its issue or merge request. */
export function artifacts({ messages }: Turn): Layer {
  return layer(
    "artifacts",
    "Artifacts",
    messages.flatMap(({ media = [], replyTo, facts = {} }) => [
      ...Object.entries(facts)
        .filter(([key]) => ATTACHED.test(key))
        .slice(0, FACTS)
        .map(factLine),
      ...media.map(({ kind, name, type, size, path }) => {
        const about = [type, size === undefined ? undefined : `${size} bytes`, path].filter((word) => word !== undefined).map((word) => oneLine(word));
        return `- ${kind}${name === undefined ? "" : ` ${oneLine(name)}`}${about.length === 0 ? "" : ` (${about.join(", ")})`}`;
      }),
      replyTo?.text !== undefined && `- in reply to${whose(replyTo.sender)}: ${oneLine(replyTo.text, QUOTED)}`,
    ]),
  );
}

const whose = (sender: Inbound["sender"]): string => (sender === undefined ? "" : ` ${oneLine(sender.name ?? sender.handle ?? sender.id, 80)}`);

/** Where older knowledge may lie. The same words on every turn. */
export const wikiHint: Layer = layer("wiki hint", "Notes", [
  "This workspace may hold notes (wiki/, memory/, docs/). Search them before you say that you do not know a person, a project or a decision.",
]);
