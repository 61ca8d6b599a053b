import type { TierEvent, Turn } from "@svc/sdk";
import { type PluginContext, type SvcError, svcError } from "@svc/sdk";
import { type AcpAgent, acpServers, type Fields, fieldsOf, type LineRpc, listOf, type ServerNews, textOf, workspaceServers } from "@svc/sdk/engine";
import type { AcpSettings } from "./settings.ts";

/** A session of a program: what can be chosen in it. */
export interface AcpSession {
  readonly id: string;
  /** The program knows what was said in it before. */
  readonly held: boolean;
  readonly modes: Choice | undefined;
  readonly models: Choice | undefined;
}

/** Something that is chosen among names. */
interface Choice {
  readonly offered: readonly string[];
  choose(name: string): Promise<unknown>;
  /** Takes back what was chosen here: the session has again what it was opened with. */
  reset(): Promise<unknown>;
}

/** `first` is what the session was opened with, where the program tells. */
function choiceOf(offered: readonly string[], first: unknown, set: (name: string) => Promise<unknown>): Choice {
  let now = first;
  const choose = async (name: string): Promise<void> => {
    await set(name);
    now = name;
  };
  return { offered, choose, reset: async () => (typeof first === "string" && now !== first ? choose(first) : undefined) };
}

/** A program that is up: what it said of itself, and the sessions that it holds. */
export interface AcpProcess {
  readonly rpc: LineRpc;
  readonly agent: AcpAgent;
  readonly sessions: Map<string, AcpSession>;
}

/** A session may hold a long history that is told before the answer. */
const OPEN_MS = 120_000;

/**
 * The session to go on with: the one that the process holds, else resumed or loaded where the program can, else a new one.
 * Rejects with `SVC_RPC_REFUSED` when the program opens none, as it does when it is not signed in.
 */
export async function openSession(
  ctx: PluginContext<AcpSettings>,
  { rpc, agent, sessions }: AcpProcess,
  { workspace, native, servers }: { readonly workspace: string; readonly native: string | undefined; readonly servers: readonly Fields[] },
): Promise<AcpSession> {
  const known = native === undefined ? undefined : sessions.get(native);
  if (known !== undefined) return { ...known, held: true };
  const wanted = { cwd: workspace, mcpServers: servers };
  const again = agent.resume ? "session/resume" : agent.load ? "session/load" : undefined;
  if (native !== undefined && again !== undefined) {
    try {
      // `session/load` replays the history, which the caller has already: register no listener.
      return keep(sessions, sessionOf(rpc, native, true, await rpc.request(again, { ...wanted, sessionId: native }, OPEN_MS)));
    } catch (error) {
      const { code, message } = error as SvcError;
      if (code !== "SVC_RPC_REFUSED") throw error;
      ctx.log.info({ reason: message }, "tier acp: the native session is gone; starting a new one");
    }
  }
  const opened = await rpc.request("session/new", wanted, OPEN_MS);
  return keep(sessions, sessionOf(rpc, textOf(opened.sessionId) ?? "", false, opened));
}

function keep(sessions: Map<string, AcpSession>, session: AcpSession): AcpSession {
  sessions.set(session.id, session);
  return session;
}

/** Reads the session from an answer. Modes and models are options in newer programs, and members of their own in older ones. */
function sessionOf(rpc: LineRpc, id: string, held: boolean, answer: Fields): AcpSession {
  const request = (method: string, params: Fields) => rpc.request(method, { sessionId: id, ...params });
  const option = (category: string): Choice | undefined => {
    const found = listOf(answer.configOptions).find((each) => each.category === category && each.type === "select");
    if (found === undefined) return undefined;
    // Values may stand in groups.
    const values = listOf(found.options).flatMap((each) => (Array.isArray(each.options) ? listOf(each.options) : [each]));
    return choiceOf(namesOf(values, "value"), found.currentValue, (value) => request("session/set_config_option", { configId: found.id, value }));
  };
  const { availableModes, currentModeId } = fieldsOf(answer.modes);
  const { availableModels, currentModelId } = fieldsOf(answer.models);
  const [modes, models] = [listOf(availableModes), listOf(availableModels)];
  return {
    id,
    held,
    modes: modes.length > 0 ? choiceOf(namesOf(modes, "id"), currentModeId, (modeId) => request("session/set_mode", { modeId })) : option("mode"),
    models:
      option("model") ??
      (models.length > 0 ? choiceOf(namesOf(models, "modelId"), currentModelId, (modelId) => request("session/set_model", { modelId })) : undefined),
  };
}

const namesOf = (list: readonly Fields[], member: string): string[] => list.flatMap((each) => textOf(each[member]) ?? []);

/** Sets the session's model, or takes back the one that an earlier message has chosen. Throws `SVC_ACP_MODEL` naming the models that there are. */
export async function chooseModel({ models }: AcpSession, model: string | undefined): Promise<void> {
  if (model === undefined) return void (await models?.reset());
  if (models === undefined)
    throw svcError("SVC_ACP_MODEL", "tier acp: the program lets no model be chosen; leave the agent's model unset and name it in the program's arguments.");
  if (!models.offered.includes(model)) throw svcError("SVC_ACP_MODEL", `tier acp: the program has no model '${model}'; it has ${some(models.offered)}.`);
  await models.choose(model);
}

/** Sets the session's mode, or takes back the one of an earlier turn. Throws `SVC_ACP_MODE` naming the modes that there are: a mode that restricts is never left out silently. */
export async function chooseMode({ modes }: AcpSession, mode: string | undefined, required: string | undefined): Promise<void> {
  if (mode !== undefined && modes?.offered.includes(mode)) return void (await modes.choose(mode));
  const wanted = mode ?? required;
  if (wanted === undefined) return void (await modes?.reset());
  throw svcError(
    "SVC_ACP_MODE",
    `tier acp: the program has no mode '${wanted}'; ${modes === undefined ? "it has none" : `it has ${some(modes.offered)}`}. Name one in tiers.acp.modes or agents.<id>.acp.modes.`,
  );
}

const some = (names: readonly string[]): string => `${names.slice(0, 20).join(", ")}${names.length > 20 ? " ..." : ""}`;

/** The workspace's tool servers that the program can use; events tell about the others. */
export async function serversFor(
  agent: AcpAgent,
  turn: Pick<Turn, "id" | "agent">,
  news: ServerNews,
): Promise<{ readonly servers: readonly Fields[]; readonly events: readonly TierEvent[] }> {
  const all = await workspaceServers(turn.agent.workspace, turn.id);
  const usable = all.filter((server) => "command" in server || agent.http);
  const events = all.flatMap((server) => (usable.includes(server) ? [] : news.failed(server.name, "the program takes no tool servers over HTTP")));
  return { servers: acpServers(usable), events };
}
