import type { ActionEnvelope, Layer, PluginContext, Trace, Turn } from "@svc/sdk";

const PASSAGES = 5;
const CHATS = 5;
const SEEN = 50;
/** Of one passage or message, in characters. */
const SHOWN = 600;

type Lent = Pick<PluginContext, "actions" | "traces" | "log">;

/** Searches the agent's memory for `query` with the action `rag.lexical`. Empty without an index: an answer without it is better than no answer. */
export async function retrieved({ actions, log }: Lent, turn: Turn, query: string, signal: AbortSignal): Promise<Layer> {
  const answer = await actions.run(
    "rag.lexical",
    { agentId: turn.agent.id, query, limit: PASSAGES },
    { door: "agent", agent: turn.agent.id, taskId: turn.id, signal },
  );
  if (answer.status === "error") log.info({ agent: turn.agent.id, reason: answer.error }, "nothing was retrieved from memory");
  const found = passagesOf(answer).map(({ path, line, snippet }) => `- ${path}:${line}: ${brief(snippet)}`);
  return { name: "memory", priority: 7.2, text: found.length === 0 ? "" : `## From memory\n${found.join("\n")}` };
}

interface Passage {
  readonly path: string;
  readonly line: number;
  readonly snippet: string;
}

const passagesOf = ({ output }: ActionEnvelope): readonly Passage[] => (output as { results?: readonly Passage[] } | undefined)?.results ?? [];

/** The last request in each of the agent's other chats, newest first. */
export async function crossChat({ traces }: Lent, { agent, route }: Turn): Promise<Layer> {
  const latest = new Map<string, Trace>();
  for (const trace of await traces.list({ agent: agent.id, limit: SEEN })) {
    if (trace.conversation !== route.conversation && trace.message !== undefined && !latest.has(trace.conversation)) latest.set(trace.conversation, trace);
  }
  const lines = [...latest.values()]
    .slice(0, CHATS)
    .map(({ channel, chat, startedAt, message = "" }) => `- ${channel} ${chat}, ${new Date(startedAt).toISOString().slice(0, 16)} UTC: ${brief(message)}`);
  return { name: "cross-chat hints", priority: 7.4, text: lines.length === 0 ? "" : `## In other chats\n${lines.join("\n")}` };
}

const brief = (text: string): string => text.replace(/\s+/g, " ").trim().slice(0, SHOWN);
