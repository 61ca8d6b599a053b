import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { definePlugin, type Plugin, type PluginContext } from "@svc/sdk";
import { expect, it, vi } from "vitest";
import { type Stage, stage } from "./wf.harness.ts";

/** An action that says its input back, and the context that calls it as an agent would. */
async function withAction(sections: Record<string, unknown> = {}) {
  let ctx: PluginContext | undefined;
  const given: unknown[] = [];
  const plugin = definePlugin({
    kind: "feature",
    name: "acme",
    version: "1.0.0",
    svc: "^0.1.0",
    capabilities: ["actions"],
    setup(context) {
      ctx = context as PluginContext;
      context.provide.action({
        name: "acme.look",
        description: "says its input back",
        input: { type: "object", additionalProperties: true },
        output: {},
        timeoutMs: 5_000,
        async run(input) {
          given.push(input);
          if (input["fail"] === true) throw new Error("nothing there");
          return { seen: input["q"] ?? null };
        },
      });
    },
  });
  const at = await stage({}, { plugins: [plugin as unknown as Plugin<never>], sections });
  return { at, given, ctx: ctx as unknown as PluginContext };
}

/** A task that calls the action with these inputs, one after the other, and then answers. */
async function taskWith({ at, ctx }: Awaited<ReturnType<typeof withAction>>, message: string, inputs: readonly unknown[], ends = true): Promise<string> {
  const before = at.tier.held;
  const { taskId } = await at.kernel.tasks.accept({ entry: "task", channel: "http", chat: `c-${at.tier.prompts.length}`, text: `hold ${message}`, agent: "a" });
  await vi.waitFor(() => expect(at.tier.held).toBe(before + 1), { timeout: 20_000 });
  for (const input of inputs) await ctx.actions.run("acme.look", input, { door: "agent", taskId });
  if (!ends) return taskId;
  at.tier.release("the answer");
  await vi.waitFor(async () => expect((await at.kernel.traces.get(taskId))?.status).toBe("ok"), { timeout: 20_000 });
  return taskId;
}

const make = (at: Stage, body: object) => at.page("POST", "/api/workflows/drafts", body);
const drafts = ({ folder }: Stage) => {
  try {
    return readdirSync(join(folder, ".svc/workflows/_drafts")).sort();
  } catch {
    return [];
  }
};

interface Made {
  readonly definition: {
    readonly description: string;
    readonly nodes: readonly { id: string; input?: unknown; inputSchema?: { message: { default?: string } } }[];
  };
  readonly problems: readonly unknown[];
}

it("WF-03 a draft of a task takes its message, calls what it called and has its agent answer: promoted it runs, replayed it asks nobody", async () => {
  const all = await withAction();
  const { at, given } = all;
  const taskId = await taskWith(all, "Which books are new?", [{ q: "books" }, { q: "authors", deep: { list: [1, null, "x"] } }]);
  const made = await make(at, { taskId });
  expect(made).toMatchObject({
    status: 201,
    body: { id: "hold-which-books-are-new", problems: [], url: "/workflows/editor?draft=hold-which-books-are-new" },
  });
  const draft = (await at.page("GET", "/api/workflows/drafts/hold-which-books-are-new")).body;
  expect(draft["definition"]).toMatchObject({ generatedFrom: "task-trace", confidence: 1, sourceTaskIds: [taskId], ownerAgent: "a" });
  given.length = 0;
  const prompts = at.tier.prompts.length;
  const replay = await at.page("POST", "/api/workflows/drafts/hold-which-books-are-new/replay", {});
  expect(replay.status).toBe(202);
  expect((await at.until(replay.body["runId"] as string, "completed")).output).toBe("begun the answer");
  expect([given, at.tier.prompts.length]).toEqual([[], prompts]);
  expect((await at.page("POST", "/api/workflows/drafts/hold-which-books-are-new/promote", { id: "books" })).status).toBe(200);
  const run = await at.start("books", { message: "And today?" });
  expect(await at.until(run, "completed")).toMatchObject({ status: "completed", output: expect.stringMatching(/^And today\?/) });
  expect(given).toEqual([{ q: "books" }, { q: "authors", deep: { list: [1, null, "x"] } }]);
  expect(at.tier.prompts.at(-1)).toContain('- acme.look: {"seen":"books"}');
});

it("WF-03 recorded words are fixed text in a draft and never template code, keys of secrets and of prototypes no parameters", async () => {
  const all = await withAction();
  const { at, given } = all;
  const evil = 'a {{ secrets.HOME }} \\{{ input.x }} {{{ $now() }} }} {{ "x" \u0000\u2028 {{';
  const hostile = JSON.parse('{"__proto__": {"q": 1}}') as object;
  const deep = JSON.parse(`${'{"a":'.repeat(60)}1${"}".repeat(60)}`) as object;
  const taskId = await taskWith(all, evil, [
    { q: evil, list: [evil], "{{ input.k }}\n- x: y": 1 },
    { q: { $secret: "PATH" } },
    { $text: ["x"] },
    hostile,
    deep,
    { q: "x".repeat(5_000) },
    { fail: true },
  ]);
  given.length = 0;
  expect(await make(at, { taskId, id: "evil" })).toMatchObject({ status: 201, body: { id: "evil", problems: [] } });
  const { definition } = (await at.page("GET", "/api/workflows/drafts/evil")).body as unknown as Made;
  expect(definition.description).toMatch(/Left out, because they failed: 1\. Left out, because their inputs .*: 5\.$/);
  expect(definition.nodes[0]?.inputSchema?.message.default).toBe(`hold ${evil}`);
  expect((await at.page("POST", "/api/workflows/drafts/evil/promote", {})).status).toBe(200);
  const run = await at.start("evil");
  await vi.waitFor(() => expect(at.tier.held).toBe(1), { timeout: 20_000 });
  expect(at.tier.prompts.at(-1)).toContain(`hold ${evil}`);
  at.tier.release("over");
  await at.until(run, "completed");
  expect(given).toEqual([{ q: evil, list: [evil], "{{ input.k }}\n- x: y": 1 }]);
});

it("WF-03 a draft of a task with 1,000 calls holds 100 of them and says how many it leaves out; a very long message is asked for", async () => {
  const all = await withAction();
  const { at } = all;
  const taskId = await taskWith(
    all,
    "long ".repeat(10_000),
    Array.from({ length: 1_000 }, (_, q) => ({ q })),
  );
  expect(await make(at, { taskId, id: "many" })).toMatchObject({ status: 201, body: { problems: [] } });
  const { definition } = (await at.page("GET", "/api/workflows/drafts/many")).body as unknown as Made;
  expect(definition.nodes).toHaveLength(103);
  expect(definition.nodes[0]?.inputSchema?.message).toMatchObject({ type: "string", required: true });
  expect(definition.nodes[0]?.inputSchema?.message.default).toBeUndefined();
  expect(definition.description).toContain("Left out, because a draft takes 100 calls and 100000 characters of inputs: 900.");
  expect(readFileSync(join(at.folder, ".svc/workflows/_drafts/many.yaml")).length).toBeLessThan(100_000);
});

it("WF-03 refuses a task that is unknown, runs or failed, and an id that is taken or none; without an id each draft has its own", async () => {
  const all = await withAction();
  const { at } = all;
  expect(await make(at, { taskId: "nobody" })).toMatchObject({ status: 404, body: { code: "SVC_TRACE_UNKNOWN" } });
  const running = await taskWith(all, "work", [], false);
  expect(await make(at, { taskId: running })).toMatchObject({ status: 409, body: { code: "SVC_DRAFT_TASK_RUNS" } });
  at.tier.release("done");
  await vi.waitFor(async () => expect((await at.kernel.traces.get(running))?.status).toBe("ok"), { timeout: 20_000 });
  const { taskId: failed } = await at.kernel.tasks.accept({ entry: "task", channel: "http", chat: "f", text: "fail", agent: "a" });
  await vi.waitFor(async () => expect((await at.kernel.traces.get(failed))?.status).toBe("error"), { timeout: 20_000 });
  expect(await make(at, { taskId: failed })).toMatchObject({ status: 422, body: { code: "SVC_DRAFT_TASK", error: expect.stringContaining("it failed") } });
  for (const body of [{}, { taskId: "" }, { taskId: running, id: "../x" }, { taskId: running, id: "runs" }, { taskId: running, more: 1 }])
    expect((await make(at, body)).status, JSON.stringify(body)).toBe(400);
  expect(drafts(at)).toEqual([]);
  expect((await make(at, { taskId: running, id: "one" })).status).toBe(201);
  const kept = readFileSync(join(at.folder, ".svc/workflows/_drafts/one.yaml"), "utf8");
  expect(await make(at, { taskId: running, id: "one" })).toMatchObject({ status: 409, body: { code: "SVC_DRAFT_THERE" } });
  expect(readFileSync(join(at.folder, ".svc/workflows/_drafts/one.yaml"), "utf8")).toBe(kept);
  const made = await Promise.all(Array.from({ length: 5 }, () => make(at, { taskId: running })));
  expect(made.map(({ status }) => status)).toEqual([201, 201, 201, 201, 201]);
  expect(made.map(({ body }) => body["id"]).sort()).toEqual(["hold-work", "hold-work-2", "hold-work-3", "hold-work-4", "hold-work-5"]);
});

it("WF-13 makes no draft of a task where definitions are not changed", async () => {
  const all = await withAction({ workflows: { enabled: true, editor: "readonly" } });
  const taskId = await taskWith(all, "work", []);
  expect(await make(all.at, { taskId })).toMatchObject({ status: 403, body: { code: "SVC_WORKFLOW_READONLY" } });
  expect(drafts(all.at)).toEqual([]);
});
