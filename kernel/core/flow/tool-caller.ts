import type { Collection, ToolCall } from "@svc/sdk";
import type { LiveTasks } from "./live-tasks.ts";
import type { TaskRecord } from "./record.ts";

/**
 * The running task of `agent` that a call from task `claimed` is part of. A process that an engine keeps between the turns of a conversation
 * names the task it was started for: once that is over, the call is part of the one that runs there now. Undefined for all else, such as a
 * task of another agent: what a local program says of itself counts only as far as these tables agree.
 */
export async function taskOfCaller(
  tasks: Pick<LiveTasks, "leading" | "record" | "running">,
  records: Pick<Collection<TaskRecord>, "get">,
  agent: string,
  claimed: string,
): Promise<Pick<ToolCall, "taskId" | "chain"> | undefined> {
  const named = tasks.record(claimed) ?? (await records.get(claimed))?.value;
  if (named?.agent !== agent || named.conversation === "") return undefined;
  const own = tasks.leading(claimed)?.record.id;
  const there = tasks.running().filter((task) => task.agent === agent && task.conversation === named.conversation);
  const running = there.find(({ id }) => id === own) ?? there[0];
  const record = running === undefined ? undefined : tasks.record(running.id);
  if (record === undefined) return undefined;
  const chain = record.inbound.options?.chain;
  return { taskId: record.id, ...(chain === undefined ? {} : { chain }) };
}
