import type { AgentTool, AgentToolSet, ToolCall } from "@svc/sdk";
import { fail } from "../base/errors.ts";
import type { KernelTools, ToolDeps } from "../core/flow/actions-port.ts";
import { call } from "../core/host/call.ts";
import { nameThing, whyUnusable } from "../core/host/kinds.ts";
import type { Owned } from "../core/host/scope.ts";
import { callerOf } from "./tool-caller.ts";

/** Default timeout of a tool call, in milliseconds, where the agent's program sets none. */
const TOOL_MS = 60_000;
/** Timeout of a tool's `for`, and of listing the tools of a set, in milliseconds. */
const OFFER_MS = 2_000;

type Offered = Owned<AgentTool>;
type Source = Pick<ToolDeps, "live" | "failed">;

/** The tools of all running plugins: listed and run for agents, whose tasks are known by the kernel's own tables. */
export function createTools(deps: ToolDeps): KernelTools {
  return {
    list: async (agent) => [...(await offeredTo(agent, deps)).values()].map(({ thing }) => thing),
    async run(name, input, { taskId, ...asked }) {
      const caller: ToolCall = { ...asked, ...(await callerOf(deps, asked.agent, taskId)) };
      const owned = await find(name, caller.agent, deps);
      if (owned === undefined) throw fail("SVC_TOOL_UNKNOWN", { tool: name });
      const { limitMs = TOOL_MS } = asked;
      const run = () => call({ scope: owned.scope, what: `tool ${name}`, limitMs, run: () => owned.thing.run(input, caller) }, [], caller.signal);
      return caller.rootId === undefined ? run() : deps.bus.within({ rootId: caller.rootId }, run);
    },
    caller: (claimed) => callerOf(deps, undefined, claimed),
  };
}

/** Tools offered to the agent, by name and without duplicates: a single tool takes precedence over one of a toolset. */
async function offeredTo(agent: string, { live, failed }: Source): Promise<ReadonlyMap<string, Offered>> {
  const { tools, toolsets } = live();
  const single = [...tools.values()].map(async (owned) => ((await isFor(owned, agent, failed)) ? [owned] : []));
  const sets = [...toolsets.values()].map((owned) => toolsIn(owned, agent, failed));
  const offered = new Map<string, Offered>();
  for (const owned of (await Promise.all([...single, ...sets])).flat()) if (!offered.has(owned.thing.name)) offered.set(owned.thing.name, owned);
  return offered;
}

async function find(name: string, agent: string, { live, failed }: Source): Promise<Offered | undefined> {
  const { tools, toolsets } = live();
  const single = tools.get(name);
  if (single !== undefined && (await isFor(single, agent, failed))) return single;
  for (const set of toolsets.values()) {
    const owned = (await toolsIn(set, agent, failed)).find(({ thing }) => thing.name === name);
    if (owned !== undefined) return owned;
  }
  return undefined;
}

/** A tool whose `for` fails is withheld from the agent. */
async function isFor({ thing: tool, scope }: Offered, agent: string, failed: Source["failed"]): Promise<boolean> {
  if (tool.for === undefined) return true;
  const what = `tool ${tool.name} for`;
  try {
    return (await call({ scope, what, limitMs: OFFER_MS, run: () => tool.for?.(agent) ?? false }, [])) === true;
  } catch (error) {
    failed(scope, what, error);
    return false;
  }
}

/**
 * The tools of a set, without those that the kernel cannot use: these are one failure of the plugin, however many they are. A set whose listing fails
 * counts as empty.
 */
async function toolsIn({ thing: set, scope }: Owned<AgentToolSet>, agent: string, failed: Source["failed"]): Promise<readonly Offered[]> {
  const what = `tools of ${set.name}`;
  const unusable = (kind: string, reason: string) => fail("SVC_PLUGIN_PROVIDES", { plugin: scope.id, kind, reason });
  try {
    const tools: readonly AgentTool[] = await call({ scope, what, limitMs: OFFER_MS, run: () => set.tools(agent) }, []);
    if (!Array.isArray(tools)) throw unusable(nameThing("toolset", set), "its tools are not a list");
    const usable = tools.filter((tool) => whyUnusable("tool", tool) === undefined);
    if (usable.length < tools.length) {
      const first = tools.find((tool) => whyUnusable("tool", tool) !== undefined);
      const reason = `${whyUnusable("tool", first)} (${tools.length - usable.length} of the ${tools.length} tools of '${set.name}' are left out)`;
      failed(scope, what, unusable(nameThing("tool", first), reason));
    }
    return usable.map((thing) => ({ thing, scope }));
  } catch (error) {
    failed(scope, what, error);
    return [];
  }
}
