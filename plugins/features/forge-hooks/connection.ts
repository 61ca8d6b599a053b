import { channelError, type Forge, type ForgeAgent, type ForgeProject, type Log, type PluginContext } from "@svc/sdk";
import type { Markers } from "./marker.ts";
import type { Pace, Urgency } from "./pace.ts";
import type { Rows } from "./rows.ts";

/** Dependencies shared by all parts of the plugin. */
export interface Shared {
  readonly ctx: Pick<PluginContext, "agents" | "events" | "tasks" | "traces" | "log" | "signal">;
  readonly rows: Rows;
  readonly markers: Markers;
  readonly pace: Pace;
  /** Forges that are connected now, by name. */
  readonly forges: ReadonlyMap<string, Forge>;
  /** Delay with which a forge's lists may show a new comment, in milliseconds. */
  readonly lagMs: number;
}

/** Returns the connected forge of that name. Throws `retry` if it is not connected. */
export function forgeOf({ forges }: Pick<Shared, "forges">, name: string): Forge {
  const forge = forges.get(name);
  if (forge === undefined) throw channelError("retry", `${name} is not connected`);
  return forge;
}

/** An agent as the forge knows it in a project. Throws `permanent` for one that it has no token for. */
export function agentOf(forge: Forge, agent: string, project?: ForgeProject): ForgeAgent {
  const found = forge.agents(project).find((one) => one.agent === agent) ?? forge.agents().find((one) => one.agent === agent);
  if (found === undefined)
    throw channelError("permanent", `the agent '${agent}' has no token in channels.${forge.name}: add it to agentMappings, or set token`);
  return found;
}

/** Makes one call within the limits of its token: waits for its turn, and takes a refusal for the whole token. */
export async function paced<T>(
  { pace }: Pick<Shared, "pace">,
  forge: Forge,
  { token }: ForgeAgent,
  urgency: Urgency,
  signal: AbortSignal,
  call: () => Promise<T>,
): Promise<T> {
  const name = `${forge.name}:${token}`;
  await pace.take(name, forge.limits, urgency, signal);
  try {
    const answer = await call();
    await pace.passed(name);
    return answer;
  } catch (error) {
    const { failure, retryAfterMs, status } = error as { failure?: string; retryAfterMs?: number; status?: number };
    // Also where a forge that has enough names no time.
    if (failure === "retry" && (retryAfterMs !== undefined || status === 429)) await pace.rest(name, retryAfterMs);
    throw error;
  }
}

/** Whether the service comments for an agent: `agents.<id>.forgeAutoReply`, else the forge's `autoReplyLegacy`; read when it matters. */
export function commentsFor({ ctx }: Pick<Shared, "ctx">, { agent, autoReply }: ForgeAgent): boolean {
  const own = ctx.agents.get(agent)?.settings["forgeAutoReply"];
  return typeof own === "boolean" ? own : autoReply;
}

/** A call whose failure is told to the log and nowhere else. */
export function inBackground(log: Log, what: string, work: Promise<unknown>): void {
  void work.catch((error) => log.warn({ err: error }, what));
}
