import { type CliHost, codeOf, type StreamedEvent } from "@svc/sdk";
import type { Task } from "./task.ts";

interface Done {
  readonly ok?: boolean;
  readonly reply?: string;
  readonly error?: string;
  readonly errorKind?: string;
}

/**
 * Has the daemon run a caller's words and tells the task what happens, until it is over. Never throws. The run goes on when the caller is
 * gone; one that is canceled is canceled at the daemon. Of the agent's steps a caller learns their names and nothing else.
 */
export async function runTask(
  task: Task,
  text: string,
  { agent, cli }: { readonly agent: string; readonly cli: Pick<CliHost, "request" | "stream"> },
): Promise<void> {
  let daemonTask: string | undefined;
  let done: Done | undefined;
  let told = "";
  const cancel = () => {
    if (daemonTask !== undefined)
      void cli.request("POST", `/api/tasks/${encodeURIComponent(daemonTask)}/cancel`, { reason: "canceled by the A2A caller" }).catch(() => undefined);
  };
  task.signal.addEventListener("abort", cancel, { once: true });

  const hear = ({ event, data }: StreamedEvent): void => {
    const said = data as { taskId?: string; text?: string; step?: { name?: string; phase?: string } };
    if (event === "accepted") {
      daemonTask = said.taskId;
      if (task.signal.aborted) cancel();
    }
    if (event === "started") task.tell({ kind: "status", state: "working" });
    if (event === "step" && said.step?.phase === "start" && typeof said.step.name === "string")
      task.tell({ kind: "status", state: "working", words: said.step.name });
    if (event === "text" && typeof said.text === "string") {
      task.tell({ kind: "text", text: said.text, first: told === "", last: false });
      told += said.text;
    }
    if (event === "done") done = data as Done;
  };

  try {
    const body = { agent, message: text, context: { channel: "a2a", chatId: task.contextId } };
    await cli.stream("/task", hear, { method: "POST", body });
  } catch (error) {
    done ??= { ok: false, error: codeOf(error) === "SVC_CLI_NO_DAEMON" ? "The daemon behind this server does not run." : (error as Error).message };
  }
  if (task.signal.aborted || done?.errorKind === "cancelled") return task.tell({ kind: "status", state: "canceled", words: "canceled" });
  if (done?.ok !== true) return task.tell({ kind: "status", state: "failed", words: done?.error ?? "The daemon ended the stream without a result." });
  finish(task, told, done.reply ?? "");
}

/** The result is the answer that counts; what was told may have been the beginning of it, or of another one. */
function finish(task: Task, told: string, reply: string): void {
  if (!reply.startsWith(told)) task.replaceText(reply);
  else if (reply.length > told.length) task.tell({ kind: "text", text: reply.slice(told.length), first: told === "", last: false });
  if (reply !== "") task.tell({ kind: "text", text: "", first: false, last: true });
  task.history.push({ role: "agent", messageId: `${task.id}:answer`, text: reply });
  task.tell({ kind: "status", state: "completed" });
}
