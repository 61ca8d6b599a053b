import type { AgentTool, AgentTools, ToolCall } from "@svc/sdk";
import { fail } from "../../base/errors.ts";
import { call } from "./call.ts";
import type { Live } from "./live.ts";
import type { Owned } from "./scope.ts";

/** How long an agent waits for a tool, in milliseconds. */
const TOOL_MS = 60_000;
/** How long a tool may think about whether an agent has it, in milliseconds. */
const OFFER_MS = 2_000;

/** The tools that running plugins offer to an agent. */
export async function toolsOf(live: Live, agent: string): Promise<readonly AgentTool[]> {
  const offered = await Promise.all([...live.tools.values()].map(async (owned) => ((await isFor(owned, agent)) ? [owned.thing] : [])));
  return offered.flat();
}

/** Runs a tool for an agent. Throws `SVC_TOOL_UNKNOWN`, `SVC_PLUGIN_TIMEOUT`, and what the tool throws. */
export async function runToolOf(live: Live, name: string, input: Record<string, unknown>, caller: ToolCall): Promise<string> {
  const owned = live.tools.get(name);
  if (owned === undefined || !(await isFor(owned, caller.agent))) throw fail("SVC_TOOL_UNKNOWN", { tool: name });
  return call({ scope: owned.scope, what: `tool ${name}`, limitMs: TOOL_MS, run: () => owned.thing.run(input, caller) }, [], caller.signal);
}

/** The tools of all running plugins, as a capability. */
export const agentTools = (live: () => Live): AgentTools => ({
  list: (agent) => toolsOf(live(), agent),
  run: (name, input, { agent, signal }) => runToolOf(live(), name, input, { agent, signal }),
});

/** A tool that cannot say whether an agent has it is withheld from it. */
async function isFor({ thing: tool, scope }: Owned<AgentTool>, agent: string): Promise<boolean> {
  if (tool.for === undefined) return true;
  try {
    return (await call({ scope, what: `tool ${tool.name} for`, limitMs: OFFER_MS, run: () => tool.for?.(agent) ?? false }, [])) === true;
  } catch {
    return false;
  }
}
