import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Plugin } from "@svc/sdk";
import { afterEach, describe, expect, it, vi } from "vitest";
import readLines from "../../plugins/actions/file-read-lines/index.ts";
import writeJsonl from "../../plugins/actions/file-write-jsonl/index.ts";
import { EXAMPLES, readExample } from "../../plugins/features/workflows/definition/example-files.ts";
import local from "../../plugins/tiers/local/index.ts";
import { temporaryFolder } from "../kit/kernel.ts";
import { type Stage, stage } from "./wf.harness.ts";

afterEach(() => void vi.unstubAllEnvs());

/** All examples as `svc workflow new` writes them, with the agent that `svc init` makes. */
async function examples(folder?: string): Promise<Stage> {
  const home = folder ?? (await temporaryFolder());
  // A daemon runs in the folder of svc.json; this kernel does not.
  vi.stubEnv("SVC_BUILTIN_FILE_ROOTS", home);
  const at = await stage(
    {},
    {
      folder: home,
      plugins: [local, readLines, writeJsonl] as unknown as Plugin<never>[],
      sections: {
        agents: { assistant: { name: "Assistant", workspace: "./workspace", tier: "local" } },
        node: { id: "n1", name: "Node 1", defaultAgent: "assistant", bind: "127.0.0.1:0" },
      },
    },
  );
  for (const name of EXAMPLES) writeFileSync(join(at.folder, ".svc/workflows", `${name}.yaml`), readExample(name) as string);
  return at;
}

interface Shown {
  readonly id: string;
  readonly runId: string;
  readonly assignee: string;
  readonly title: string;
}

const taskOf = (at: Stage, run: string) =>
  vi.waitFor(
    async () => {
      const { tasks } = (await at.page("GET", "/api/workflows/tasks")).body as { tasks: Shown[] };
      const task = tasks.find(({ runId }) => runId === run);
      expect(task).toBeDefined();
      return task as Shown;
    },
    { timeout: 20_000, interval: 20 },
  );
const submit = (at: Stage, task: Shown, values: object) => at.page("POST", `/api/workflows/tasks/${task.id}/submit`, values);
const lines = (at: Stage, file: string): unknown[] => {
  const path = join(at.folder, file);
  return existsSync(path)
    ? readFileSync(path, "utf8")
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as unknown)
    : [];
};

describe("the examples on the tier local, without a key", () => {
  it("none has a problem, with the agents and actions that there are", async () => {
    const at = await examples();
    const { workflows } = (await at.page("GET", "/api/workflows")).body as { workflows: { definition: { id: string }; problems: { code: string }[] }[] };
    expect(workflows.map(({ definition, problems }) => [definition.id, problems])).toEqual([...EXAMPLES].sort().map((id) => [id, []]));
  });

  it("approval waits for a person over a restart, and orders once", async () => {
    const first = await examples();
    const run = await first.start("approval", { item: "Kettle", price: 49 });
    const task = await taskOf(first, run);
    expect(task).toMatchObject({ assignee: "role:lead", title: "Buy Kettle for 49 euro?" });
    await first.stop();
    const at = await examples(first.folder);
    expect(await taskOf(at, run)).toEqual(task);
    expect((await submit(at, task, { decision: "maybe" })).status).toBe(400);
    expect((await submit(at, task, { decision: "approve", comment: "go ahead" })).status).toBe(200);
    expect((await at.until(run, "completed")).output).toEqual({ ordered: true, item: "Kettle" });
    expect(lines(at, "orders.jsonl")).toEqual([expect.objectContaining({ item: "Kettle", price: 49, run })]);
    expect((await at.until(await at.start("approval", { price: 5 }), "completed")).output).toMatchObject({ ordered: true });
    const other = await at.start("approval", { item: "Yacht" });
    await submit(at, await taskOf(at, other), { decision: "reject" });
    expect((await at.until(other, "completed")).output).toEqual({ ordered: false, item: "Yacht" });
  });

  it("nightly-report reports with two of three sources", async () => {
    const at = await examples();
    const done = await at.until(await at.start("nightly-report"), "completed");
    expect(done.output).toMatchObject({ topics: 2, report: expect.any(String) });
    expect(lines(at, "reports.jsonl")).toEqual([expect.objectContaining({ topics: ["orders", "incidents"] })]);
    // A join an item; of the three sources the one that was last, or failed, is left out.
    const each = done.steps.find(({ id }) => id === "each/1")?.output as { topic: string; answers: unknown[] }[];
    expect(each).toMatchObject([{ topic: "orders" }, { topic: "incidents" }]);
    for (const { answers } of each) expect(answers).toHaveLength(2);
  });

  it("review goes round until a person accepts, and fails after the third time", async () => {
    const at = await examples();
    const run = await at.start("review");
    const first = await taskOf(at, run);
    expect((await submit(at, first, { quality: 9 })).body).toMatchObject({ field: expect.any(String) });
    expect((await submit(at, first, { verdict: "revise", comment: "shorter" })).status).toBe(200);
    const second = await vi.waitFor(
      async () => {
        const task = await taskOf(at, run);
        expect(task.id).not.toBe(first.id);
        return task;
      },
      { timeout: 20_000, interval: 20 },
    );
    await submit(at, second, { verdict: "accept", quality: 4 });
    expect((await at.until(run, "completed")).output).toMatchObject({ accepted: true, rounds: 2, text: expect.any(String) });

    const never = await at.start("review");
    const seen = new Set<string>();
    for (let round = 0; round < 3; round++) {
      const task = await vi.waitFor(
        async () => {
          const found = await taskOf(at, never);
          expect(seen.has(found.id)).toBe(false);
          return found;
        },
        { timeout: 20_000, interval: 20 },
      );
      seen.add(task.id);
      await submit(at, task, { verdict: "revise" });
    }
    expect((await at.until(never, "failed")).error).toMatchObject({ code: "NOT_ACCEPTED" });
  });

  it("webhook-issue opens one issue for a failed build and none for one that passed", async () => {
    const at = await examples();
    expect((await at.until(await at.start("webhook-issue", { status: "failed", project: "shop" }), "completed")).output).toEqual({
      opened: true,
      title: "Build of shop failed",
    });
    expect((await at.until(await at.start("webhook-issue", { status: "passed" }), "completed")).output).toEqual({ opened: false });
    expect(await at.call("POST", "/workflows/webhook-issue/run", { status: "odd" })).toMatchObject({ status: 400, body: { field: "status" } });
    expect(lines(at, "issues.jsonl")).toEqual([
      expect.objectContaining({ title: "Build of shop failed", labels: ["build", "shop"], body: expect.stringContaining("https://ci.example/shop/42") }),
    ]);
  });

  it("saga undoes what was booked, the last first, when the card is declined", async () => {
    const at = await examples();
    expect((await at.until(await at.start("saga"), "completed")).output).toEqual({ booked: true, charged: 420 });
    const done = await at.until(await at.start("saga", { card: "declined" }), "failed");
    expect(done.error).toMatchObject({ code: "TRIP_UNDONE", message: "The trip to Lisbon was undone." });
    expect(done.timeline.filter(({ kind }) => kind === "step.retry")).toHaveLength(2);
    expect(lines(at, "trip.jsonl")).toMatchObject([
      { book: "hotel" },
      { book: "car" },
      { book: "hotel" },
      { book: "car" },
      { cancel: "car" },
      { cancel: "hotel" },
    ]);
  });
});
