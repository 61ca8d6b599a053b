import { type Agent, type Inbound, LAYERS, type Layer, type Turn } from "@svc/sdk";
import { firstLine, headed, oneLine } from "./words.ts";

const ROSTER = 40;
const FACTS = 20;
const QUOTED = 2_000;
/** Facts that say what the message is attached to, and not where it was written. */
const ATTACHED = /^(issue|merge_?request|pull_?request|mr|pr|commit|pipeline|note|discussion|url)/i;

const layer = (name: keyof typeof LAYERS, heading: string, lines: readonly (string | false | undefined)[]): Layer => ({
  name,
  priority: LAYERS[name],
  text: headed(heading, lines.filter(Boolean).join("\n")),
});

/** How the answer travels. Empty for a caller over HTTP who set no limits. */
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

/** The other agents of this node and the daemons of the mesh, and how to reach them where the agent can. Empty for the only one. */
export function landscape(
  { agent, actions: callable = [], messages }: Turn,
  agents: readonly Agent[],
  node: string,
  peers: readonly { readonly name: string }[] = [],
): Layer {
  // What a restricted run is refused is nothing that it could be told to use.
  const actions = (messages[0].options?.autonomy ?? "act") === "act" ? callable : [];
  const others = agents.filter(({ id }) => id !== agent.id);
  const more = others.length - ROSTER;
  const roster = others.slice(0, ROSTER).map(({ id, name, systemPrompt = "" }) => {
    const about = oneLine(firstLine(systemPrompt), 120);
    return `- ${id}${name === id ? "" : ` (${oneLine(name, 60)})`}${about === "" ? "" : `: ${about}`}`;
  });
  return layer("landscape", "Landscape", [
    others.length > 0 &&
      `Other agents on the node ${oneLine(node, 60)}${actions.includes("agent.call") ? "; ask one with the tool agent_call {agentId, message}" : ""}:`,
    ...roster,
    more > 0 && `- and ${more} more`,
    peers.length > 0 &&
      `Other machines of the mesh${actions.includes("mesh.delegate") ? "; ask an agent there with the tool mesh_delegate {peer, agent, message}" : ""}: ${peers
        .slice(0, ROSTER)
        .map(({ name }) => oneLine(name, 60))
        .join(", ")}${peers.length > ROSTER ? ` and ${peers.length - ROSTER} more` : ""}`,
  ]);
}

/** The first line of the agent's prompt; the whole of it is in the preamble (CTX-03). */
export function identity({ agent }: Turn): Layer {
  return layer("identity", "Identity", [firstLine(agent.systemPrompt ?? "") || `You are ${oneLine(agent.name)}.`]);
}

/** What came with the message: files, the message it answers, the issue or merge request it stands at. */
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
