import { answerToOf, definePlugin, optionsOfCall, svcError } from "@svc/sdk";

/** A person waits in the conversation, and is not kept waiting for another machine (MESH-07). */
const LATER = "It has been asked. Its answer will come to you as a new message in this conversation: do not wait for it, and end your turn.";
const OFF = "the section mesh of svc.json is missing or off";

/** `mesh.delegate` (000:L94): hand work to an agent on another machine. The task is stored here and run there once; without the mesh it fails with `SVC_MESH_DISABLED`. */
export default definePlugin({
  kind: "action",
  name: "mesh-delegate",
  version: "0.1.0",
  svc: "^0.1.0",
  capabilities: ["services", "traces"],
  setup(ctx) {
    ctx.provide.action({
      name: "mesh.delegate",
      description: "Ask an agent on another machine of the mesh and wait for its answer.",
      input: {
        type: "object",
        properties: {
          peer: { type: "string", description: "The peer's name, as in mesh.peers.", minLength: 1 },
          agent: { type: "string", description: "The agent there.", minLength: 1 },
          message: { type: "string", description: "What to ask.", minLength: 1 },
          freshSession: { type: "boolean", description: "Start a new session instead of going on with the last one.", default: true },
        },
        required: ["peer", "agent", "message"],
        additionalProperties: false,
      },
      output: {
        type: "object",
        properties: {
          peer: { type: "string" },
          agent: { type: "string" },
          taskId: { type: "string" },
          reply: { type: "string" },
          durationMs: { type: "number" },
        },
        required: ["peer", "agent", "taskId", "reply", "durationMs"],
        additionalProperties: false,
      },
      timeoutMs: 245 * 60_000,
      repeatable: true,
      // As the mesh is now: it may be turned on and off while the daemon runs.
      get unusable() {
        return ctx.services.get("peers") === undefined ? OFF : undefined;
      },
      async run(input, call) {
        const { door, key, signal, taskId: callerTask } = call;
        const { peer, agent, message, freshSession = true } = input as { peer: string; agent: string; message: string; freshSession?: boolean };
        const peers = ctx.services.get("peers");
        if (peers === undefined) throw svcError("SVC_MESH_DISABLED", `mesh.delegate cannot reach the peer '${peer}': ${OFF}.`, { status: 503 });
        signal.throwIfAborted();
        const task = {
          agent,
          message,
          ...(key === undefined ? {} : { key }),
          options: { freshSession, ...optionsOfCall(call) },
        };
        const waiting = door === "agent" && callerTask !== undefined ? await ctx.traces.get(callerTask) : undefined;
        if (waiting?.entry === "channel") {
          const { callerTask: _nobodyWaits, ...options } = task.options;
          const { taskId } = await peers.send(peer, { ...task, options }, answerToOf(waiting));
          return { peer, agent, taskId, reply: LATER, durationMs: 0 };
        }
        const result = await peers.run(peer, { ...task, signal });
        signal.throwIfAborted();
        const { ok, taskId, reply, durationMs } = result;
        if (!ok) {
          const why = result.error ?? result.errorKind ?? result.status;
          throw svcError("SVC_ACTION_AGENT_FAILED", `Agent ${agent} on ${peer} did not answer: ${why}. See svc trace show ${taskId}.`, { status: 502, taskId });
        }
        return { peer, agent, taskId, reply, durationMs };
      },
    });
  },
});
