import type { AgentTool, ToolCall } from "@svc/sdk";
import { fail } from "../base/errors.ts";
import type { KernelTools, ToolDeps } from "../core/flow/actions-port.ts";
import { call } from "../core/host/call.ts";
import type { Live } from "../core/host/live.ts";
import type { Owned } from "../core/host/scope.ts";
import { callerOf } from "./tool-caller.ts";

/** Default timeout of a tool call, in milliseconds, where the agent's program sets none. */
const TOOL_MS = 60_000;
/** Timeout of a tool's `for`, and of listing the tools of a set, in milliseconds. */
const OFFER_MS = 2_000;

type Offered = Owned<AgentTool>;

/** The tools of all running plugins: listed and run for agents, whose tasks are known by the kernel's own tables. */
export function createTools(deps: ToolDeps): KernelTools {
  return {
    list: async (agent) => [...(await offeredTo(agent, deps.live())).values()].map(({ thing }) => thing),
    async run(name, input, { taskId, ...asked }) {
      const caller: ToolCall = { ...asked, ...(await callerOf(deps, asked.agent, taskId)) };
      const owned = await find(name, caller.agent, deps.live());
      if (owned === undefined) throw fail("SVC_TOOL_UNKNOWN", { tool: name });
      const { limitMs = TOOL_MS } = asked;
      const run = () => call({ scope: owned.scope, what: `tool ${name}`, limitMs, run: () => owned.thing.run(input, caller) }, [], caller.signal);
      return caller.rootId === undefined ? run() : deps.bus.within({ rootId: caller.rootId }, run);
    },
    caller: (claimed) => callerOf(deps, undefined, claimed),
  };
}

/** Tools offered to the agent, by name and without duplicates: a single tool takes precedence over one of a toolset. */
async function offeredTo(agent: string, live: Live): Promise<ReadonlyMap<string, Offered>> {
  const single = [...live.tools.values()].map(async (owned) => ((await isFor(owned, agent)) ? [owned] : []));
  const sets = [...live.toolsets.values()].map((owned) => toolsIn(owned, agent));
  const offered = new Map<string, Offered>();
  for (const owned of (await Promise.all([...single, ...sets])).flat()) if (!offered.has(owned.thing.name)) offered.set(owned.thing.name, owned);
  return offered;
}

async function find(name: string, agent: string, live: Live): Promise<Offered | undefined> {
  const single = live.tools.get(name);
  if (single !== undefined && (await isFor(single, agent))) return single;
  for (const set of live.toolsets.values()) {
    const owned = (await toolsIn(set, agent)).find(({ thing }) => thing.name === name);
    if (owned !== undefined) return owned;
  }
  return undefined;
}

/** A tool whose `for` fails is withheld from the agent. */
async function isFor({ thing: tool, scope }: Offered, agent: string): Promise<boolean> {
  if (tool.for === undefined) return true;
  try {
    return (await call({ scope, what: `tool ${tool.name} for`, limitMs: OFFER_MS, run: () => tool.for?.(agent) ?? false }, [])) === true;
  } catch {
    return false;
  }
}

/** A set whose listing fails counts as empty. */
async function toolsIn({ thing: set, scope }: Owned<{ readonly name: string; tools(agent: string): unknown }>, agent: string): Promise<readonly Offered[]> {
  try {
    const tools = await call({ scope, what: `tools of ${set.name}`, limitMs: OFFER_MS, run: () => set.tools(agent) }, []);
    return Array.isArray(tools) ? (tools as readonly AgentTool[]).map((thing) => ({ thing, scope })) : [];
  } catch {
    return [];
  }
}
