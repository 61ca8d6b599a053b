import type { ToolCall } from "@svc/sdk";
import type { Caller, ToolDeps } from "../core/flow/actions-port.ts";
import type { TaskRecord } from "../core/flow/record.ts";

/**
 * Returns the verified facts of a call that claims the task `claimed`: the running one of `agent`, or of any agent if `agent` is undefined. A process
 * that an engine keeps between the turns of a conversation names the task it was started for: once that has ended, the call is part of the one that
 * runs there now. A call in the name of another agent is no part of that task, but on its chain. Claims of a local program count only as far as these
 * tables confirm them; a call without a known task may do no more than the most restricted run of its agent.
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

/** A call in another agent's name stays on the task's chain: no agent leaves it by impersonating another one. */
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
