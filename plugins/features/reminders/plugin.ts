import { definePlugin, type Plugin, type PluginContext } from "@svc/sdk";
import type { Polls } from "./polls.ts";
import { REMINDERS, type ReminderSettings } from "./settings.ts";

/** A daemon that is restarted every night sweeps, too. */
const SWEEP_MS = 3_600_000;

/** Items of the reminders app that start agents. `platform` is that of the machine unless it says another. */
export const reminders = ({ platform = process.platform }: { readonly platform?: string } = {}): Plugin<ReminderSettings> =>
  definePlugin<ReminderSettings>({
    kind: "feature",
    name: "reminders",
    version: "0.1.0",
    svc: "^0.1.0",
    config: { at: "reminders", schema: REMINDERS },
    capabilities: ["agents", "all-settings", "events", "jobs", "services", "settings", "spawn", "store", "tasks"],
    setup(ctx) {
      return {
        async start() {
          if (platform !== "darwin") {
            // No error: one svc.json serves several machines (OPS-05).
            ctx.log.info({ platform }, "reminders are ignored here: the app is on macOS alone");
            return;
          }
          let polls: Polls | undefined;
          const open = async () => {
            polls ??= new (await import("./polls.js")).Polls({ ctx, settings: ctx.config, cwd: "/", defaultAgent: () => defaultAgent(ctx) });
            return polls;
          };
          const look = async () => (await open()).look();
          ctx.jobs.every(ctx.config.pollSeconds * 1_000, look);
          ctx.jobs.every(SWEEP_MS, async () => (await open()).sweep());
          // Behind the start, which waits for no program.
          ctx.jobs.after(0, () => void look());
        },
      };
    },
  });

/** The daemon's default agent, or the only one that there is. */
async function defaultAgent({ agents, settings }: Pick<PluginContext, "agents" | "settings">): Promise<string | undefined> {
  // A daemon that is embedded may have no file to read.
  const { document } = await settings.read().catch(() => ({ document: {} as Readonly<Record<string, unknown>> }));
  const { defaultAgent: named } = (document["node"] ?? {}) as { readonly defaultAgent?: unknown };
  const [first, ...others] = agents.list();
  return typeof named === "string" ? named : others.length === 0 ? first?.id : undefined;
}
