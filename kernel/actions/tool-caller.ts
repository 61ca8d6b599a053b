import type { ToolCall } from "@svc/sdk";
import type { Caller, ToolDeps } from "../core/flow/actions-port.ts";
import type { TaskRecord } from "../core/flow/record.ts";

/**
 * What is known of a call that names the task `claimed`: the running one of `agent`, or of any agent where none is given. A process that an
 * engine keeps between the turns of a conversation names the task it was started for: once that is over, the call is part of the one that runs
 * there now. What a local program says of itself counts only as far as these tables agree; a call that they know no task of may do no more
 * than the most restricted run of its agent.
 */
export async function callerOf(
  { tasks, records }: Pick<ToolDeps, "tasks" | "records">,
  agent: string | undefined,
  claimed: string | undefined,
): Promise<Caller> {
  const running = tasks.running();
  const named = claimed === undefined ? undefined : (tasks.record(claimed) ?? (await records.get(claimed))?.value);
  if (claimed !== undefined && named !== undefined && named.conversation !== "" && named.agent === (agent ?? named.agent)) {
    const own = tasks.leading(claimed)?.record.id;
    const there = running.filter((task) => task.agent === named.agent && task.conversation === named.conversation);
    const record = tasks.record((there.find(({ id }) => id === own) ?? there[0])?.id ?? "");
    if (record !== undefined) return factsOf(record);
  }
  const autonomies = running.filter((task) => task.agent === agent).map(({ id }) => tasks.record(id)?.inbound.options?.autonomy);
  const autonomy = (["report", "propose"] as const).find((one) => autonomies.includes(one));
  return autonomy === undefined ? {} : { autonomy };
}

function factsOf({ id, agent, inbound: { rootId, options = {} } }: TaskRecord): Caller {
  const { chain, topic, autonomy } = options;
  return {
    agent,
    taskId: id,
    rootId,
    ...(chain === undefined ? {} : { chain }),
    ...(topic === undefined ? {} : { topic }),
    ...(autonomy === undefined ? {} : { autonomy }),
  } satisfies Partial<ToolCall>;
}
