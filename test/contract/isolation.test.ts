import { execFile } from "node:child_process";
import { mkdirSync, symlinkSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { resolveEntry } from "@svc/kernel";
import { isolate } from "@svc/kernel/isolation";
import type { FetchAnswer, GuardedFetch, Lifecycle } from "@svc/sdk";
import { type ChannelFarEnd, channelContract, createFakeContext } from "@svc/sdk/testing";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { action, type Laid, runIsolated } from "../faults/isolation.harness.ts";
import { ROOT } from "../house/house.ts";
import { baseOf, post } from "../kit/kernel.ts";

const run = promisify(execFile);
const PATIENCE = { timeout: 20_000, interval: 50 };

/** What `svc plugin new channel` writes, built: a plugin of somebody else's. */
async function templateChannel(home: string): Promise<string> {
  await run(process.execPath, [join(ROOT, "cli/bin/svc.cjs"), "plugin", "new", "channel", "my-acme"], { cwd: home });
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
  // It is looked at once: each setup starts a process of its own.
  let plugin: Awaited<ReturnType<typeof isolate>>["plugin"];
  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), "svc-isolated-"));
    folder = await templateChannel(home);
    ({ startFarEnd } = await import(pathToFileURL(join(folder, "dist/far-end.js")).href));
    ({ plugin } = await isolate(resolveEntry(`process:${folder}`, "/", []), { env: process.env, hidden: [] }));
  }, 60_000);
  afterAll(() => rm(home, { recursive: true, force: true }));

  channelContract(
    { describe, it: (name, test) => void it(name, test, 120_000) },
    async () => {
      const far = await startFarEnd(TOKEN);
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
