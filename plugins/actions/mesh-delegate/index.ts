import { definePlugin, svcError } from "@svc/sdk";

const UNUSABLE = "this version of svc takes work from other daemons and hands none to them, whatever the section mesh says";

/** `mesh.delegate` (000:L94): hand work to an agent on another machine. Every call fails with `SVC_MESH_DISABLED` as yet, and no agent is offered it. */
export default definePlugin({
  kind: "action",
  name: "mesh-delegate",
  version: "0.1.0",
  svc: "^0.1.0",
  capabilities: [],
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
      unusable: UNUSABLE,
      async run(input) {
        throw svcError(
          "SVC_MESH_DISABLED",
          `mesh.delegate cannot reach the peer '${String(input["peer"])}': ${UNUSABLE}. Ask an agent of this daemon with agent.call.`,
          {
            status: 503,
            field: "peer",
          },
        );
      },
    });
  },
});
