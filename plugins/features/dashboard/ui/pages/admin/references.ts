import { useMemo } from "react";
import type { PluginView } from "../../../admin/plugin-view.ts";
import { useResource } from "../../data/resource.ts";
import type { FormSurroundings, Reference } from "../../forms/form-context.ts";
import { type FormPath, isFields, valueAt } from "../../forms/form-path.ts";

const AGENT_KEYS: ReadonlySet<string> = new Set(["agent", "agentId", "agentBinding", "defaultAgent", "defaultAgentId", "draftAgent", "reviewAgent", "via"]);
const CHANNEL_KEYS: ReadonlySet<string> = new Set(["channel"]);

/** Targets of references by the keys of fields: agents, channels, tiers, providers, workflows, peers. */
export function useReferences(document: unknown): NonNullable<FormSurroundings["references"]> {
  const agents = useResource<{ agents: readonly { id: string; name?: string; active?: number }[] }>("/api/agents");
  const plugins = useResource<{ plugins: readonly PluginView[] }>("/api/admin/plugins");
  return useMemo(() => {
    const running = new Map((agents.data?.agents ?? []).map((agent) => [agent.id, agent]));
    const named = (root: string, path?: (id: string) => string): readonly Reference[] => {
      const section = valueAt(document, [root]);
      return Object.entries(isFields(section) ? section : {}).map(([id, entry]) => ({
        id,
        label: isFields(entry) && typeof entry["name"] === "string" ? `${entry["name"]} (${id})` : id,
        ...(path === undefined ? {} : { href: path(id) }),
      }));
    };
    const ofAgents = named("agents", (id) => `#agents/${id}`).map((agent) => ({
      ...agent,
      note: running.get(agent.id) === undefined ? "not running yet" : (running.get(agent.id)?.active ?? 0) > 0 ? "busy" : "idle",
    }));
    const provided = (kind: string) =>
      (plugins.data?.plugins ?? []).flatMap(({ provides, state }) =>
        provides.filter((what) => what.startsWith(`${kind} `)).map((what) => ({ id: what.slice(kind.length + 1), note: state })),
      );
    const tiers = (plugins.data?.plugins ?? [])
      .filter(({ kind }) => kind === "tier")
      .map(({ id, product, state }) => ({
        id: id.slice("tier-".length),
        label: product === undefined ? id.slice("tier-".length) : `${id.slice("tier-".length)} (${product})`,
        note: state,
      }));
    const peers = valueAt(document, ["mesh", "peers"]);
    return (path: FormPath, schema) => {
      const key = String(path.at(-1));
      const above = String(path.at(-2));
      if (schema.enum !== undefined) return undefined;
      if (AGENT_KEYS.has(key) || (typeof path.at(-1) === "number" && above === "agents")) return ofAgents;
      if (CHANNEL_KEYS.has(key)) return provided("channel");
      if (key === "tier" && path[0] === "agents") return tiers;
      if (key === "provider" && path[0] === "agents" && path.length === 3) return named("providers");
      if (key === "node" && Array.isArray(peers))
        return peers.flatMap((peer) => (isFields(peer) && typeof peer["name"] === "string" ? [{ id: peer["name"] }] : []));
      return undefined;
    };
  }, [agents.data, plugins.data, document]);
}
