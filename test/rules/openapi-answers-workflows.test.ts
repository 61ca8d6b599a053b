import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { bearer, type Guarded, guarded } from "./auth.harness.ts";
import { type Ask, askJudged, FIRST_PARTY, JUDGED_APART } from "./openapi-answers.harness.ts";
import { edges } from "./wf.harness.ts";

const form = [
  { name: "note", kind: "text", label: "Note", required: true, maxLength: 80 },
  { name: "how", kind: "select", options: ["well", { value: "badly", label: "Not so well" }], default: "well" },
  { name: "much", kind: "number", min: 1, max: 9, integer: true },
];

/** A process with a turn, a person, a signal and a part of its own. */
const BUILD = {
  id: "build",
  name: "Build",
  description: "Builds",
  tags: ["ci"],
  nodes: [
    { id: "start", kind: "trigger", inputSchema: { n: { type: "integer", required: true, example: 1, description: "Its number" } } },
    { id: "turn", kind: "agent", agent: "foo", message: "do {{ input.n }}" },
    { id: "ask", kind: "userTask", title: "Build {{ input.n }}?", detail: "Look at it", assignee: "actor:ann", form },
    { id: "hear", kind: "waitSignal", signal: "go", timeout: "1h" },
    { id: "part", kind: "subProcess", workflow: "part", input: { n: 1 } },
    { id: "done", kind: "end", output: "{{ input.n }}" },
  ],
  edges: edges("start > turn, turn > ask, ask > hear, hear > part, part > done"),
};
const PART = {
  id: "part",
  nodes: [
    { id: "start", kind: "trigger" },
    { id: "no", kind: "fail", code: "NO", message: "not today" },
  ],
  edges: edges("start > no"),
};
/** As its author wrote it, with a remark. */
const TEXT = [
  "id: texted",
  "# a remark",
  "nodes:",
  "  - { id: start, kind: trigger }",
  "  - { id: done, kind: end }",
  "edges:",
  "  - { from: start, to: done }",
  "",
].join("\n");

async function askDefinitions(ask: Ask, people: Ask): Promise<void> {
  await people("GET", "/api/workflow-editor");
  await ask("PUT", "/api/workflows/build", BUILD, { "if-none-match": "*" });
  await ask("PUT", "/api/workflows/build", BUILD);
  await ask("PUT", "/api/workflows/build", BUILD, { "if-none-match": "*" });
  await ask("PUT", "/api/workflows/part", PART);
  await ask("PUT", "/api/workflows/wrong", { id: "wrong", nodes: [] });
  await people("PUT", "/api/workflows/texted/text", { text: TEXT });
  await people("PUT", "/api/workflows/texted/text", { text: TEXT });
  await people("PUT", "/api/workflows/texted/text", { text: "no: [yaml" });
  await ask("PUT", "/api/workflows/build/layout", { nodes: { start: { x: 1, y: 2 } } });
  for (const on of [ask, people])
    for (const path of ["", "?runs=2&limit=1", "/build", "/none", "/broken", "/build/text", "/broken/text", "/none/text"])
      await on("GET", `/api/workflows${path}`);
  for (const body of [{ id: "x", text: TEXT }, { id: "x", text: "a: &a [*a]" }, { id: "build", definition: BUILD }, { id: "x" }])
    await people("POST", "/api/workflows/check", body);
}

/** A run that goes through all of it, and one that is cancelled. */
async function askRuns(ask: Ask, people: Ask): Promise<void> {
  const start = (n: unknown, more: object = {}) => ask("POST", "/workflows/build/run", { payload: { n }, ...more });
  const first = (await start(1, { startKey: "one" })) as { runId: string };

  writeFileSync(
    "/tmp/wfdbg.json",
    JSON.stringify([first, await ask("PUT", "/api/workflows/build", BUILD), await ask("PUT", "/api/workflows/part", PART)], null, 1),
  );
  const { runId } = first;
  await start(1, { startKey: "one" });
  await start("no number");
  await ask("POST", "/workflows/none/run", {});
  const run = (path = "", on = ask) => on("GET", `/api/workflows/runs/${runId}${path}`);
  const waits = async (node: string) => expect.poll(async () => JSON.stringify((await run())["waits"]), { timeout: 20_000 }).toContain(`"node":"${node}"`);
  await waits("ask");
  const { tasks } = (await ask("GET", "/api/workflows/tasks")) as { tasks: { id: string }[] };
  const task = `/api/workflows/tasks/${tasks[0]?.id}`;
  await people("POST", `${task}/comment`, { text: "hm" });
  await ask("POST", `${task}/submit`, { much: 1 });
  await ask("POST", `${task}/submit`, { note: "yes", much: 3 });
  await ask("POST", `${task}/submit`, { note: "yes" });
  await ask("POST", `${task}/comment`, { text: "late" });
  for (const path of [task, "/api/workflows/tasks/none", "/api/workflows/tasks?state=completed&actor=ann"]) await people("GET", path);
  await waits("hear");
  for (const action of ["pause", "resume"]) await ask("POST", `/api/workflows/runs/${runId}/status`, { action });
  await ask("POST", `/api/workflows/runs/${runId}/status`, {});
  await ask("POST", `/api/workflows/runs/${runId}/restart`, {});
  await people("POST", `/api/workflows/runs/${runId}/signal`, { name: "go", payload: { a: 1 } });
  await expect.poll(async () => (await run())["status"], { timeout: 20_000 }).toBe("failed");
  const { steps, error } = (await run("?brief=1", people)) as { steps: { id: string }[]; error?: object };
  expect(error).toBeDefined();
  for (const path of ["?limit=3", "?after=3&limit=2", ...steps.map(({ id }) => `/step?id=${encodeURIComponent(id)}`), "/step?id=none", "/definition"])
    await run(path);
  for (const body of [{ step: "nowhere" }, {}]) await ask("POST", `/api/workflows/runs/${runId}/restart`, body);
  const { runId: other } = (await start(2)) as { runId: string };
  await ask("POST", `/api/workflows/runs/${other}/status`, { action: "cancel", reason: "no" });
  await ask("POST", `/api/workflows/runs/${other}/status`, { action: "pause" });
  for (const path of ["", "?summary=1&limit=2", "?status=open", "?text=build", "?cursor=none", "/none"]) await people("GET", `/api/workflows/runs${path}`);
}

async function askDrafts(at: Guarded, ask: Ask, people: Ask): Promise<void> {
  const draft = "/api/workflows/drafts";
  const { taskId } = await ask("POST", "/task", { agent: "foo", message: "tool look" }, { accept: "application/json" });
  await people("POST", draft, { taskId, id: "learned" });
  await people("POST", draft, { taskId: "none" });
  writeFileSync(join(at.dataFolder, "workflows/_drafts/broken.yaml"), "id: broken\nnodes: 1\n");
  await people("PUT", `${draft}/drawn`, { ...BUILD, id: "drawn" });
  await people("PUT", `${draft}/away/text`, { text: TEXT.replace("texted", "away") });
  await people("PUT", `${draft}/away/text`, { text: TEXT }, { "if-match": '"another"' });
  for (const path of ["", "?limit=1", "/learned", "/broken", "/none", "/learned/text", "/broken/text"]) await people("GET", draft + path);
  for (const id of ["learned", "broken"]) await people("POST", `${draft}/${id}/validate`, {});
  await people("POST", `${draft}/learned/replay`, { taskId });
  await people("POST", `${draft}/drawn/replay`, { input: { n: 1 } });
  await people("POST", `${draft}/broken/replay`, {});
  // Its folds hold the runs of the workflow against the draft, where the way parts.
  const shorter = { ...BUILD, nodes: BUILD.nodes.filter(({ id }) => id !== "hear"), edges: edges("start > turn, turn > ask, ask > part, part > done") };
  await people("PUT", `${draft}/build`, shorter);
  await people("POST", `${draft}/build/promote`, {});
  await people("POST", `${draft}/build/promote`, { id: "shorter" });
  await people("POST", `${draft}/broken/promote`, {});
  await people("POST", `${draft}/away/reject`, { reason: "no" });
  await people("POST", `${draft}/none/reject`, {});
}

describe("answers of the routes of workflows are those that GET /openapi.json names", { timeout: 120_000 }, () => {
  it("of definitions, drafts, runs and the tasks of people", async () => {
    const at = await guarded({ config: { workflows: { enabled: true, editor: "edit" }, approvals: {} }, options: { known: FIRST_PARTY } });
    mkdirSync(join(at.dataFolder, "workflows/_drafts"), { recursive: true });
    writeFileSync(join(at.dataFolder, "workflows/broken.yaml"), "id: broken\nnodes: 1\n");
    const { secret } = await at.token("dashboard:write");
    const asking = await askJudged(at, { daemon: at.daemon, dashboard: at.dashboard }, JUDGED_APART.workflows);
    const [ask, people] = [asking.on("daemon"), asking.on("dashboard", bearer(secret))];
    await askDefinitions(ask, people);
    await askRuns(ask, people);
    await askDrafts(at, ask, people);
    expect(asking.wrong).toEqual([]);
    expect(asking.unasked()).toEqual([]);
  });
});
