import { definePlugin, type Envelope } from "@svc/sdk";
import type { Opened } from "./opened.ts";
import { provideProcedures } from "./procedure-routes.ts";
import { checkProcedures, PROCEDURES, type ProcedureSettings } from "./settings.ts";

/** Once a night, when few wait for an answer. */
const NIGHTLY = "17 3 * * *";
/** Tasks that end close together are one reason to look. */
const GATHER_MS = 5_000;
const LIMIT_MS = 3_000;

/** Procedures (001:L192): how work was done before, told to agents where it fits, and learned from runs that were alike. */
export default definePlugin<ProcedureSettings>({
  kind: "feature",
  name: "procedures",
  version: "0.1.0",
  svc: "^0.1.0",
  config: { at: "procedures", schema: PROCEDURES, check: checkProcedures },
  capabilities: ["agents", "data-folder", "events", "files", "jobs", "models", "routes", "store", "tasks", "traces"],
  answers: () => import("./answers.js"),
  setup(ctx) {
    let settings = ctx.config;
    let opened: Promise<Opened> | undefined;
    const open = () => {
      opened ??= import("./opened.js").then(({ openProcedures }) => openProcedures(ctx, () => settings));
      return opened;
    };
    ctx.hooks.assembleContext.tap(
      async (context, turn) =>
        // A turn that writes procedures is told none.
        !settings.injection.enabled || turn.messages[0].entry === "procedures" ? context : (await open()).withProcedures(context, turn),
      { phase: "layers", timeoutMs: LIMIT_MS },
    );
    provideProcedures(ctx, open);

    const look = async () => {
      if (!settings.extraction.enabled) return;
      try {
        await (await open()).extract();
      } catch (error) {
        if (!ctx.signal.aborted) ctx.log.warn({ err: error }, "the runs were not looked through for procedures; the next pass tries again");
      }
    };
    let planned = false;
    const soon = async ({ ref = "" }: Envelope) => {
      if (planned || !settings.extraction.enabled || !settings.extraction.onTaskCompletion) return;
      // The turn that writes a draft is no reason to look again: one that fails would be asked anew without end.
      const trace = await ctx.traces.get(ref).catch(() => undefined);
      if (planned || trace?.entry === "procedures") return;
      planned = true;
      ctx.jobs.after(GATHER_MS, () => {
        planned = false;
        void look();
      });
    };
    return {
      async start() {
        ctx.jobs.cron("extraction", NIGHTLY, undefined, look);
        ctx.events.subscribe((envelope) => void soon(envelope), "task:completed");
      },
      async reload(next) {
        settings = next;
      },
    };
  },
});
