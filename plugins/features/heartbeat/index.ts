import { definePlugin, type ObjectSchema } from "@svc/sdk";

interface Heartbeat {
  readonly enabled?: boolean;
  readonly intervalMinutes?: number;
  readonly prompt?: string;
  readonly channel?: string;
}

/** `agents.<id>.heartbeat` (001:L65-68). */
const AGENT: ObjectSchema = {
  type: "object",
  properties: {
    heartbeat: {
      type: "object",
      description: "periodic check-in inside the session",
      default: {},
      properties: {
        enabled: { type: "boolean", description: "switch", default: false },
        intervalMinutes: { type: "number", minimum: 1, default: 30, description: "minutes between check-ins" },
        prompt: {
          type: "string",
          minLength: 1,
          description: "check-in prompt",
          default: "Check in: look at your inbox, your pending tasks and the health of the system. Say what needs attention, or that nothing does.",
        },
        channel: { type: "string", minLength: 1, description: "virtual channel tag", default: "heartbeat" },
      },
    },
  },
};

const MINUTE_MS = 60_000;

export default definePlugin({
  kind: "feature",
  name: "heartbeat",
  version: "0.1.0",
  svc: "^0.1.0",
  agentConfig: AGENT,
  capabilities: ["agents", "events", "tasks", "jobs"],
  setup(ctx) {
    /** When each agent was last asked, or first seen with its heartbeat on: by a monotonic clock. */
    const last = new Map<string, number>();

    async function beat(): Promise<void> {
      for (const agent of ctx.agents.list()) {
        const { enabled = false, intervalMinutes = 30, prompt = "", channel = "heartbeat" } = (agent.settings.heartbeat ?? {}) as Heartbeat;
        if (!enabled) {
          last.delete(agent.id);
          continue;
        }
        const before = last.get(agent.id);
        // A little early rather than a whole look too late.
        if (before !== undefined && performance.now() - before < intervalMinutes * MINUTE_MS - MINUTE_MS / 2) continue;
        last.set(agent.id, performance.now());
        if (before === undefined || ctx.tasks.running().some((task) => task.agent === agent.id && task.node === undefined)) continue;
        await ctx.events.root(() =>
          ctx.tasks.accept({ entry: "heartbeat", channel, chat: agent.id, agent: agent.id, text: prompt, options: { scheduled: true } }),
        );
      }
    }

    return {
      async start() {
        await beat();
        ctx.jobs.every(MINUTE_MS, beat);
      },
    };
  },
});
