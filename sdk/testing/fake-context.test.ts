import { expect, it } from "vitest";
import { createFakeContext } from "./fake-context.ts";
import { createFakeTasks } from "./fake-tasks.ts";
import { createMemoryFiles } from "./memory-files.ts";

const plugin = {
  kind: "feature",
  name: "probe",
  capabilities: ["store", "routes", "tasks", "events", "jobs", "actions", "env:PROBE_KEY", "env:PROBE_EMPTY"],
} as const;
const code = (act: () => unknown): string | undefined => {
  try {
    act();
  } catch (error) {
    return (error as { code?: string }).code;
  }
  return undefined;
};

it("refuses every capability that was not declared, by name", () => {
  const ctx = createFakeContext({ kind: "feature", name: "bare", capabilities: [] });
  for (const name of [
    "agents",
    "tasks",
    "events",
    "traces",
    "actions",
    "store",
    "jobs",
    "files",
    "fetch",
    "spawn",
    "media",
    "models",
    "render",
    "health",
  ] as const) {
    expect(
      code(() => ctx[name]),
      name,
    ).toBe("SVC_CAPABILITY_UNDECLARED");
  }
  expect(code(() => ctx.env("HOME"))).toBe("SVC_CAPABILITY_UNDECLARED");
  expect(code(() => ctx.provide.route({ method: "GET", path: "/x", guard: "open", handle: () => 1 }))).toBe("SVC_CAPABILITY_UNDECLARED");
});

it("reads only declared variables, and an empty one as unset", () => {
  const ctx = createFakeContext(plugin, { env: { PROBE_KEY: "k", PROBE_EMPTY: "" } });
  expect(ctx.env("PROBE_KEY")).toBe("k");
  expect(ctx.env("PROBE_EMPTY")).toBeUndefined();
});

it("throws at the first use of a declared capability that the test did not give", () => {
  const ctx = createFakeContext({ kind: "action", name: "reader", capabilities: ["files", "fetch"] });
  const { files, fetch } = ctx;
  expect(code(() => files.own)).toBe("SVC_TESTING_NOT_GIVEN");
  expect(code(() => fetch("http://example.org"))).toBe("SVC_TESTING_NOT_GIVEN");
});

it("records what is provided, refuses a second one of a name, and takes an action back", () => {
  const ctx = createFakeContext(plugin);
  const action = { name: "a", description: "d", input: { type: "object" }, output: {}, timeoutMs: 1, run: async () => 1 } as const;
  const dispose = ctx.provide.action(action);
  expect(code(() => ctx.provide.action(action))).toBe("SVC_PLUGIN_NAME_TAKEN");
  expect(ctx.registered.actions).toEqual([action]);
  dispose();
  expect(ctx.registered.actions).toEqual([]);
  const handle = ctx.provide.channel({ name: "c", traits: { maxChars: 1, unit: "utf8", dialect: "plain" }, send: async () => ({ platformId: "1" }) });
  handle.down("no network");
  expect(ctx.registered.channels[0]).toMatchObject({ state: "down", reason: "no network" });
  handle.ready();
  expect(ctx.registered.channels[0]).not.toHaveProperty("reason");
});

it("routes requests as the daemon does: literals win, errors become statuses", async () => {
  const ctx = createFakeContext(plugin);
  ctx.provide.route({ method: "GET", path: "/things/:id", guard: "open", handle: ({ params }) => ({ id: params.id }) });
  ctx.provide.route({ method: "GET", path: "/things/all", guard: "open", handle: () => "all" });
  ctx.provide.route({
    method: "POST",
    path: "/fail",
    guard: "open",
    handle: () => Promise.reject(Object.assign(new Error("no"), { status: 409, code: "SVC_X_Y" })),
  });
  ctx.provide.route({
    method: "GET",
    path: "/stream",
    guard: "open",
    handle(_, reply) {
      const stream = reply.stream();
      setTimeout(() => {
        stream.event("tick", 1);
        stream.end();
      });
    },
  });
  expect((await ctx.request("GET", "/things/a%20b")).body).toEqual({ id: "a b" });
  expect((await ctx.request("GET", "/things/all")).body).toBe("all");
  expect(await ctx.request("POST", "/fail")).toMatchObject({ status: 409, body: { error: "no", code: "SVC_X_Y" } });
  expect((await ctx.request("GET", "/stream")).events).toEqual([{ name: "tick", data: 1 }]);
  expect((await ctx.request("GET", "/nothing")).status).toBe(404);
});

it("records tasks, and a message that is no JSON shows", async () => {
  const ctx = createFakeContext(plugin);
  const message = { entry: "probe", channel: "probe", chat: "1", text: "hi", dedupKey: "k" };
  expect(await ctx.tasks.accept(message)).toMatchObject({ taskId: "task_1", duplicate: false });
  expect(await ctx.tasks.accept(message)).toMatchObject({ taskId: "task_1", duplicate: true });
  expect(ctx.tasks.accepted).toEqual([message]);
  expect(await ctx.tasks.run({ ...message, dedupKey: "other" })).toMatchObject({ ok: true, taskId: "task_2" });
  expect(await ctx.tasks.cancel("task_2")).toBe(true);
  expect(await ctx.tasks.cancel("task_3")).toBe(false);
});

it("runs actions with an envelope that tells refused input, failures and wrong output apart from success", async () => {
  const ctx = createFakeContext(plugin);
  ctx.provide.action({
    name: "double",
    description: "doubles",
    input: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
    output: { type: "number", maximum: 10 },
    timeoutMs: 100,
    async run({ n }) {
      if (n === 0) throw new Error("zero");
      return Number(n) * 2;
    },
  });
  const run = (input: unknown) => ctx.actions.run("double", input, { door: "test" });
  expect(await run({ n: 2 })).toMatchObject({ status: "ok", output: 4, input: { n: 2 } });
  expect((await run({ n: "2" })).error).toContain("n is not of type number");
  expect((await run({ n: 0 })).error).toBe("zero");
  expect((await run({ n: 9 })).error).toContain("above 10");
});

it("keeps jobs for the test to run, one per cron id", () => {
  const ctx = createFakeContext(plugin);
  ctx.jobs.cron("daily", "0 0 * * *", undefined, async () => {});
  ctx.jobs.cron("daily", "5 0 * * *", "UTC", async () => {});
  ctx.jobs.at(new Date(7), () => {});
  const stop = ctx.jobs.every(1000, () => {});
  expect(ctx.registered.jobs.map(({ kind, expression, time }) => [kind, expression ?? time])).toEqual([
    ["cron", "5 0 * * *"],
    ["at", 7],
    ["every", undefined],
  ]);
  stop();
  expect(ctx.registered.jobs).toHaveLength(2);
  expect(() => ctx.jobs.every(Number("x"), () => {})).toThrow(expect.objectContaining({ code: "SVC_INTERVAL_INVALID" }));
});

it("refuses an event that listeners could not use, as the daemon does", () => {
  const { events } = createFakeContext(plugin);
  expect(events.publish({ kind: "agent", type: "acme:seen", summary: "Seen" })).toMatchObject({ type: "acme:seen" });
  const ring: Record<string, unknown> = {};
  ring["ring"] = ring;
  for (const event of [undefined, { kind: "agent", type: "acme:seen" }, { kind: "agent", type: "acme:seen", summary: "Seen", data: ring }])
    expect(() => events.publish(event as never)).toThrow(expect.objectContaining({ code: "SVC_EVENT_INVALID" }));
  expect(events.published).toHaveLength(1);
});

it("tells the root of the running code, and takes events of other machines only with the permission", () => {
  const peers = createFakeContext({ ...plugin, capabilities: [...plugin.capabilities, "events:peers"] });
  const theirs = { id: "x1", rootId: "x0", node: "there", kind: "agent", type: "task:started", at: "2026-01-01T00:00:00.000Z", summary: "" };
  expect(peers.events.current()).toBeUndefined();
  peers.events.within({ rootId: "r1", parentId: "p1" }, () => expect(peers.events.current()).toEqual({ rootId: "r1", parentId: "p1" }));
  const heard: string[] = [];
  peers.events.subscribe(({ id }) => heard.push(id));
  expect([peers.events.inject(theirs), peers.events.inject(theirs), peers.events.inject({ ...theirs, id: "x2", node: "node_test" })]).toEqual([
    true,
    false,
    false,
  ]);
  expect(heard).toEqual(["x1"]);
  const { events } = createFakeContext(plugin);
  expect(() => events.inject(theirs)).toThrow(expect.objectContaining({ code: "SVC_CAPABILITY_UNDECLARED" }));
});

it("gives events published under one root the same root id", () => {
  const { events } = createFakeContext(plugin);
  const heard: string[] = [];
  events.subscribe(({ type }) => heard.push(type), "b");
  events.root(() => {
    events.publish({ kind: "k", type: "a", summary: "" });
    events.publish({ kind: "k", type: "b", summary: "" });
  });
  const alone = events.publish({ kind: "k", type: "c", summary: "" });
  expect(events.published[0]?.rootId).toBe(events.published[1]?.rootId);
  expect(alone.rootId).toBe(alone.id);
  expect(heard).toEqual(["b"]);
});

it("shows a task as running until its answer, and takes follow-ups for ids handed out", async () => {
  let end: () => void = () => {};
  const answered = new Promise<void>((resolve) => {
    end = resolve;
  });
  const tasks = createFakeTasks(async () => {
    await answered;
    return { reply: "done" };
  });
  const run = tasks.run({ entry: "probe", channel: "c", chat: "1", text: "go", agent: "a" });
  expect(tasks.running()).toMatchObject([{ id: "task_1", agent: "a", channel: "c", chat: "1" }]);
  expect(await tasks.followup("task_1", { text: "also", replace: false })).toMatchObject({ taskId: "task_2" });
  expect(await tasks.followup("task_9", { text: "also", replace: false })).toBeUndefined();
  end();
  expect(await run).toMatchObject({ reply: "done" });
  expect(tasks.running()).toEqual([]);
  expect(tasks.followed).toEqual([{ id: "task_1", text: "also", replace: false }]);
});

it("changes a file in memory one after another, and leaves it alone when asked to", async () => {
  const content = new Map<string, string | Uint8Array>([["/daemon/.svc/n", "0"]]);
  const { data } = createMemoryFiles(content);
  const read = (bytes: Uint8Array | undefined) => Number(new TextDecoder().decode(bytes));
  await Promise.all(
    [1, 2, 3].map(() =>
      data.change("n", 100, async (before) => {
        await Promise.resolve();
        return String(read(before) + 1);
      }),
    ),
  );
  expect(content.get("/daemon/.svc/n")).toBe("3");
  await data.change("n", 100, () => undefined);
  await data.change("other", 100, (before) => (before === undefined ? undefined : "never"));
  expect([...content]).toEqual([["/daemon/.svc/n", "3"]]);
  await expect(data.change("n", 100, () => Promise.reject(new Error("no")))).rejects.toThrow("no");
  await data.change("n", 100, () => "4");
  expect(content.get("/daemon/.svc/n")).toBe("4");
});

it("shows and decides what is withheld only with the permission; a task's result is what `answer` makes", async () => {
  const tasks = createFakeTasks(({ text }) => ({ reply: `re: ${text}` }));
  const message = { entry: "task", channel: "http", chat: "c", text: "hi" };
  tasks.withhold({ delivery: { id: "out_1", kind: "reply", target: { channel: "c", chat: "1" }, text: "secret" }, reason: "policy", since: 0 });
  const without = createFakeContext(plugin, { tasks });
  for (const ask of [() => without.tasks.withheld(), () => without.tasks.release("out_1"), () => without.tasks.refuse("out_1", "no")])
    await expect(ask()).rejects.toMatchObject({ code: "SVC_CAPABILITY_UNDECLARED" });
  const { tasks: allowed } = createFakeContext({ ...plugin, capabilities: [...plugin.capabilities, "withheld"] }, { tasks });
  expect(await allowed.withheld()).toHaveLength(1);
  expect(await allowed.refuse("out_1", "no")).toBe(true);
  expect(tasks.decided).toEqual([{ id: "out_1", refused: "no" }]);
  const { taskId } = await allowed.accept(message);
  expect(await allowed.result(taskId)).toMatchObject({ ok: true, taskId, reply: "re: hi" });
  await expect(allowed.result("task_none")).rejects.toMatchObject({ code: "SVC_TASK_UNKNOWN" });
});
