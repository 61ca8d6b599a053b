import { expect, it } from "vitest";
import { flow, stage } from "./wf.harness.ts";

const WAITS = flow([{ id: "forever", kind: "waitSignal", signal: "go" }], "start > forever");
const BREAKS = flow([{ id: "bang", kind: "fail", code: "BANG", message: "it broke" }], "start > bang", { name: "Breaks every time" });
const WORK = flow(
  [
    { id: "make", kind: "set", value: { big: "{{ $pad('', 70000, 'x') }}" } },
    { id: "say", kind: "agent", message: "say {{ input.word }}" },
    { id: "done", kind: "end", output: "{{ in.reply }}" },
  ],
  "start > make, make > say, say > done",
);

interface Page {
  readonly runs: readonly { readonly id: string; readonly workflowId: string; readonly status: string }[];
  readonly next?: string;
}

it("WF runs are listed by what a page asks: open ones of both states in one order, by a text, by their end, page by page without a gap or a double", async () => {
  const { page, start, call, until } = await stage({ waits: WAITS, breaks: BREAKS });
  const open: string[] = [];
  const failed: string[] = [];
  for (let at = 0; at < 9; at++) {
    open.push(await start("waits"));
    failed.push(await start("breaks"));
    if (at % 2 === 0) await call("POST", `/api/workflows/runs/${open.at(-1)}/status`, { action: "pause" });
  }
  await until(failed.at(-1) ?? "", "failed");
  const list = async (query: string) => (await page("GET", `/api/workflows/runs?summary=1&${query}`)).body as unknown as Page;
  const all = async (query: string, limit: number) => {
    const ids: string[] = [];
    for (let cursor: string | undefined; ; ) {
      const { runs, next } = await list(`${query}&limit=${limit}${cursor === undefined ? "" : `&cursor=${cursor}`}`);
      ids.push(...runs.map(({ id }) => id));
      if (next === undefined) return ids;
      cursor = next;
    }
  };
  for (const limit of [1, 2, 4, 200]) {
    expect(await all("status=open", limit)).toEqual([...open].reverse());
    expect(await all("text=BREAKS", limit)).toEqual([...failed].reverse());
    expect(new Set(await all("", limit)).size).toBe(18);
  }
  expect(await all(`text=${open[3]?.slice(4)}`, 5)).toEqual([open[3]]);
  expect(await all("status=open&text=breaks", 5)).toEqual([]);
  expect(await all(`status=failed&ended=${new Date(Date.now() - 3_600_000).toISOString()}`, 3)).toEqual([...failed].reverse());
  expect(await all(`status=failed&ended=${new Date(Date.now() + 3_600_000).toISOString()}`, 3)).toEqual([]);
  expect((await page("GET", "/api/workflows/runs?ended=yesterday")).status).toBe(400);
  expect((await page("GET", "/api/workflows/runs?status=open&cursor=run_unknown")).status).toBe(400);
});

it("WF a page reads a run without its values, one step whole with its part of the journal, and the definition that the run executes", async () => {
  const { page, start, until, folder } = await stage({ work: WORK });
  const id = await start("work", { word: "hi" });
  const whole = await until(id, "completed");
  const brief = (await page("GET", `/api/workflows/runs/${id}?brief=1`)).body as unknown as typeof whole;
  expect(brief.steps.map(({ id: step, status }) => [step, status])).toEqual(whole.steps.map(({ id: step, status }) => [step, status]));
  expect(JSON.stringify(brief)).not.toContain("xxxx");
  expect(brief).not.toHaveProperty("context");
  expect(brief.timeline).toEqual([]);
  const say = await page("GET", `/api/workflows/runs/${id}/step?id=${encodeURIComponent("say/1")}`);
  expect(say.body).toMatchObject({
    step: { id: "say/1", status: "ok", input: { message: "say hi" } },
    entries: [{ kind: "step.ready" }, { kind: "step.claimed" }, { kind: "step.ended" }],
  });
  const made = (await page("GET", `/api/workflows/runs/${id}/step?id=make/1`)).body as { step: { output: { big: string } } };
  expect(made.step.output.big).toHaveLength(70_000);
  expect(await page("GET", `/api/workflows/runs/${id}/step?id=none/1`)).toMatchObject({ status: 404, body: { code: "SVC_WORKFLOW_STEP_UNKNOWN" } });
  expect((await page("GET", `/api/workflows/runs/${id}/step`)).status).toBe(400);
  const executed = (await page("GET", `/api/workflows/runs/${id}/definition`)).body as {
    definition: { nodes: { id: string }[] };
    hash: string;
    current: string;
  };
  expect(executed.definition.nodes.map(({ id: node }) => node)).toEqual(["start", "make", "say", "done"]);
  expect(executed.current).toBe(executed.hash);
  // The run keeps what it was started with.
  const { writeFile } = await import("node:fs/promises");
  await writeFile(`${folder}/.svc/workflows/work.json`, JSON.stringify({ id: "work", ...WAITS }));
  const later = (await page("GET", `/api/workflows/runs/${id}/definition`)).body as typeof executed;
  expect(later.hash).toBe(executed.hash);
  expect(later.current).not.toBe(executed.hash);
  expect((await page("GET", "/api/workflows/runs/run_none/definition")).status).toBe(404);
});
