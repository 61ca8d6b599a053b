import { svcError, type WorkflowStart } from "@svc/sdk";
import { expect, it } from "vitest";
import cron from "./cron-command.ts";
import schedule from "./schedule-command.ts";
import { type CronsSettings, checkCrons } from "./settings.ts";
import { startWorkflow } from "./workflow-job.ts";

const log = { warn: () => {} } as never;
const RUN = { job: "nightly", minute: "2026-05-01T03:00:00.000Z" };

/** Starts the job's workflow where starting it does this. */
async function start(does?: (id: string, how: WorkflowStart) => void) {
  const started: [string, WorkflowStart][] = [];
  const workflows = {
    async start(id: string, how: WorkflowStart) {
      started.push([id, how]);
      does?.(id, how);
      return { runId: "run_1", workflowId: id, status: "running", hash: "h" };
    },
  };
  const services = { get: () => workflows, list: () => [] } as never;
  return { outcome: await startWorkflow({ services, log }, "report", RUN, "k1"), started };
}

it("a job with a workflow starts it once for each time of its schedule", async () => {
  const { outcome, started } = await start();
  expect(started).toEqual([["report", { startKey: "nightly:2026-05-01T03:00:00.000Z", entry: { kind: "cron", ref: "nightly" } }]]);
  expect(outcome).toEqual({ status: "ok", output: "run_1 of the workflow report" });
});

it("a run before that is under way is no failure, a workflow that is broken or gone is", async () => {
  const busy = await start(() => {
    throw svcError("SVC_WORKFLOW_IN_FLIGHT", "The run run_0 is under way.", { status: 409 });
  });
  expect(busy.outcome).toEqual({ status: "ok", output: "The run run_0 is under way." });
  const broken = await start(() => {
    throw svcError("SVC_WORKFLOW_BROKEN", "It cannot be started.", { status: 422 });
  });
  expect(broken.outcome).toMatchObject({ status: "failed", error: "It cannot be started." });
  const off = await startWorkflow({ services: { get: () => undefined, list: () => [] } as never, log }, "report", RUN, "k1");
  expect(off).toMatchObject({ status: "failed", error: expect.stringContaining("section workflows") });
});

it("a job does one thing: a workflow beside a prompt or a command is refused", () => {
  const check = (more: object) =>
    checkCrons({ j: { enabled: true, schedule: "0 9 * * *", agent: "a", prompt: "", workflow: "report", ...more } } as unknown as CronsSettings, {
      agents: ["a"],
    });
  expect(check({})).toEqual([]);
  for (const more of [{ prompt: "hi" }, { command: "true" }]) expect(check(more)).toMatchObject([{ path: "j.workflow", severity: "error" }]);
});

it("a job with a workflow is shown with it, and not as one of its agent with an empty prompt", async () => {
  const job = { id: "nightly", schedule: "0 3 * * *", timezone: "UTC", agent: "ada", workflow: "report", prompt: "", enabled: true };
  const view = { ...job, onError: "log", fire: false, next: [], failures: 0, missed: [] };
  const printed: string[] = [];
  const cli = {
    request: async () => ({ crons: [view] }),
    readSettings: async () => ({ document: { crons: { nightly: job } }, revision: "r" }),
    print: (text: string) => void printed.push(text),
  };
  const run = (group: typeof cron, name: string, args: string[]) => group.commands.find((one) => one.name === name)?.run(args, {}, cli as never);
  await run(cron, "list", []);
  await run(cron, "show", ["nightly"]);
  await run(schedule, "list", []);
  expect(printed).toEqual([
    "nightly  0 3 * * * UTC  workflow report  on",
    "nightly  0 3 * * * UTC  workflow report  on\nWorkflow: report\nOn errors: log",
    "nightly  0 3 * * * UTC  workflow report  on",
  ]);
});
