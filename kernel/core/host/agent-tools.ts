import type { AgentTool } from "@svc/sdk";
import { fail } from "../../base/errors.ts";
import { call } from "./call.ts";
import type { Live } from "./live.ts";

/** How long an agent waits for a tool, in milliseconds. */
const TOOL_MS = 60_000;

/** The tools that running plugins offer to agents. */
export const toolsOf = (live: Live): readonly AgentTool[] => [...live.tools.values()].map(({ thing }) => thing);

/** Runs a tool for an agent. Throws `SVC_TOOL_UNKNOWN`, `SVC_PLUGIN_TIMEOUT`, and what the tool throws. */
export async function runToolOf(live: Live, name: string, input: Record<string, unknown>, caller: Parameters<AgentTool["run"]>[1]): Promise<string> {
  const owned = live.tools.get(name);
  if (owned === undefined) throw fail("SVC_TOOL_UNKNOWN", { tool: name });
  return call({ scope: owned.scope, what: `tool ${name}`, limitMs: TOOL_MS, run: () => owned.thing.run(input, caller) }, [], caller.signal);
}
