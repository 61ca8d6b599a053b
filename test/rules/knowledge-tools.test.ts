import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { type Actions, type Approvals, definePlugin, type Plugin, type Tasks } from "@svc/sdk";
import { describe, expect, it, vi } from "vitest";
import { ROOT } from "../house/house.ts";
import { baseOf, post, type RunOptions, runKernel } from "../kit/kernel.ts";

const PATIENCE = { timeout: 30_000, interval: 20 };
const KNOWN = ["actions/agent-call", "actions/mesh-delegate", "features/agent-actions", "features/operator-actions", "features/approvals", "features/mesh"].map(
  (path) => join(ROOT, "plugins", path),
);

/**
 * A tier whose agents do what they are told, each by its own way to call: `<way> <agent> <rest>` asks that agent with the rest and answers with
 * what came back. `hold` waits for `release`.
 */
function engines() {
  const held: (() => void)[] = [];
  let capabilities: { actions: Actions; tasks: Tasks; approvals(): Approvals | undefined } | undefined;
  let base = "";
  const plugin = definePlugin({
    kind: "tier",
    name: "engine",
    version: "1.0.0",
    svc: "^0.1.0",
    capabilities: ["actions", "tasks", "tools", "services"],
    setup(ctx) {
      capabilities = { actions: ctx.actions, tasks: ctx.tasks, approvals: () => ctx.services.get("approvals") };
      const say = async (path: string, body: object, task: string) => {
        const { status, body: answer } = await post(base, path, body, { "x-svc-task": task });
        const { reply, text, error, output } = answer as Record<string, string> & { output?: { reply: string } };
        const errors = status >= 400 || answer.ok === false || answer.status === "error";
        return errors ? `FAILED ${error}` : (reply ?? output?.reply ?? (JSON.parse(text as string) as { reply: string }).reply);
      };
      const ways: Readonly<Record<string, (agent: string, rest: string, task: string, self: string) => Promise<string>>> = {
        tool: (agentId, message, task, self) => say(`/agents/${self}/tools/agent_call`, { agentId, message }, task),
        http: (agent, message, task) => say("/task", { agent, message, context: { channel: "http", chatId: task } }, task),
        action: (agentId, message, task) => say("/api/actions/builtin/agent.call", { agentId, message }, task),
        cli: async (agent, message, task) => {
          const env = { ...process.env, SVC_TASK_ID: task, SVC_CONFIG: configFile };
          const told = await promisify(execFile)(process.execPath, [join(ROOT, "cli/dist/main.js"), "daemon", "send", agent, message, "--chat", task], {
            env,
          }).catch((error: { stderr: string }) => ({ stdout: `FAILED ${error.stderr}` }));
          return told.stdout.trim();
        },
      };
      ctx.provide.tier({
        name: "engine",
        abilities: { autonomy: ["report", "propose"] },
        async *run(turn, { prompt }, signal) {
          const [word = "", next = "", ...rest] = prompt.split(" ");
          const way = ways[word];
          if (word === "hold")
            await new Promise<void>((resolve) => {
              held.push(resolve);
              signal.addEventListener("abort", () => resolve());
            });
          yield { type: "text", text: way === undefined ? `${turn.agent.id} says ${prompt}` : await way(next, rest.join(" "), turn.id, turn.agent.id) };
          yield { type: "done" };
        },
      });
    },
  }) as Plugin<never>;
  let configFile = "";
  return {
    plugin,
    release: () => held.shift()?.(),
    held: () => held.length,
    at: (address: string, file: string) => {
      base = address;
      configFile = file;
    },
    get ctx() {
      return capabilities as NonNullable<typeof capabilities>;
    },
  };
}

const notes: unknown[] = [];
/** An action with effects. */
const effects = definePlugin({
  kind: "action",
  name: "effects",
  version: "1.0.0",
  svc: "^0.1.0",
  capabilities: [],
  setup(ctx) {
    const input = { type: "object", properties: { note: { type: "string" } }, required: ["note"], additionalProperties: false } as const;
    ctx.provide.action({
      name: "acme.write",
      description: "Writes a note.",
      input,
      output: { type: "object", properties: { written: { type: "number" } } },
      timeoutMs: 60_000,
      async run(given) {
        notes.push(given.note);
        return { written: notes.length };
      },
    });
  },
}) as Plugin<never>;

async function start(agents: Record<string, Record<string, unknown>>, { config = {}, ...options }: RunOptions = {}) {
  const engine = engines();
  const table = Object.entries(agents).map(([id, more]) => [id, { name: id, workspace: "./w", tier: "engine", ...more }]);
  const running = await runKernel({
    inline: [engine.plugin, effects],
    known: KNOWN,
    listen: true,
    config: { agents: Object.fromEntries(table), ...config },
    ...options,
  });
  engine.at(baseOf(running.kernel), options.file ?? "");
  const names = async (agent: string) => (await running.kernel.tools(agent)).map(({ name }) => name).filter((name) => !/^svc_(approval|mesh)/.test(name));
  const signal = AbortSignal.timeout(60_000);
  const call = (name: string, input: Record<string, unknown>, more: object = {}) => running.kernel.runTool(name, input, { agent: "a", signal, ...more });
  return { ...running, engine, names, call };
}

describe("the actions of an agent", () => {
  it("are its tools by default: asking others; an allow list widens and narrows, a plan and a public agent have none", async () => {
    const { names } = await start({
      a: {},
      b: { actions: ["acme.*"] },
      c: { actions: [] },
      d: { permissionMode: "plan", actions: ["*"] },
      e: { access: "public" },
    });
    expect(await names("a")).toEqual(["svc_task_result", "agent_call"]);
    expect(await names("b")).toEqual(["svc_task_result", "acme_write"]);
    expect([await names("c"), await names("d"), await names("e")]).toEqual([[], [], []]);
  });

  it("give the answer of the other agent, carry task, session and chain, and are checked by the action's own schema", async () => {
    const { call, kernel, message } = await start({ a: { actions: ["*"] }, b: {} });
    expect(JSON.parse(await call("agent_call", { agentId: "b", message: "hello" }))).toMatchObject({ agentId: "b", reply: "b says hello" });
    await expect(call("agent_call", { agentId: "b", message: "hello", door: "x" })).rejects.toThrow(/agent\.call.*'door'/s);
    await expect(call("acme_write", { note: 7 })).rejects.toThrow(/must be string/);
    await expect(call("agent_call", { agentId: "../b", message: "x" })).rejects.toThrow(/There is no agent/);
    await kernel.tasks.run(message("tool b hello"));
    const [asked, own] = await kernel.traces.list({ limit: 2 });
    expect(asked).toMatchObject({ agent: "b", entry: "agent-call", rootId: own?.rootId });
    expect(own?.steps).toMatchObject([{ name: "agent.call", kind: "action", envelope: { status: "ok" } }]);
  });

  it("a run that may only report has none of the effects over any door, one that may propose asks a person first", async () => {
    notes.length = 0;
    const { call, kernel, message, engine } = await start({ a: { actions: ["*"] }, b: {} });
    const running = async (autonomy: "report" | "propose") => {
      const { taskId } = await kernel.tasks.accept(message("hold", { options: { autonomy }, chat: autonomy }));
      await vi.waitFor(() => expect(engine.held()).toBe(1), PATIENCE);
      return taskId;
    };
    const report = await running("report");
    await expect(call("acme_write", { note: "x" }, { taskId: report })).rejects.toThrow(/may look and report/);
    // Nor where the call leaves out for which task it is.
    await expect(call("acme_write", { note: "x" })).rejects.toThrow(/may look and report/);
    expect(await engine.ctx.actions.run("acme.write", { note: "x" }, { door: "agent", taskId: report })).toMatchObject({
      status: "error",
      error: expect.stringContaining("may only report"),
    });
    expect((await post(baseOf(kernel), "/api/actions/builtin/acme.write", { note: "x" }, { "x-svc-task": report })).body).toMatchObject({ status: "error" });
    expect((await post(baseOf(kernel), "/api/actions/deploy/run", {}, { "x-svc-task": report })).body).toMatchObject({ code: "SVC_ACTION_RESTRICTED" });
    engine.release();
    await vi.waitFor(() => expect(kernel.tasks.running()).toEqual([]), PATIENCE);

    const propose = await running("propose");
    const approvals = engine.ctx.approvals() as Approvals;
    const decide = async (choice: string) => {
      const open = await vi.waitFor(async () => {
        const [found] = await approvals.list({ open: true, kind: "action" });
        expect(found).toBeDefined();
        return found as NonNullable<typeof found>;
      }, PATIENCE);
      expect(open).toMatchObject({ title: "a wants to run the action acme.write", detail: expect.stringContaining('"note": "agreed"'), agent: "a" });
      await approvals.decide(open.id, choice, { by: "Ann", surface: "test" });
    };
    const no = call("acme_write", { note: "agreed" }, { taskId: propose });
    await Promise.all([decide("reject"), expect(no).rejects.toThrow(/the answer is 'rejected'/)]);
    expect(notes).toEqual([]);
    const yes = call("acme_write", { note: "agreed" }, { taskId: propose });
    await decide("approve");
    expect(JSON.parse(await yes)).toEqual({ written: 1 });
    expect(notes).toEqual(["agreed"]);
    engine.release();
  });
});

describe("calls that take long", () => {
  it("answer in time with an id; the result is told to who called in the same conversation, and to nobody else", async () => {
    const { call, kernel, message, engine } = await start({ a: {}, b: {}, c: {} });
    const held = async (chat: string, agent = "a") => {
      const before = engine.held();
      const { taskId } = await kernel.tasks.accept(message("hold", { chat, agent }));
      await vi.waitFor(() => expect(engine.held()).toBe(before + 1), PATIENCE);
      return taskId;
    };
    const taskId = await held("one");
    const waiting = JSON.parse(await call("agent_call", { agentId: "b", message: "hold" }, { taskId, limitMs: 200 })) as { task: string; status: string };
    expect(waiting).toMatchObject({ task: expect.stringMatching(/^call_/), status: "running" });
    const ask = (more: object) => call("svc_task_result", { task: waiting.task }, { limitMs: 200, ...more });
    expect(JSON.parse(await ask({ taskId }))).toMatchObject(waiting);
    await expect(ask({})).rejects.toThrow(/There is no call/);
    await expect(ask({ agent: "c" })).rejects.toThrow(/There is no call/);
    await expect(ask({ taskId: "task_none" })).rejects.toThrow(/There is no call/);
    await vi.waitFor(() => expect(engine.held()).toBe(2), PATIENCE);
    engine.release();
    engine.release();
    await vi.waitFor(() => expect(kernel.tasks.running()).toEqual([]), PATIENCE);
    // The next turn of the conversation may ask, too.
    const next = await held("one");
    expect(JSON.parse(await ask({ taskId: next, limitMs: 20_000 }))).toMatchObject({ reply: "b says hold" });
    engine.release();
    const foreign = await held("two");
    await expect(ask({ taskId: foreign })).rejects.toThrow(/There is no call/);
    engine.release();
  });

  it("end with a turn that is cancelled", async () => {
    const { call, kernel, message, engine } = await start({ a: {}, b: {} });
    const { taskId } = await kernel.tasks.accept(message("hold"));
    await vi.waitFor(() => expect(engine.held()).toBe(1), PATIENCE);
    await call("agent_call", { agentId: "b", message: "hold" }, { taskId, limitMs: 200 });
    await vi.waitFor(() => expect(engine.held()).toBe(2), PATIENCE);
    await kernel.tasks.cancel(taskId);
    await vi.waitFor(() => expect(kernel.tasks.running()).toEqual([]), PATIENCE);
    const [called] = await kernel.traces.list({ agent: "b" });
    expect(called).toMatchObject({ errorKind: "cancelled" });
  });
});

describe("RUN-10 over every way in which one agent can call another", () => {
  it.each(["tool", "http", "action"])("%s: a loop ends at once with words that name the chain, and depth counts the others", async (way) => {
    const { kernel, message } = await start({ a: {}, b: { maxConcurrent: 2 }, c: { maxDelegationDepth: 2 } });
    const { reply } = await kernel.tasks.run(message(`${way} b ${way} a hello`));
    expect(reply).toContain("Agent a is not asked: it waits for this answer itself (a -> b -> a)");
    expect((await kernel.tasks.run(message(`${way} b ${way} c hello`))).reply).toContain("maxDelegationDepth is 2");
    expect((await kernel.tasks.run(message(`${way} b hello`))).reply).toBe("b says hello");
  });
});
