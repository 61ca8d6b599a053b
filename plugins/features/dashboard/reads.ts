import { type HealthReader, type HttpRoute, type NodeAbout, type SettingDifference, type StoreNode, settingDifferences, type Trace } from "@svc/sdk";
import type { Daemon, HistoryQuery } from "./daemon.ts";
import type { Daemons } from "./daemons.ts";
import { previewOf } from "./preview.ts";

/** State of one daemon. */
export interface DaemonView {
  readonly name: string;
  readonly url: string;
  readonly ok: boolean;
  readonly error?: string;
  readonly agents: readonly unknown[];
}

/** Answer of `GET /api/nodes`. */
export interface NodesView {
  readonly nodes: readonly (Omit<StoreNode, "about"> & Partial<Pick<NodeAbout, "version" | "url" | "troubles">>)[];
  readonly differences: readonly SettingDifference[];
}

const RECENT = 50;

/** `GET /api/agents` (000:L208): the agents of the daemon behind the dashboard, or of `node`, as that daemon's `GET /agents` shows them. */
export function agentsRoute(daemons: Daemons): HttpRoute {
  return {
    ...read("/api/agents"),
    query: { type: "object", properties: { node: { type: "string" } } },
    handle: async ({ query }) => ({ agents: await daemons.at(query.node).agents() }),
  };
}

/** `GET /api/task/history` (000:L208): what tasks did, newest first, without the whole texts. `before` in Unix milliseconds. */
export function historyRoute(daemons: Daemons): HttpRoute {
  return {
    ...read("/api/task/history"),
    query: {
      type: "object",
      properties: {
        node: { type: "string" },
        agent: { type: "string" },
        channel: { type: "string" },
        status: { enum: ["in-flight", "ok", "error", "timeout"] },
        before: { type: "integer", minimum: 0 },
        limit: { type: "integer", minimum: 1, maximum: 1000 },
      },
    },
    async handle({ query: { node, before, limit, ...rest } }) {
      const query = { ...rest, ...(before === undefined ? {} : { before: Number(before) }), ...(limit === undefined ? {} : { limit: Number(limit) }) };
      return { tasks: await history(daemons.at(node), query) };
    },
  };
}

/** `GET /api/nodes`: the living daemons on the same store by name, and in which settings they differ; none where one daemon uses it alone. */
export function nodesRoute(health: HealthReader): HttpRoute {
  return {
    ...read("/api/nodes"),
    async handle(): Promise<NodesView> {
      const nodes = (await health.nodes()).filter(({ state }) => state !== "dead");
      return {
        nodes: nodes
          .map(({ about, ...node }) => ({
            ...node,
            ...(about === undefined ? {} : { version: about.version, troubles: about.troubles, ...(about.url === undefined ? {} : { url: about.url }) }),
          }))
          .sort((left, right) => (left.name < right.name ? -1 : 1)),
        differences: settingDifferences(nodes),
      };
    },
  };
}

/** `GET /api/live` (000:L208): every daemon with its agents and what they do, and the newest tasks. A daemon that cannot be reached is shown as such. */
export function liveRoute(daemons: Daemons): HttpRoute {
  return { ...read("/api/live"), handle: () => snapshot(daemons) };
}

/** Answer of `GET /api/live`, and first frame of its stream. */
export async function snapshot({ main, all }: Daemons): Promise<{ readonly daemons: readonly DaemonView[]; readonly tasks: readonly unknown[] }> {
  const [daemons, tasks] = await Promise.all([Promise.all(all.map(lookAt)), history(main, { limit: RECENT }).catch(() => [])]);
  return { daemons, tasks };
}

/** Never rejects. */
export async function lookAt(daemon: Daemon): Promise<DaemonView> {
  const { name, url } = daemon;
  try {
    return { name, url, ok: true, agents: await daemon.agents() };
  } catch (error) {
    return { name, url, ok: false, error: (error as Error).message, agents: [] };
  }
}

async function history(daemon: Daemon, query: HistoryQuery): Promise<readonly unknown[]> {
  return (await daemon.history(query)).map(brief);
}

/** A task in a list: the whole texts are in the single trace. */
function brief(trace: Trace): unknown {
  const { id, agent, channel, chat, sender, status, startedAt, endedAt, durationMs, error, errorKind, model, usage, attempts, message } = trace;
  const messagePreview = trace.messagePreview ?? previewOf(message ?? "");
  return { id, agent, channel, chat, sender, status, startedAt, endedAt, durationMs, messagePreview, error, errorKind, model, usage, attempts };
}

const read = (path: string) => ({ server: "dashboard", method: "GET", path, guard: "scope:dashboard:read" }) as const;
