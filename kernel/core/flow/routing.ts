import { type Inbound, type Route, reasonOf, routeTo, type Turn, type TurnContext } from "@svc/sdk";
import { fail } from "../../base/errors.ts";
import type { AgentSettings, AgentTable } from "../host/agents.ts";
import type { Absence } from "./absence.ts";
import { JOB_SECONDS } from "./limits.ts";
import type { Task } from "./live-task.ts";
import type { TaskRecord } from "./record.ts";
import type { Ending, Outcome } from "./run-facts.ts";
import { typedPrompt } from "./typed-output.ts";
import { promptOf } from "./words.ts";
import type { Placement } from "./work.ts";

/** Without a plugin's word: the agent that the entry names, else the one that is mentioned. */
export function defaultRoute(inbound: Inbound, agents: AgentTable): Route | undefined {
  const agent = inbound.agent ?? inbound.mentions?.map((handle) => agents.byMention(handle)?.id).find((id) => id !== undefined);
  return agent === undefined ? undefined : routeTo(agent, inbound);
}

/** Why the agent does not take this: its `intents` (001:L45), or a hand-off chain that is too long (001:L46). */
export function refusalOf(inbound: Inbound, route: Route, settings: AgentSettings | undefined): Error | undefined {
  if (settings === undefined) return fail("SVC_AGENT_UNKNOWN", { agent: route.agent });
  const { intents, maxDelegationDepth, unusable } = settings;
  const agent = laneAgent(route);
  if (unusable !== undefined) return fail("SVC_AGENT_UNUSABLE", { agent, reason: unusable });
  const { intent, chain = [], callerTask } = inbound.options ?? {};
  if (intents.length > 0 && intent !== undefined && !intents.includes(intent)) return fail("SVC_INTENT_REFUSED", { agent, intent });
  // A caller that waits for the answer waits, through the others, for the agent itself.
  if (callerTask !== undefined && chain.includes(agent)) return fail("SVC_DELEGATION_LOOP", { agent, chain: [...chain, agent].join(" -> ") });
  const others = new Set(chain.filter((id) => id !== agent));
  if (maxDelegationDepth > 0 && others.size >= maxDelegationDepth)
    return fail("SVC_DELEGATION_TOO_DEEP", { agent, depth: others.size, limit: maxDelegationDepth });
  return undefined;
}

/** Seconds that a run may take: an agent's scheduled job has two hours at least, whatever the agent's own limit is (000:L364). */
export function runSecondsOf({ entry, options }: Inbound, { maxExecutionMinutes }: AgentSettings): number {
  const asked = Math.round((options?.timeoutMinutes ?? maxExecutionMinutes) * 60);
  return entry === "cron" ? Math.max(asked, JOB_SECONDS) : asked;
}

/** The message of the turn: with the text of its route, if the route has one. */
export const askedOf = ({ inbound, route }: TaskRecord): Inbound => (route?.text === undefined ? inbound : { ...inbound, text: route.text });

/** Initial context for `assembleContext`: the agent's own prompt and the message's text. */
export function baseContext({ agent, messages, startedAt }: Turn): TurnContext {
  const prompt = messages.map((message) => promptOf(message, startedAt)).join("\n\n");
  const { output } = messages[0].options ?? {};
  return {
    system: agent.systemPrompt ?? "",
    layers: [],
    prompt: output === undefined ? prompt : typedPrompt(prompt, output),
    media: messages.flatMap((message) => message.media ?? []),
    history: [],
  };
}

/** A task that failed before or beside its engine. */
export const errorOutcome = (error: unknown, errorKind: string): Outcome => ({ status: "error", reply: "", error: reasonOf(error), errorKind });
/** The exit code of a program that was ended by SIGTERM: reported by a run over its time limit, whatever its engine (001:L53). */
export const TERMINATED = 143;
/** A task that was ended: cancelled, over its limit, or interrupted. */
export const endedOutcome = ({ kind, text }: Ending): Outcome => ({
  status: kind === "timeout" ? "timeout" : "error",
  reply: "",
  error: text,
  errorKind: kind,
  ...(kind === "timeout" ? { exitCode: TERMINATED } : {}),
});

/** Why the turn of a claimed task cannot begin. */
export function hindranceOf({ ending, record }: Task, settings: AgentSettings | undefined): Outcome | undefined {
  if (ending !== undefined) return endedOutcome(ending);
  return settings === undefined ? errorOutcome(fail("SVC_AGENT_UNKNOWN", { agent: record.agent }), "refused") : undefined;
}

/** Returns the key of the agent's slots: an agent of the same id on another node is another one. */
export const laneAgent = ({ agent, node }: Pick<Route, "agent" | "node">): string => (node === undefined ? agent : `${node}/${agent}`);

/** The lane of a routed task and its rules, read from the agent's settings whenever they matter. */
export function placementOf(
  { record, front, keep }: Pick<Task, "record" | "front" | "keep">,
  route: Route,
  agents: () => AgentTable,
  absence: Absence,
): Placement {
  const settings = () => agents().settings(route.agent, route.node);
  return {
    conversation: route.conversation,
    agent: laneAgent(route),
    mode: () => settings()?.queueMode ?? "collect",
    limit: () => absence.slots(laneAgent(route), settings()),
    sort: () => sortOf(record, route),
    size: (route.text ?? record.inbound.text).length,
    front,
    keep,
  };
}

/**
 * Returns the key by which messages may share a turn: only where its answer reaches all of them, and where they have the same options. Interrupted
 * tasks are resumed unchanged: a turn that crashed the daemon costs no further message a try.
 */
function sortOf({ inbound: { options }, attempts }: TaskRecord, { reply: { channel, chat, account, thread } }: Route): string {
  return JSON.stringify([channel, chat, account, thread, options, attempts]);
}
