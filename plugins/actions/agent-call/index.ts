import { codeOf, definePlugin, type Message, optionsOfCall, svcError, type TaskResult } from "@svc/sdk";

/** An agent may run for 240 minutes by its own limit; this one is only there so that a call ends. */
const TIMEOUT_MS = 245 * 60_000;

/**
 * `agent.call` (000:L93): ask an agent of this daemon and wait for its answer. A fresh session and a conversation of its own unless
 * `freshSession` is false: then calls from one asker share a conversation. A run that failed is an error.
 */
export default definePlugin({
  kind: "action",
  name: "agent-call",
  version: "0.1.0",
  svc: "^0.1.0",
  capabilities: ["agents", "tasks"],
  setup(ctx) {
    /** Called again after a restart it is the task that was begun before it. */
    async function resultOf(message: Message, signal: AbortSignal): Promise<TaskResult> {
      try {
        return await ctx.tasks.run(message, undefined, signal);
      } catch (error) {
        const { task } = error as { task?: string };
        if (codeOf(error) !== "SVC_TASK_DUPLICATE" || task === undefined) throw error;
        return ctx.tasks.result(task, signal);
      }
    }

    ctx.provide.action({
      name: "agent.call",
      description: "Ask another agent of this machine and wait for its answer.",
      input: {
        type: "object",
        properties: {
          agentId: { type: "string", description: "The agent to ask.", minLength: 1 },
          message: { type: "string", description: "What to ask.", minLength: 1 },
          freshSession: { type: "boolean", description: "Start a new session instead of going on with the last one.", default: true },
        },
        required: ["agentId", "message"],
        additionalProperties: false,
      },
      output: {
        type: "object",
        properties: {
          agentId: { type: "string" },
          taskId: { type: "string", description: "The task, also the id of its trace." },
          reply: { type: "string" },
          durationMs: { type: "number" },
          model: { type: "string" },
        },
        required: ["agentId", "taskId", "reply", "durationMs"],
        additionalProperties: false,
      },
      timeoutMs: TIMEOUT_MS,
      repeatable: true,
      async run(input, call) {
        const { signal, door, agent, key } = call;
        const { agentId, message, freshSession = true } = input as { agentId: string; message: string; freshSession?: boolean };
        if (!ctx.agents.get(agentId))
          throw svcError("SVC_AGENT_UNKNOWN", `There is no agent '${agentId}'; see svc agent list.`, { status: 404, field: "agentId" });
        signal.throwIfAborted();
        const asker = agent ?? door;
        const result = await resultOf(
          {
            entry: "agent-call",
            channel: "agent-call",
            // A conversation of its own, so that two calls at a time need not wait for each other.
            chat: freshSession ? `${asker}-${crypto.randomUUID()}` : asker,
            agent: agentId,
            text: message,
            ...(key === undefined ? {} : { dedupKey: `agent-call:${key}` }),
            // Pass the caller's restrictions on: a restricted run must not have another agent act for it.
            options: { freshSession, ...optionsOfCall(call) },
          },
          signal,
        );
        signal.throwIfAborted();
        if (!result.ok) {
          const why = result.error ?? result.errorKind ?? result.status;
          throw svcError("SVC_ACTION_AGENT_FAILED", `Agent ${agentId} did not answer: ${why}. See svc trace show ${result.taskId}.`, {
            status: 502,
            taskId: result.taskId,
          });
        }
        const { taskId, reply, durationMs, model } = result;
        return { agentId, taskId, reply, durationMs, ...(model === undefined ? {} : { model }) };
      },
    });
  },
});
