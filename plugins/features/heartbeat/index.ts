import { type Agent, type Collection, codeOf, definePlugin, type ObjectSchema } from "@svc/sdk";

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

/** When an agent was last asked, or first seen with its heartbeat on, in Unix milliseconds. */
interface BeatRow {
  readonly at: number;
}

const MINUTE_MS = 60_000;

/**
 * Whether an agent is to be asked now; says in its row that it is, before it is. Of several daemons at the same store one asks, and a restart
 * neither asks once more nor begins to wait anew.
 */
async function isDue({ id, settings }: Agent, rows: Collection<BeatRow>): Promise<boolean> {
  const { enabled = false, intervalMinutes = 30 } = (settings.heartbeat ?? {}) as Heartbeat;
  const before = await rows.get(id);
  if (!enabled) {
    if (before !== undefined) await rows.delete(id);
    return false;
  }
  const now = Date.now();
  // A clock that was set back does not silence an agent until it has come as far again.
  const since = before === undefined || before.value.at > now ? undefined : now - before.value.at;
  // A little early rather than a whole look too late.
  if (since !== undefined && since < intervalMinutes * MINUTE_MS - MINUTE_MS / 2) return false;
  try {
    await rows.put(id, { at: now }, before?.version ?? "absent");
  } catch (error) {
    if (codeOf(error) !== "SVC_STORE_CONFLICT") throw error;
    return false;
  }
  return since !== undefined;
}

export default definePlugin({
  kind: "feature",
  name: "heartbeat",
  version: "0.1.0",
  svc: "^0.1.0",
  agentConfig: AGENT,
  capabilities: ["agents", "events", "tasks", "jobs", "store"],
  setup(ctx) {
    async function beat(): Promise<void> {
      const rows = ctx.store.collection<BeatRow>("beats");
      for (const agent of ctx.agents.list()) {
        if (agent.settings.heartbeat === undefined || !(await isDue(agent, rows))) continue;
        if (ctx.tasks.running().some((task) => task.agent === agent.id && task.node === undefined)) continue;
        const { prompt = "", channel = "heartbeat" } = agent.settings.heartbeat as Heartbeat;
        await ctx.events.root(() =>
          ctx.tasks.accept({ entry: "heartbeat", channel, chat: agent.id, agent: agent.id, text: prompt, options: { scheduled: true } }),
        );
      }
    }

    return {
      async start() {
        // Behind the start: what fell due while the daemon was away comes when it is ready.
        ctx.jobs.after(0, () => void beat().catch((error) => ctx.log.warn({ err: error }, "the agents' check-ins could not be looked at")));
        ctx.jobs.every(MINUTE_MS, beat);
      },
    };
  },
});
