import { execFile } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { createKernel, resolveEntry } from "@svc/kernel";
import { isolate } from "@svc/kernel/isolation";
import type { Actions, FetchAnswer, GuardedFetch, Lifecycle, Plugin } from "@svc/sdk";
import { type ChannelFarEnd, channelContract, createFakeContext } from "@svc/sdk/testing";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { action, type Laid, lay, runIsolated, statusOf } from "../faults/isolation.harness.ts";
import { ROOT } from "../house/house.ts";
import { baseOf, post, runKernel, temporaryFolder } from "../kit/kernel.ts";
import { scriptedTier } from "../kit/scripted.ts";

const run = promisify(execFile);
const PATIENCE = { timeout: 20_000, interval: 20 };

/** What `svc plugin new channel` writes, built: a plugin of somebody else's. */
async function templateChannel(home: string): Promise<string> {
  await run(process.execPath, [join(ROOT, "cli/bin/svc.mjs"), "plugin", "new", "channel", "my-acme"], { cwd: home });
  const folder = join(home, "svc-plugin-my-acme");
  mkdirSync(join(folder, "node_modules/@svc"), { recursive: true });
  symlinkSync(join(ROOT, "sdk"), join(folder, "node_modules/@svc/sdk"));
  for (const name of ["typescript", "@types"]) symlinkSync(join(ROOT, "node_modules", name), join(folder, "node_modules", name));
  await run(process.execPath, [join(ROOT, "node_modules/typescript/bin/tsc")], { cwd: folder });
  return folder;
}

type FarEnd = ChannelFarEnd & { readonly root: string; close(): Promise<void> };
const TOKEN = "a-token-of-the-tests";

/** In place of the daemon's guarded fetch: real HTTP, to one address. */
const fetchFrom =
  (root: string): GuardedFetch =>
  async (url, { method = "GET", headers = {}, body, signal } = {}): Promise<FetchAnswer> => {
    if (!url.startsWith(`${root}/`)) throw new Error(`${url} is not the platform`);
    const answer = await fetch(url, { method, headers, ...(body === undefined ? {} : { body: body as string }), ...(signal === undefined ? {} : { signal }) });
    const bytes = new Uint8Array(await answer.arrayBuffer());
    const text = () => new TextDecoder().decode(bytes);
    return { status: answer.status, statusText: answer.statusText, headers: Object.fromEntries(answer.headers), body: bytes, text, truncated: false, url };
  };

describe("a channel of somebody else's, isolated", () => {
  let home = "";
  let folder = "";
  let startFarEnd: (token: string) => Promise<FarEnd>;
  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), "svc-isolated-"));
    folder = await templateChannel(home);
    ({ startFarEnd } = await import(pathToFileURL(join(folder, "dist/far-end.js")).href));
  }, 60_000);
  afterAll(() => rm(home, { recursive: true, force: true }));

  channelContract(
    { describe, it: (name, test) => void it(name, test, 120_000) },
    async () => {
      const far = await startFarEnd(TOKEN);
      const { plugin } = await isolate(resolveEntry(`process:${folder}`, "/", []), { env: process.env, hidden: [] });
      const config = { server: far.root, token: TOKEN, agent: "assistant", allowFrom: ["u-1"] };
      const context = createFakeContext(plugin, { config, fetch: fetchFrom(far.root) });
      // The contract sets up at once; a process takes a moment.
      const lifecycle = (await plugin.setup(context as never)) as Lifecycle<never>;
      return { plugin: { ...plugin, setup: () => lifecycle }, context: context as never, far, dispose: far.close };
    },
    { lacks: ["files in", "markup"] },
  );
});

describe("what an isolated plugin may register", () => {
  it("an action is called with its input, its caller and a signal, and its errors keep code and words, never a stack", async () => {
    const { act, actions } = await runIsolated([
      {
        name: "things",
        setup: `${action("things.call", "const { signal, ...rest } = call; return { input, rest, aborted: signal.aborted };")}
          ${action("things.fail", `throw Object.assign(new Error("it went wrong"), { code: "SVC_THINGS_WRONG", status: 418 });`)}
          ${action("things.wait", `await new Promise((_, reject) => call.signal.addEventListener("abort", () => reject(new Error("it was stopped"))));`)}
          ${action("things.bytes", "return { size: JSON.stringify(input).length };")}`,
      },
    ]);
    expect(await act("things.call", { deep: [{ ä: "ü" }] })).toEqual({ input: { deep: [{ ä: "ü" }] }, rest: { door: "cli" }, aborted: false });
    await expect(act("things.fail")).rejects.toThrow(/^it went wrong$/);
    const stop = new AbortController();
    const waiting = actions.run("things.wait", {}, { door: "cli", signal: stop.signal });
    setTimeout(() => stop.abort(), 50);
    expect(await waiting).toMatchObject({ status: "error", error: "it was stopped" });
    expect(await act("things.bytes", { text: "x".repeat(1_000_000) })).toEqual({ size: 1_000_011 });
    await expect(act("things.bytes", { text: "x".repeat(9_000_000) })).rejects.toThrow(/more than goes between the daemon and its process/);
  });

  const TIER: Laid = {
    name: "afar",
    kind: "tier",
    setup: `ctx.provide.tier({
      name: "afar", nativeSessions: true,
      async *run(turn, context, signal) {
        const word = context.prompt;
        if (word === "many") { for (let n = 0; n < 1_000; n += 1) yield { type: "text", text: n + " " }; yield { type: "done" }; return; }
        if (word === "throw") { yield { type: "text", text: "so far" }; throw Object.assign(new Error("no more"), { code: "SVC_AFAR_DONE" }); }
        if (word === "nonsense") { yield { type: 42 }; return; }
        if (word === "die") { yield { type: "text", text: "so far" }; process.exit(1); }
        if (word === "settings") { yield { type: "done", text: JSON.stringify(turn.agent.settings) }; return; }
        if (word === "wait") { yield { type: "text", text: "waiting" }; await new Promise((resolve) => signal.addEventListener("abort", resolve)); yield { type: "text", text: "put away" }; return; }
        yield { type: "text", text: "you said " }; yield { type: "text", text: word }; yield { type: "usage", usage: { input: 1, output: 2 } }; yield { type: "done" };
      },
      probe: async () => ({ ok: true, detail: "in process " + process.pid }),
    });`,
  };

  it("a tier's events stream as they come, in order and without holding up the wire; its end by any way is the task's", async () => {
    const { kernel, message } = await runIsolated([TIER], {
      agent: { tier: "afar", mcp: { m: { command: "x", env: { KEY: "a-secret" } } }, toolUseRequired: [] },
    });
    const say = (text: string) => kernel.tasks.run(message(text, { chat: text }));
    const heard: string[] = [];
    expect(await kernel.tasks.run(message("hello"), (event) => heard.push(event.type))).toMatchObject({
      ok: true,
      reply: "you said hello",
      usage: { input: 1, output: 2 },
    });
    expect(heard.filter((type) => type === "text")).toHaveLength(2);
    expect((await say("many")).reply.trim().split(" ")).toEqual(Array.from({ length: 1_000 }, (_, n) => String(n)));
    expect(await say("throw")).toMatchObject({ ok: false, error: "no more", errorKind: "SVC_AFAR_DONE" });
    expect(await say("nonsense")).toMatchObject({ ok: false, errorKind: "SVC_TIER_EVENT" });
    const settings = (await say("settings")).reply;
    expect(JSON.parse(settings)).toMatchObject({ name: "A", maxConcurrent: 1 });
    expect(settings).not.toContain("a-secret");
    expect((await kernel.capability("a")).engine).toEqual({ ok: true, detail: expect.stringContaining("in process") });
    const cancelled = kernel.tasks.run(
      message("wait", { chat: "w" }),
      (event) => event.type === "text" && void kernel.tasks.cancel(kernel.tasks.running()[0]!.id),
    );
    expect(await cancelled).toMatchObject({ ok: false, errorKind: "cancelled" });
    expect(await say("die")).toMatchObject({ ok: false, errorKind: "SVC_ISOLATION_ENDED" });
  });

  it("each of the six hooks is asked, and its answer counts", async () => {
    const { kernel, message, act } = await runIsolated([
      {
        name: "hooked",
        setup: `const heard = [];
          ctx.hooks.inbound.tap((message) => (message.text === "spam" ? { reject: "no spam" } : undefined));
          ctx.hooks.route.tap((message) => ({ agent: "a", conversation: "routed:" + message.chat, reply: { channel: message.channel, chat: message.chat } }));
          ctx.hooks.assembleContext.tap((context) => ({ ...context, prompt: context.prompt + " (assembled)" }), { stage: 5 });
          ctx.hooks.dispatch.tap((turn, context) => context.prompt.startsWith("take over") ? (async function* () { yield { type: "done", text: "taken over by " + turn.agent.id }; })() : undefined);
          ctx.hooks.emit.tap((envelope) => { if (envelope.type.startsWith("task")) heard.push(envelope.type); });
          ${action("hooked.heard", "return heard;")}`,
      },
    ]);
    expect(await kernel.tasks.run(message("spam"))).toMatchObject({ ok: false, error: expect.stringContaining("no spam") });
    expect(await kernel.tasks.run(message("hello"))).toMatchObject({ ok: true, reply: "hello (assembled)" });
    expect(await kernel.tasks.run(message("take over"))).toMatchObject({ ok: true, reply: "taken over by a" });
    await vi.waitFor(async () => expect(((await act("hooked.heard")) as string[]).length).toBeGreaterThan(0), PATIENCE);
  });

  it("a turn that an isolated plugin takes over is parked, given back, and hears by the tap's signal that it is cancelled", async () => {
    const { kernel, message, act } = await runIsolated([
      {
        name: "holder",
        setup: `let go = () => {}; const ended = [];
          ctx.hooks.dispatch.tap((turn, context, { signal }) => context.prompt.startsWith("wait") ? (async function* () {
            yield { type: "parked", reason: "a person" };
            await new Promise((resolve) => { go = resolve; signal.addEventListener("abort", () => { ended.push(context.prompt); resolve(); }); });
            if (!signal.aborted) yield { type: "pass", reason: "nobody came" };
          })() : undefined);
          ${action("holder.go", "go();")}
          ${action("holder.ended", "return ended;")}`,
      },
    ]);
    const parked = () => vi.waitFor(() => expect(kernel.tasks.running()).toMatchObject([{ step: "waiting" }]), PATIENCE);
    const back = kernel.tasks.run(message("wait for it"));
    await parked();
    await act("holder.go");
    expect(await back).toMatchObject({ ok: true, reply: "wait for it" });
    const cancelled = kernel.tasks.run(message("wait in vain"));
    await parked();
    expect(await kernel.tasks.cancel(kernel.tasks.running()[0]?.id as string)).toBe(true);
    expect(await cancelled).toMatchObject({ ok: false, errorKind: "cancelled" });
    await vi.waitFor(async () => expect(await act("holder.ended")).toEqual(["wait in vain"]), PATIENCE);
  });

  it("routes are behind the same guards, see no bearer, and answer whole", async () => {
    const { kernel } = await runIsolated(
      [
        {
          name: "routed",
          capabilities: ["routes"],
          setup: `ctx.provide.route({ method: "POST", path: "/routed/:id", guard: "loopback", body: { type: "object", additionalProperties: true },
              before: (request) => { if (request.params.id === "none") throw Object.assign(new Error("no such thing"), { status: 404 }); },
              handle: (request, reply) => { reply.status(201).header("x-made", "yes"); return { id: request.params.id, body: request.body, seen: Object.keys(request.headers) }; } });
            ctx.provide.route({ method: "POST", path: "/raw", guard: "signed", raw: true, handle: (request, reply) => reply.send(request.raw, "application/octet-stream") });
            ctx.provide.route({ method: "POST", path: "/large", guard: "signed", raw: true, maxBytes: 26214400, handle: (request) => request.raw.length });
            ctx.provide.route({ method: "GET", path: "/may", guard: "open", handle: (request) => request.may("open") });
            ctx.provide.route({ method: "GET", path: "/stream", guard: "open", handle: (request, reply) => { reply.stream(); } });`,
        },
      ],
      { listen: true },
    );
    const base = baseOf(kernel);
    const made = await post(base, "/routed/7", { a: 1 }, { authorization: "Bearer a-secret-token" });
    expect(made).toMatchObject({ status: 201, body: { id: "7", body: { a: 1 } } });
    expect(made.body.seen).not.toContain("authorization");
    expect(await post(base, "/routed/none", { a: 1 })).toMatchObject({ status: 404, body: { error: "no such thing" } });
    const bytes = new Uint8Array([0, 1, 2, 254, 255]);
    const echoed = await fetch(`${base}/raw`, { method: "POST", body: bytes, headers: { "content-type": "application/octet-stream" } });
    expect([...new Uint8Array(await echoed.arrayBuffer())]).toEqual([...bytes]);
    const large = async (size: number) => {
      const answer = await fetch(`${base}/large`, { method: "POST", body: new Uint8Array(size) });
      return [answer.status, (await answer.json()) as unknown];
    };
    expect(await large(2_000_000)).toEqual([200, 2_000_000]);
    expect(await large(9_000_000)).toMatchObject([413, { code: "SVC_ISOLATION_SIZE" }]);
    const may = await fetch(`${base}/may`);
    expect(await may.text()).toContain("the member 'may' of a request");
    const refused = await fetch(`${base}/stream`);
    expect({ status: refused.status, body: await refused.json() }).toMatchObject({ status: 501, body: { code: "SVC_ISOLATION_REFUSED" } });
  });

  it("a tool runs for an agent, and an action that is taken back is gone until its process is started again", async () => {
    const { kernel, act, status } = await runIsolated([
      {
        name: "comes",
        setup: `ctx.provide.tool({ name: "shout", description: "d", input: { type: "object", additionalProperties: true }, run: async (input, call) => input.text.toUpperCase() + " for " + call.agent });
          ${action("comes.end", "process.exit(1);")}
          const back = ctx.provide.action({ name: "comes.goes", description: "d", timeoutMs: 1000, input: { type: "object" }, output: {}, run: async () => "here" });
          ${action("comes.back", "back();")}`,
      },
    ]);
    expect(await kernel.runTool("shout", { text: "hey" }, { agent: "a", signal: new AbortController().signal })).toBe("HEY for a");
    expect(await act("comes.goes")).toBe("here");
    await act("comes.back");
    await vi.waitFor(async () => expect(status("feature-comes").provides).not.toContain("action comes.goes"), PATIENCE);
    await act("comes.end").catch(() => {});
    await vi.waitFor(async () => expect(await act("comes.goes")).toBe("here"), PATIENCE);
  });
});

describe("what of the context an isolated plugin has", () => {
  it("its section, state that stays, its own folder, the agents, events, timers, tasks and rendering", async () => {
    const { act, events, kernel } = await runIsolated(
      [
        {
          name: "user",
          capabilities: ["store", "files", "agents", "events", "jobs", "tasks", "render", "actions", "traces"],
          manifest: { section: "user", activate: "section" },
          plugin: `config: { at: "user", schema: { type: "object", properties: { word: { type: "string", default: "none" } } } },`,
          setup: `const heard = []; let ticks = 0;
            ctx.events.subscribe((envelope) => heard.push(envelope.data.n), "user:told");
            ctx.jobs.after(10, () => { ticks += 1; });
            ctx.jobs.at(Date.now() + 5, () => { ticks += 1; }); ctx.jobs.at(new Date(0), () => { ticks += 1; }); ctx.jobs.at(Date.now() + 5, () => { ticks += 1; })();
            let badTime; try { ctx.jobs.at(new Date("never"), () => {}); } catch (error) { badTime = error.code; }
            let badCron; try { ctx.jobs.cron("x", "not a cron", undefined, async () => {}); } catch (error) { badCron = error.code; }
            ${action("user.config", "return { ...ctx.config, id: ctx.id, node: ctx.node.id, badCron, badTime };")}
            ${action(
              "user.store",
              `const things = ctx.store.collection("things", { indexes: ["rank"] });
               await things.put("a", { rank: 2, none: null }); await things.put("b", { rank: 1 });
               const conflict = await things.put("a", { rank: 3 }, "absent").catch((error) => error.code);
               const queue = ctx.store.queue("work"); await queue.push({ n: 1 }); const [claimed] = await queue.claim(1, 1000); await queue.complete(claimed.id);
               await ctx.store.commit([{ op: "put", collection: "things", key: "c", value: { rank: 9 } }]);
               const journal = ctx.store.journal("log"); await journal.append("x");
               return { list: (await things.list({ by: "rank" })).map(({ key }) => key), doc: await things.get("a"), none: await things.get("z"), conflict, left: await queue.size(), tail: (await journal.tail(5)).map(({ value }) => value) };`,
            )}
            ${action(
              "user.files",
              `await ctx.files.own.write("a/b.bin", new Uint8Array([0, 255])); await ctx.files.own.change("n", 100, (before) => String(Number(before ? new TextDecoder().decode(before) : 0) + 1));
               await ctx.files.own.change("n", 100, async (before) => String(Number(new TextDecoder().decode(before)) + 1));
               const outside = await ctx.files.under("/etc").read("passwd", 10_000).catch((error) => error.code);
               let data; try { ctx.files.data; } catch (error) { data = error.code; }
               return { bytes: [...await ctx.files.own.read("a/b.bin", 10)], n: new TextDecoder().decode(await ctx.files.own.read("n", 10)), outside, data };`,
            )}
            ${action("user.others", `return { agents: ctx.agents.list().map(({ id }) => id), one: ctx.agents.get("a").name, actions: ctx.actions.list().length > 3, html: ctx.render.to("html-telegram", "**b**"), ticks, again: await ctx.actions.run("user.config", {}, { door: "agent" }).then(({ status }) => status) };`)}
            ${action("user.tell", `const envelope = ctx.events.publish({ kind: "x", type: "user:told", summary: "told", data: { n: input.n } }); let id; try { id = envelope.id; } catch (error) { id = error.code; } return { type: envelope.type, id };`)}
            ${action("user.heard", "return heard;")}
            ${action(
              "user.roots",
              `const codes = []; for (const call of [() => ctx.events.current(), () => ctx.events.inject({})]) try { call(); } catch (error) { codes.push(error.code); }
               return { codes, within: ctx.events.within({ rootId: "r", parentId: "p" }, () => ctx.events.current()) };`,
            )}
            ${action("user.task", `const types = []; const result = await ctx.tasks.run({ entry: "task", channel: "user", chat: "1", text: "hello", agent: "a" }, (event) => types.push(event.type)); const trace = await ctx.traces.get(result.taskId); let running; try { ctx.tasks.running(); } catch (error) { running = error.code; } return { reply: result.reply, types, status: trace.status, running };`)}`,
        },
      ],
      { config: { user: { word: "given" } } },
    );
    expect(await act("user.config")).toEqual({ word: "given", id: "feature-user", node: "n1", badCron: "SVC_CRON_INVALID", badTime: "SVC_TIME_INVALID" });
    expect(await act("user.store")).toEqual({
      list: ["b", "a", "c"],
      doc: { key: "a", value: { rank: 2, none: null }, version: 1 },
      conflict: "SVC_STORE_CONFLICT",
      left: 0,
      tail: ["x"],
    });
    expect(await act("user.files")).toEqual({ bytes: [0, 255], n: "2", outside: "SVC_ISOLATION_REFUSED", data: "SVC_ISOLATION_REFUSED" });
    await vi.waitFor(
      async () => expect(await act("user.others")).toEqual({ agents: ["a"], one: "A", actions: true, html: "<b>b</b>", ticks: 3, again: "ok" }),
      PATIENCE,
    );
    expect(await act("user.roots")).toEqual({ codes: ["SVC_ISOLATION_REFUSED", "SVC_ISOLATION_REFUSED"], within: { rootId: "r", parentId: "p" } });
    expect(await act("user.tell", { n: 7 })).toEqual({ type: "user:told", id: "SVC_ISOLATION_REFUSED" });
    await vi.waitFor(async () => expect(await act("user.heard")).toEqual([7]), PATIENCE);
    expect(events).toContainEqual(expect.objectContaining({ type: "user:told", node: "n1" }));
    expect(await act("user.task")).toMatchObject({
      reply: "hello",
      status: "ok",
      types: expect.arrayContaining(["accepted", "text"]),
      running: "SVC_ISOLATION_REFUSED",
    });
    expect(await kernel.traces.list({ channel: "user" })).toHaveLength(1);
  });

  it("it works on a queue and holds leases, and both end with its process", async () => {
    const { act, status } = await runIsolated([
      {
        name: "worker",
        capabilities: ["store"],
        setup: `const queue = ctx.store.queue("work"); const done = ctx.store.journal("done"); const lost = []; const held = [];
          queue.work(async ({ id, value, attempt }, signal) => {
            if (value === "hold") { held.push(attempt); await new Promise((resolve) => signal.addEventListener("abort", resolve)); throw signal.reason; }
            if (value === "fail" && attempt === 1) throw new Error("not yet");
            await ctx.store.commit([{ op: "append", journal: "done", value: value + attempt }, { op: "complete", queue: "work", id, attempt }]);
          }, { parallel: 2, retryMs: 10 });
          ${action("worker.push", `await queue.push(input.value, input.options); return await queue.nextDue();`)}
          ${action("worker.done", `return { done: (await done.read(0)).map(({ value }) => value), left: (await queue.list()).map(({ value }) => value), held, lost };`)}
          ${action("worker.lease", `const lease = await ctx.store.lease("leader", 5000); lease.signal.addEventListener("abort", () => lost.push(lease.signal.reason.message)); if (input.release) await lease.release(); return lease.held;`)}
          ${action("worker.extend", `return await queue.extend("nobody", 1, 1000);`)}
          ${action("worker.end", `process.exit(1);`)}`,
      },
    ]);
    const done = () => act("worker.done") as Promise<{ done: string[]; left: string[]; held: number[]; lost: string[] }>;
    await act("worker.push", { value: "one" });
    await act("worker.push", { value: "fail" });
    await vi.waitFor(async () => expect((await done()).done).toEqual(["one1", "fail2"]), PATIENCE);
    expect(await act("worker.extend")).toBe(false);
    expect(await act("worker.lease", { release: true })).toBe(true);
    expect(await act("worker.lease", { release: false })).toBe(true);
    await act("worker.push", { value: "hold" });
    await vi.waitFor(async () => expect(await done()).toMatchObject({ held: [1], left: ["hold"], lost: ["the lease was given back"] }), PATIENCE);
    await act("worker.end").catch(() => {});
    // A plugin that ends without a stop has its items until their lease runs out.
    await vi.waitFor(async () => expect(await act("worker.push", { value: "after" })).toBeGreaterThanOrEqual(0), PATIENCE);
    await vi.waitFor(async () => expect((await done()).done).toContain("after1"), PATIENCE);
    expect((await done()).left).toEqual(["hold"]);
    expect(status("feature-worker").state).toBe("running");
  });

  it("what it publishes while it serves a turn belongs to that turn's root", async () => {
    const { kernel, message, events } = await runIsolated([
      {
        name: "rooted",
        capabilities: ["events"],
        setup: `ctx.hooks.inbound.tap(async () => { await 0; ctx.events.publish({ kind: "x", type: "rooted:inside", summary: "x" }); });`,
      },
    ]);
    const result = await kernel.tasks.run(message("hello"));
    const inside = await vi.waitFor(() => {
      const found = events.find(({ type }) => type === "rooted:inside");
      expect(found).toBeDefined();
      return found!;
    }, PATIENCE);
    expect(inside.rootId).toBe((await kernel.traces.get(result.taskId))?.rootId);
  });

  it("of the environment it sees what every program needs and what it declared; of the disk its own files; and it starts nothing", async () => {
    const env = {
      PATH: process.env.PATH,
      HOME: "/home/nobody",
      CANARY_TOKEN: "canary",
      SVC_HUB_TOKEN: "hub",
      NODE_OPTIONS: "--no-warnings",
      ACME_KEY: "declared",
    };
    const { act } = await runIsolated(
      [
        {
          name: "curious",
          capabilities: ["env:ACME_KEY", "env:UNSET"],
          top: `import { readFileSync, writeFileSync } from "node:fs"; import { spawnSync } from "node:child_process"; import { Worker } from "node:worker_threads";
            const told = (work) => { try { work(); return "allowed"; } catch (error) { return error.code; } };`,
          setup: `${action("curious.env", `let undeclared; try { ctx.env("CANARY_TOKEN"); } catch (error) { undeclared = error.code; } return { names: Object.keys(process.env).sort(), all: JSON.stringify(process.env), key: ctx.env("ACME_KEY"), unset: ctx.env("UNSET") ?? "unset", undeclared };`)}
            ${action("curious.disk", `return { own: told(() => readFileSync(new URL("./package.json", import.meta.url))), other: told(() => readFileSync("/etc/passwd")), write: told(() => writeFileSync(new URL("./x", import.meta.url), "x")), program: told(() => spawnSync("true").error && (() => { throw spawnSync("true").error; })()), thread: told(() => new Worker("1", { eval: true })) };`)}
            ${action("curious.undeclared", "return ctx.store;")}`,
        },
      ],
      { env },
    );
    const seen = (await act("curious.env")) as { names: string[]; all: string };
    expect(seen).toMatchObject({ key: "declared", unset: "unset", undeclared: "SVC_CAPABILITY_UNDECLARED" });
    // Bubblewrap adds where it is.
    expect(seen.names.filter((name) => name !== "PWD")).toEqual(["ACME_KEY", "HOME", "JITI_FS_CACHE", "PATH", "SVC_RUN"]);
    expect(seen.all).not.toMatch(/canary|hub/);
    expect(await act("curious.disk")).toEqual({
      own: "allowed",
      other: "ERR_ACCESS_DENIED",
      write: expect.stringMatching(/^(ERR_ACCESS_DENIED|EROFS)$/),
      program: "ERR_ACCESS_DENIED",
      thread: "ERR_ACCESS_DENIED",
    });
    await expect(act("curious.undeclared")).rejects.toThrow(/'store' without declaring it/);
  });

  it("a reload gives it its new section: in place where it can, else in a new process", async () => {
    const section = (name: string) => ({
      manifest: { section: name, activate: "section" },
      plugin: `config: { at: "${name}", schema: { type: "object", properties: { word: { type: "string" } } } },`,
    });
    const folder = await temporaryFolder();
    const write = (word: string) =>
      writeFileSync(
        join(folder, "svc.json"),
        JSON.stringify({
          node: { id: "n1", name: "N" },
          agents: { a: { name: "A", workspace: "./w", tier: "scripted" } },
          plugins: ["process:./supple", "process:./stiff"],
          supple: { word },
          stiff: { word },
        }),
      );
    const laid: Laid[] = [
      {
        name: "supple",
        ...section("supple"),
        setup: `let { word } = ctx.config; ${action("supple.word", "return word;")} return { reload: async (config) => { word = config.word; } };`,
      },
      { name: "stiff", ...section("stiff"), setup: action("stiff.word", "return ctx.config.word;") },
    ];
    for (const one of laid) lay(folder, one);
    write("one");
    let actions: Actions | undefined;
    const caller = {
      kind: "feature",
      name: "caller",
      version: "1.0.0",
      svc: "*",
      capabilities: ["actions"],
      setup: (ctx: { actions: typeof actions }) => void (actions = ctx.actions),
    };
    const kernel = await createKernel({
      config: join(folder, "svc.json"),
      plugins: [scriptedTier().plugin as Plugin<never>, caller as unknown as Plugin<never>],
    });
    await kernel.start();
    try {
      const word = async (name: string) => (await actions!.run(`${name}.word`, {}, { door: "cli" })).output;
      const pid = (name: string) => statusOf(kernel, `feature-${name}`).isolation?.pid;
      const before = { supple: pid("supple"), stiff: pid("stiff") };
      expect([await word("supple"), await word("stiff")]).toEqual(["one", "one"]);
      write("two");
      expect(await kernel.reload()).toMatchObject({ failed: [] });
      expect([await word("supple"), await word("stiff")]).toEqual(["two", "two"]);
      expect(pid("supple")).toBe(before.supple);
      expect(pid("stiff")).not.toBe(before.stiff);
    } finally {
      await kernel.stop({ drainSeconds: 0 });
    }
  });

  it("a plugin in TypeScript runs as it is, from a folder or from a single file", async () => {
    const folder = await temporaryFolder();
    const source = (name: string) => `import { definePlugin } from "@svc/sdk";
      interface Answer { readonly language: string }
      export default definePlugin({ kind: "feature", name: "${name}", version: "1.0.0", svc: "*", capabilities: [], setup(ctx) {
        ctx.provide.action({ name: "${name}.ask", description: "d", timeoutMs: 1000, input: { type: "object" }, output: {}, run: async (): Promise<Answer> => ({ language: "TypeScript" }) });
      } });`;
    mkdirSync(join(folder, "node_modules/@svc"), { recursive: true });
    symlinkSync(join(ROOT, "sdk"), join(folder, "node_modules/@svc/sdk"));
    mkdirSync(join(folder, "typed"));
    writeFileSync(join(folder, "typed/index.ts"), source("typed"));
    writeFileSync(
      join(folder, "typed/package.json"),
      JSON.stringify({
        name: "svc-plugin-typed",
        version: "1.0.0",
        type: "module",
        svc: { api: 1, kind: "feature", name: "typed", entry: "./index.ts", activate: "always", capabilities: [] },
      }),
    );
    writeFileSync(join(folder, "single.ts"), source("single"));
    const { kernel } = await runKernel({ folder, config: { plugins: ["process:./typed", "process:./single.ts"] } });
    const shown = kernel.health().plugins.filter(({ source: from }) => from === "path");
    expect(shown.map(({ id, state, provides }) => ({ id, state, provides }))).toEqual([
      { id: "feature-typed", state: "running", provides: ["action typed.ask"] },
      { id: "feature-single", state: "running", provides: ["action single.ask"] },
    ]);
  });
});
