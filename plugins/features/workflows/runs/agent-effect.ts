import { codeOf, type Message, type PluginContext, reasonOf, type TaskResult } from "@svc/sdk";
import { CANCELED, type EffectCall, type EffectEnd, type EffectRunner } from "./effects.ts";

/** The channel and the entry under which the turns of steps stand in traces and history; nothing is sent on it. */
export const CHANNEL = "workflow";
/** The name of the fact that says on which other node the agent of a message lives. */
export const NODE = "node";

/** The kernel keeps the key of an accepted message for a week: an older one must not be repeated, it would start anew. */
const KNOWN_MS = 6 * 86_400_000;

/** Steps of the kind `agent`: a turn under the key of the step, which is found again after a stop. */
export const agentEffect =
  (ctx: Pick<PluginContext, "tasks" | "log">, defaultAgent: () => Promise<string | undefined>): EffectRunner =>
  async (call) => {
    const { step, again, signal } = call;
    if (again && Date.now() - (step.claimedAt ?? 0) > KNOWN_MS) return interrupted("its turn is too old to be asked for");
    let taskId: string;
    try {
      ({ taskId } = await ctx.tasks.accept(messageOf(call, (call.given["agent"] as string | undefined) ?? call.ownerAgent ?? (await defaultAgent()))));
    } catch (error) {
      return codeOf(error) === "SVC_DAEMON_DRAINING" ? undefined : { fault: { code: "ERROR", message: reasonOf(error) } };
    }
    const cancel = () => {
      if (signal.reason === CANCELED)
        void ctx.tasks.cancel(taskId, "its workflow does not want it any more").catch((error) => ctx.log.debug({ err: error }, "a turn was not canceled"));
    };
    signal.addEventListener("abort", cancel);
    try {
      if (signal.aborted) cancel();
      return endOf(await ctx.tasks.result(taskId, signal), call);
    } catch (error) {
      if (signal.aborted || codeOf(error) === "SVC_DAEMON_DRAINING") return undefined;
      return codeOf(error) === "SVC_TASK_UNKNOWN"
        ? interrupted("nothing is known of its turn any more")
        : { fault: { code: "ERROR", message: reasonOf(error) } };
    } finally {
      signal.removeEventListener("abort", cancel);
    }
  };

function messageOf({ runId, row, step, node, given, key }: EffectCall, named: string | undefined): Message {
  if (node.kind !== "agent") throw new Error(`${node.id} runs no agent`);
  const [agent, ...peer] = named?.split("@") ?? [];
  const { freshSession = true, timeoutMinutes } = node;
  const strategy = given["contextStrategy"] as string | undefined;
  return {
    entry: CHANNEL,
    channel: CHANNEL,
    // Without a fresh session all steps of the run with this agent are one conversation.
    chat: freshSession ? key : runId,
    text: String(given["message"]),
    // A further attempt is a turn of its own.
    dedupKey: `wf:${key}${step.attempt > 1 ? `#${step.attempt}` : ""}`,
    runId,
    facts: { workflow: row.workflow, step: step.id, ...(peer.length === 0 ? {} : { [NODE]: peer.join("@") }) },
    ...(agent === undefined ? {} : { agent }),
    options: {
      freshSession,
      ...(timeoutMinutes === undefined ? {} : { timeoutMinutes }),
      ...(strategy === undefined ? {} : { contextStrategy: strategy }),
      ...(node.outputSchema === undefined ? {} : { output: node.outputSchema }),
    },
  };
}

const interrupted = (why: string): EffectEnd => ({ fault: { code: "INTERRUPTED", message: `the turn was interrupted: ${why}` } });

/** Codes of faults by the kernel's own kinds of errors. */
const CODES: Readonly<Record<string, string>> = { timeout: "TIMEOUT", cancelled: "CANCELED", output: "OUTPUT", held: "HELD" };

function endOf({ ok, taskId, sessionId, reply, output, error, errorKind, status }: TaskResult, { node }: EffectCall): EffectEnd {
  if (errorKind === "interrupted") return interrupted(error ?? "the daemon was stopped");
  if (!ok) {
    const code = status === "timeout" ? "TIMEOUT" : (CODES[errorKind ?? ""] ?? "ERROR");
    return { fault: { code, message: error ?? "the turn failed without a reason", details: { taskId } } };
  }
  const value = node.kind === "agent" && node.outputSchema !== undefined ? { value: output ?? null } : {};
  return { output: { reply, ...value, taskId, ...(sessionId === undefined ? {} : { sessionId }) } };
}
