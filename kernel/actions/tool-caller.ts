import type { ToolCall } from "@svc/sdk";
import type { Caller, ToolDeps } from "../core/flow/actions-port.ts";
import type { TaskRecord } from "../core/flow/record.ts";

/**
 * What is known of a call that names the task `claimed`: the running one of `agent`, or of any agent where none is given. A process that an
 * engine keeps between the turns of a conversation names the task it was started for: once that is over, the call is part of the one that runs
 * there now. A call in the name of another agent is no part of that task, and on its chain. What a local program says of itself counts only as far as these tables agree; a call that they know no task of may do no more
 * than the most restricted run of its agent.
 */
export async function callerOf(
  { tasks, records }: Pick<ToolDeps, "tasks" | "records">,
  agent: string | undefined,
  claimed: string | undefined,
): Promise<Caller> {
  const running = tasks.running();
  const named = claimed === undefined ? undefined : (tasks.record(claimed) ?? (await records.get(claimed))?.value);
  if (claimed !== undefined && named !== undefined && named.conversation !== "") {
    const own = tasks.leading(claimed)?.record.id;
    const there = running.filter((task) => task.agent === named.agent && task.conversation === named.conversation);
    const record = tasks.record((there.find(({ id }) => id === own) ?? there[0])?.id ?? "");
    if (record !== undefined && named.agent === (agent ?? named.agent)) return factsOf(record);
    if (record !== undefined) return { ...onChainOf(record), ...strictest([record.inbound.options?.autonomy, ...autonomiesOf(agent)]) };
  }
  return strictest(autonomiesOf(agent));

  function autonomiesOf(one: string | undefined): readonly (string | undefined)[] {
    return running.filter((task) => task.agent === one).map(({ id }) => tasks.record(id)?.inbound.options?.autonomy);
  }
}

function strictest(autonomies: readonly (string | undefined)[]): Pick<Caller, "autonomy"> {
  const autonomy = (["report", "propose"] as const).find((one) => autonomies.includes(one));
  return autonomy === undefined ? {} : { autonomy };
}

/** In another agent's name: what follows stands on the task's chain, and nobody leaves it by speaking for somebody else. */
function onChainOf({ agent, inbound: { rootId, options: { chain = [], topic } = {} } }: TaskRecord): Caller {
  return { rootId, chain: [...chain.filter((one) => one !== agent), agent], ...(topic === undefined ? {} : { topic }) };
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
