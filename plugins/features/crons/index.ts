import { definePlugin } from "@svc/sdk";
import { createApprovalLink } from "./approval-link.ts";
import { addRoutes } from "./routes.ts";
import { Runner } from "./runner.ts";
import { RunBook } from "./runs.ts";
import { CRONS, type CronsSettings, checkCrons } from "./settings.ts";
import { Timetable } from "./timetable.ts";
import { scheduleTools } from "./tools.ts";

const RENEW_MS = 60_000;
/** A daemon that is restarted every night sweeps, too. */
const SWEEP_MS = 3_600_000;

/** Scheduled jobs (001:L144-164): prompts for agents, and commands. */
export default definePlugin<CronsSettings>({
  kind: "feature",
  name: "crons",
  version: "0.1.0",
  svc: "^0.1.0",
  config: { at: "crons", schema: CRONS, check: checkCrons },
  capabilities: ["agents", "events", "files", "jobs", "routes", "services", "settings", "spawn", "store", "tasks", "traces"],
  answers: () => import("./answers.js"),
  setup(ctx) {
    let jobs = ctx.config;
    const jobsNow = () => jobs;
    const book = new RunBook(ctx.store, ctx.node.id);
    const runner = new Runner(ctx, book, jobsNow);
    const timetable = new Timetable(ctx, runner);
    const approvals = createApprovalLink(ctx, jobsNow);
    addRoutes(ctx, { book, runner, jobs: jobsNow });
    for (const tool of scheduleTools(ctx, { book, jobs: jobsNow })) ctx.provide.tool(tool);
    const sweep = () => book.sweep(new Set(Object.keys(jobs)));

    return {
      async start() {
        for (const [id, job] of Object.entries(jobs)) if (job.enabled && (await book.streak(id)).turnedOff !== undefined) await book.turnedOn(id);
        await runner.recover();
        timetable.follow(jobs);
        await approvals.ask();
        ctx.jobs.every(RENEW_MS, async () => {
          await runner.renew();
          // The plugin that asks people may have been started anew.
          await approvals.ask();
        });
        ctx.jobs.every(SWEEP_MS, sweep);
      },
      // In place: a job that runs is not disturbed by a change of another one.
      async reload(next) {
        const before = jobs;
        jobs = next;
        for (const [id, job] of Object.entries(next)) if (job.enabled && before[id]?.enabled === false) await book.turnedOn(id);
        timetable.follow(next);
        await approvals.ask();
      },
      stop: () => runner.stop(),
    };
  },
});
