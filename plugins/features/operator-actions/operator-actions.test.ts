import type { ChildEnd, FetchAnswer, FetchInit, Lifecycle, SpawnOptions } from "@svc/sdk";
import { createFakeContext, createMemoryFiles } from "@svc/sdk/testing";
import { afterEach, expect, it } from "vitest";
import plugin from "./index.ts";

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0)) await clean();
});

interface World {
  readonly files?: Record<string, unknown>;
  readonly env?: Record<string, string>;
  readonly end?: Partial<ChildEnd>;
  readonly answer?: Partial<FetchAnswer> | Error;
}

async function setUp({ files = {}, env = {}, end = {}, answer = {} }: World = {}) {
  const content = new Map<string, string>();
  const write = (id: string, definition: unknown) =>
    content.set(`/daemon/.svc/actions/${id}.json`, typeof definition === "string" ? definition : JSON.stringify(definition));
  for (const [id, definition] of Object.entries(files)) write(id, definition);
  const spawned: { command: string; args: readonly string[]; options: SpawnOptions }[] = [];
  const fetched: { url: string; init: FetchInit | undefined }[] = [];
  const ctx = createFakeContext(plugin, {
    env,
    files: createMemoryFiles(content),
    actions: [{ name: "clock.now", description: "The time.", input: { type: "object" }, output: { type: "number" }, timeoutMs: 1000, run: async () => 7 }],
    spawn(command, args, options) {
      spawned.push({ command, args, options });
      const ended = Promise.resolve({ code: 0, signal: null, stdout: "out", stderr: "", truncated: false, ...end });
      return { pid: 1, started: Promise.resolve(), ended, write: async () => {}, closeStdin: () => {}, stop: async () => {} };
    },
    async fetch(url, init) {
      fetched.push({ url, init });
      if (answer instanceof Error) throw answer;
      return { status: 200, statusText: "OK", headers: {}, body: new Uint8Array(), text: () => "page", truncated: false, url, ...answer };
    },
  });
  const life = plugin.setup(ctx) as Lifecycle;
  await life.start?.();
  cleanups.push(() => life.stop?.());
  const run = (id: string, body?: unknown) => ctx.request("POST", `/api/actions/${id}/run`, { body });
  return { ctx, content, write, run, spawned, fetched };
}
const greet = { kind: "shell", title: "Greets.", command: "echo {{who}}", inputs: [{ name: "who", type: "string", required: true }] };

it("ACT-11 runs an action by its id, with /bin/sh in the daemon's folder, and answers an ActionRunResult", async () => {
  const { run, spawned } = await setUp({ files: { greet } });
  expect((await run("greet", { who: "it's me; rm -rf /" })).body).toEqual({ ok: true, status: 0, output: "out", errors: "", durationMs: expect.any(Number) });
  expect(spawned).toMatchObject([
    {
      command: "/bin/sh",
      args: ["-c", "echo 'it'\\''s me; rm -rf /'"],
      options: { cwd: "/daemon", stdin: "ignore", timeoutMs: 30_000, maxOutputBytes: 32_768 },
    },
  ]);
});

it.each(["nobody", "builtin", "..%2F..%2Fsvc", "GREET", "greet.json", "%00"])("ACT-11 FAULT-50 answers 404 for the id %s", async (id) => {
  const { run, spawned } = await setUp({ files: { greet, builtin: greet } });
  expect((await run(id, { who: "x" })).status).toBe(404);
  expect(spawned).toEqual([]);
});

it("ACT-09 refuses bad inputs before anything runs and types text as the command line sends it", async () => {
  const { run, spawned } = await setUp({
    files: {
      sum: {
        kind: "shell",
        command: "echo {{n}} {{b}} {{d}}",
        inputs: [
          { name: "n", type: "number", required: true },
          { name: "b", type: "boolean" },
          { name: "d", defaultValue: "dflt" },
        ],
      },
    },
  });
  for (const body of [{}, { n: "abc" }, { n: 1, other: 1 }, { n: 1, b: "maybe" }]) {
    expect(await run("sum", body), JSON.stringify(body)).toMatchObject({ status: 400, body: { code: "SVC_ACTION_INPUT" } });
  }
  expect(spawned).toEqual([]);
  await run("sum", { n: "5", b: "false" });
  expect(spawned[0]?.args[1]).toBe("echo '5' 'false' 'dflt'");
});

it("ACT-10 answers ok false for a failure, a time-out and cut output, each told apart", async () => {
  const failed = await setUp({ files: { a: { kind: "shell", command: "false" } }, end: { code: 3, stderr: "no" } });
  expect((await failed.run("a")).body).toMatchObject({ ok: false, status: 3, errors: "no" });
  const late = await setUp({
    files: { a: { kind: "shell", command: "x", timeoutMs: 50 } },
    end: { code: null, signal: "SIGTERM", reason: "timeout", stderr: "half" },
  });
  expect((await late.run("a")).body).toMatchObject({ ok: false, status: null, errors: "half\nIt was stopped after 50 ms." });
  const flood = await setUp({ files: { a: { kind: "shell", command: "yes" } }, end: { truncated: true } });
  expect((await flood.run("a")).body).toMatchObject({ ok: true, truncated: true });
});

it("ACT-08 sends an HTTP action to the origin the operator wrote, local or not, and takes 2xx for ok", async () => {
  const files = {
    lamp: {
      kind: "http",
      url: "http://127.0.0.1:8123/lamp/{{room}}",
      method: "POST",
      body: '{"on": {{on}}}',
      inputs: [
        { name: "room", required: true },
        { name: "on", type: "boolean", defaultValue: true },
      ],
      timeoutMs: 900,
    },
  };
  const { run, fetched } = await setUp({ files });
  expect((await run("lamp", { room: "a/b" })).body).toMatchObject({ ok: true, status: 200, output: "page", errors: "" });
  expect(fetched).toMatchObject([
    {
      url: "http://127.0.0.1:8123/lamp/a%2Fb",
      init: { method: "POST", body: '{"on": true}', trustedOrigins: ["http://127.0.0.1:8123"], maxBytes: 32_768, timeoutMs: 900 },
    },
  ]);
  const missing = await setUp({ files, answer: { status: 404, statusText: "Not Found" } });
  expect((await missing.run("lamp", { room: "a" })).body).toMatchObject({ ok: false, status: 404, errors: "The server answered 404 Not Found" });
});

it("FAULT-59 keeps secrets out of results, whatever the server or the program says about them", async () => {
  const env = { API_TOKEN: "s3cr3t/&value", HOME: "/home/operator" };
  const url = "https://example.org/?key=${API_TOKEN}";
  const cut = await setUp({
    env,
    files: { a: { kind: "http", url } },
    answer: new Error("could not reach https://example.org/?key=s3cr3t/&value (s3cr3t%2F%26value)"),
  });
  expect((await cut.run("a")).body).toMatchObject({ ok: false, status: null, errors: "could not reach https://example.org/?key=[API_TOKEN] ([API_TOKEN])" });
  const echo = await setUp({
    env,
    files: { a: { kind: "shell", command: "echo ${API_TOKEN} ${HOME}" } },
    end: { stdout: "s3cr3t/&value /home/operator", stderr: "s3cr3t/&value!" },
  });
  expect((await echo.run("a")).body).toMatchObject({ output: "[API_TOKEN] /home/operator", errors: "[API_TOKEN]!" });
  expect(JSON.stringify(echo.spawned[0]?.args)).not.toContain("s3cr3t");
  expect(echo.spawned[0]?.options.env).toEqual(env);
  const logs = JSON.stringify([...cut.ctx.logged, ...echo.ctx.logged]);
  expect(logs).not.toContain("s3cr3t");
});

it("FAULT-59 gives a child none of the daemon's variables that its command does not name", async () => {
  const { run, spawned } = await setUp({ env: { API_TOKEN: "s3cr3t-value" }, files: { greet } });
  await run("greet", { who: "${API_TOKEN}" });
  expect(spawned[0]?.options.env).toEqual({});
});

it("says which variable an HTTP action lacks instead of sending without it", async () => {
  const { run, fetched } = await setUp({ files: { a: { kind: "http", url: "https://example.org/", headers: { authorization: "Bearer ${API_TOKEN}" } } } });
  expect(await run("a")).toMatchObject({ status: 422, body: { error: expect.stringContaining("API_TOKEN") } });
  expect(fetched).toEqual([]);
});

it("reads files anew when they change, collects what is wrong in one, and keeps the others", async () => {
  const { ctx, run, write, content } = await setUp({ files: { greet, broken: "{ half", sloppy: { kind: "shell", command: "echo '{{x}}'" } } });
  const list = async () =>
    (await ctx.request("GET", "/api/actions")).body as { actions: { id: string; title: string }[]; errors: { file: string; error: string }[] };
  expect(await list()).toMatchObject({
    actions: [{ id: "greet", kind: "shell", title: "Greets.", inputs: greet.inputs, timeoutMs: 30_000 }],
    errors: [{ file: "broken.json" }, { file: "sloppy.json", error: expect.stringContaining("single quotes") }],
  });
  expect(await run("sloppy")).toMatchObject({ status: 409, body: { code: "SVC_OPERATOR_ACTION_INVALID" } });
  expect(ctx.logged.filter(({ level }) => level === "warn").map(({ facts }) => facts)).toEqual([{ file: "broken.json" }, { file: "sloppy.json" }]);
  write("broken", { kind: "shell", command: "date" });
  write("greet", { ...greet, title: "Greets politely." });
  content.delete("/daemon/.svc/actions/sloppy.json");
  expect(await list()).toEqual({
    actions: [expect.objectContaining({ id: "broken" }), expect.objectContaining({ id: "greet", title: "Greets politely." })],
    errors: [],
  });
});

it("provides each action by its id to agents and workflows, and takes it back with its file", async () => {
  const { ctx, content } = await setUp({ files: { greet } });
  const names = () => ctx.actions.list().map(({ name }) => name);
  expect(names()).toEqual(["clock.now", "greet"]);
  expect(await ctx.actions.run("greet", { who: "x" }, { door: "workflow" })).toMatchObject({ status: "ok", output: { ok: true, output: "out" } });
  expect(await ctx.actions.run("greet", { who: 5 }, { door: "workflow" })).toMatchObject({ status: "error" });
  content.clear();
  await ctx.registered.jobs.find(({ kind }) => kind === "every")?.run(new Date());
  expect(names()).toEqual(["clock.now"]);
});

it("ACT-07 lists and runs what plugins provide, answering the envelope, and not the operator's own", async () => {
  const { ctx } = await setUp({ files: { greet } });
  expect((await ctx.request("GET", "/api/actions/builtin")).body).toMatchObject({
    actions: [{ name: "clock.now", description: "The time.", timeoutMs: 1000 }],
  });
  const run = (name: string, body: unknown) => ctx.request("POST", `/api/actions/builtin/${name}`, { body });
  expect((await run("clock.now", {})).body).toEqual({ action: "clock.now", status: "ok", input: {}, output: 7, durationMs: expect.any(Number) });
  expect((await run("clock.now", { extra: 1 })).body).toMatchObject({ status: "error", error: expect.stringContaining("extra") });
  expect((await run("greet", { who: "x" })).status).toBe(404);
  expect((await run("nobody", {})).status).toBe(404);
});

it("guards every route for this machine and its peers, and those of the pages for who may write", async () => {
  const { ctx } = await setUp();
  expect(ctx.registered.routes.map(({ server = "daemon", guard }) => `${server} ${guard}`)).toEqual([
    ...Array(4).fill("daemon peer"),
    ...Array(2).fill("dashboard scope:dashboard:write"),
  ]);
});

it("hands the key of the effect to the program and to the server that it calls", async () => {
  const hook = { kind: "http", title: "Calls.", url: "https://example.org/", method: "POST" };
  const { ctx, spawned, fetched } = await setUp({ files: { greet, hook } });
  const call = { door: "workflow", key: "run_1/greet/1" };
  await ctx.actions.run("greet", { who: "a" }, call);
  await ctx.actions.run("hook", {}, call);
  expect(spawned[0]?.options.env).toEqual({ SVC_IDEMPOTENCY_KEY: "run_1/greet/1" });
  expect(fetched[0]?.init?.headers).toMatchObject({ "idempotency-key": "run_1/greet/1" });
});
