import { coversName } from "../names.ts";
import type { PluginContext } from "../plugin.ts";
import type { Turn } from "../tier.ts";
import type { Tool } from "./loop-tool.ts";

/** The longest delay of a timer: the turn has a limit of its own, and an engine in the daemon waits for its tools. */
const PATIENT_MS = 2 ** 31 - 1;
/** Tool that fetches the result of a call that outlasted its request. */
const LATER = "svc_task_result";

/** The tools that the agent of a turn may use by its configuration (`agents.<id>.actions`): actions, and other tools whose names it lists. */
export async function daemonTools({ services, tools }: Pick<PluginContext, "services" | "tools">, { agent, id }: Turn): Promise<Tool[]> {
  const patterns = services.get("callables")?.patterns(agent) ?? [];
  if (patterns.length === 0) return [];
  const listed = (await tools.list(agent.id)).filter(({ name, action }) => name !== LATER && (action !== undefined || coversName(patterns, name)));
  return listed.map(({ name, action = name, description, input }) => ({
    name: action,
    description,
    input,
    run: (given, signal, step) => tools.run(name, given, { agent: agent.id, taskId: id, step, limitMs: PATIENT_MS, signal }),
  }));
}
