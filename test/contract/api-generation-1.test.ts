import { createHmac } from "node:crypto";
import { readdirSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createKernel, type Kernel } from "@svc/kernel";
import { type Actions, definePlugin, type Plugin } from "@svc/sdk";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ROOT } from "../house/house.ts";
import { temporaryFolder } from "../kit/kernel.ts";
import { echoConfig, openShell, type Shell } from "../kit/svc.ts";

/** Compiled against a sdk of generation 1 and never built anew: one of each provided kind, a tap of each hook, most capabilities. */
const FIXTURES = join(ROOT, "test/contract/fixtures");
const compiled = readdirSync(FIXTURES).filter((name) => name === "plugin-api-1" || name.startsWith("plugin-sdk-"));
const KNOWN = ["features/dashboard", "features/tokens"].map((path) => join(ROOT, "plugins", path));
const TOKEN = "the-token-of-gen1";

const PROVIDES = [
  "channel gen1",
  "tier gen1",
  "action gen1.once",
  "action gen1.facts",
  "route GET /gen1/open",
  "route GET /gen1/peers",
  "route POST /gen1/signed",
  "route GET /gen1/scoped",
  "route POST /gen1/deliver",
  "route GET /who",
  "server gen1 127.0.0.1:0",
  "authority gen1",
  "tool gen1-echo",
];

/** Kinds that came after the first. */
const LATER = ["toolset gen1-set", "board gen1", "service gen1.notes", "panel gen1", "files /gen1/files"];
const providesOf = (name: string) => (name === "plugin-api-1" ? PROVIDES : [...PROVIDES, ...LATER]);

describe.each(compiled)("a plugin compiled against generation 1 of the plugin API: %s", (name) => {
  const folderOf = join(FIXTURES, name);
  let kernel: Kernel;
  const events: string[] = [];
  const daemon = (path: string, init: RequestInit = {}) => fetch(`http://127.0.0.1:${kernel.address?.port}${path}`, init);
  const body = (value: unknown): RequestInit => ({ method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(value) });
  const run = (text: string, agent: string | undefined = "a") =>
    kernel.tasks.run({ entry: "task", channel: "http", chat: "c1", text, ...(agent === undefined ? {} : { agent }) });
  let actions: Actions;
  const act = (name: string) => actions.run(name, {}, { door: "http" });
  const facts = () => act("gen1.facts") as Promise<{ status: string; output: Record<string, unknown> }>;
  const caller = definePlugin({
    kind: "feature",
    name: "caller",
    version: "1.0.0",
    svc: "*",
    capabilities: ["actions"],
    setup(ctx) {
      actions = ctx.actions;
    },
  });

  beforeEach(async () => {
    const folder = await temporaryFolder();
    const file = join(folder, "svc.json");
    const agent = (gen1: string) => ({ name: gen1, workspace: "./w", tier: "gen1", gen1 });
    await writeFile(
      file,
      JSON.stringify({
        node: { id: "n1", name: "N", bind: "127.0.0.1:0", defaultAgent: "a" },
        agents: { a: agent("Ada"), gen1: agent("Gus") },
        plugins: [folderOf],
        gen1: { token: TOKEN },
      }),
      { mode: 0o600 },
    );
    kernel = await createKernel({
      config: file,
      known: KNOWN,
      plugins: [caller as Plugin<never>],
      listen: true,
      env: { ...process.env, GEN1_NAME: "the elder" },
    });
    events.length = 0;
    kernel.bus.subscribe(({ type }) => events.push(type));
    await kernel.start();
  });
  afterEach(() => kernel.stop({ drainSeconds: 0 }));

  it("loads, registers one of each kind and a tap of each hook, and starts", () => {
    expect(kernel.health().plugins.find(({ id }) => id === "tier-gen1")).toMatchObject({
      state: "running",
      provides: providesOf(name),
      hooks: ["inbound", "route", "assembleContext", "dispatch", "deliver", "emit"],
      failures: 0,
    });
    expect(events).toContain("gen1:answered");
  });

  it("is heard in every hook, and its tier answers", async () => {
    expect(await run("a question")).toMatchObject({ ok: true, reply: "**hello Ada** a question [cut]" });
    expect(await run("refuse me")).toMatchObject({ ok: false });
    expect(await run("take me over")).toMatchObject({ ok: true, reply: "taken over with layers" });
    expect(await run("route me", undefined)).toMatchObject({ ok: true, reply: "**hello Gus** route me [cut]" });
    expect(await run("fail")).toMatchObject({ ok: false, errorKind: "engine", error: expect.stringContaining("gen1 broke") });
  });

  it("has its capabilities", async () => {
    await run("a question");
    expect(await facts()).toMatchObject({
      status: "ok",
      output: {
        caller: "http",
        seen: 1,
        first: "a question",
        log: "a question",
        kept: "kept",
        child: "from a child",
        agents: ["a", "gen1"],
        actions: true,
        traces: true,
        health: "running",
        rendered: "<b>bold</b>",
        name: "the elder",
        emitted: true,
      },
    });
    await vi.waitFor(async () => expect((await facts()).output).toMatchObject({ ticked: 1 }));
    expect(await act("gen1.once")).toMatchObject({ status: "ok", output: "once" });
    expect(await act("gen1.once")).toMatchObject({ status: "error" });
  });

  it("sends on its channel, in its markup, and what it refuses for good is refused", async () => {
    const sent = await daemon("/gen1/deliver", body({ text: "**bold** words" }));
    expect([sent.status, await sent.json()]).toEqual([200, { id: expect.any(String), platformId: "1" }]);
    expect((await facts()).output).toMatchObject({ sent: ["<b>bold</b> words"] });
    expect((await daemon("/gen1/deliver", body({ text: "never" }))).status).toBe(502);
    expect((await daemon("/gen1/deliver", body({ text: "" }))).status).toBe(422);
    expect(await kernel.testChannel("gen1", AbortSignal.timeout(5_000))).toBe("signed in as gen1");
    expect((await kernel.capability("a")).engine).toMatchObject({ ok: true, detail: "gen1 is here" });
  });

  it("is served behind its guards, on the daemon's server and on its own, and judges its bearer", async () => {
    const ask = async (path: string, init: RequestInit = {}) => {
      const answer = await daemon(path, init);
      return [answer.status, (await answer.json()) as Record<string, unknown>];
    };
    const bearer = { headers: { authorization: `Bearer ${TOKEN}` } };
    expect(await ask("/gen1/open")).toEqual([200, { open: true }]);
    if (name !== "plugin-api-1") expect(await (await daemon("/gen1/files/panel.js")).text()).toContain("gen1 is here");
    expect(await ask("/gen1/peers")).toEqual([200, { peer: null }]);
    expect((await ask("/gen1/scoped"))[0]).toBe(401);
    expect(await ask("/gen1/scoped", bearer)).toEqual([200, { token: "the token of gen1" }]);
    const signature = createHmac("sha256", TOKEN).update("{}").digest("hex");
    expect(await ask("/gen1/signed", { method: "POST", body: "{}", headers: { "x-gen1": signature } })).toEqual([200, { signed: true }]);
    expect((await ask("/gen1/signed", { method: "POST", body: "{}", headers: { "x-gen1": "00" } }))[0]).toBe(401);
    const port = kernel.servers.find(({ name }) => name === "gen1")?.port;
    const own = await fetch(`http://127.0.0.1:${port}/who`);
    expect([own.status, await own.json(), own.headers.get("x-gen1")]).toEqual([200, { who: "gen1" }, "yes"]);
    expect(await kernel.runTool("gen1-echo", { text: "hi" }, { agent: "a", signal: AbortSignal.timeout(5_000) })).toBe("a: hi");
  });
});

describe.each(compiled)("in the daemon: %s", (name) => {
  let shell: Shell;
  afterEach(() => shell.end());

  it("a plugin of generation 1 runs, and its actions answer", async () => {
    shell = await openShell();
    shell.write(echoConfig({}, { plugins: [join(FIXTURES, name)], gen1: { token: TOKEN } }));
    expect(await shell.svc("daemon", "start")).toMatchObject({ code: 0 });
    const { out } = await shell.svc("plugin", "list", "--json");
    expect((JSON.parse(out) as { id: string }[]).find(({ id }) => id === "tier-gen1")).toMatchObject({ state: "running", provides: providesOf(name) });
    expect((await shell.svc("actions", "run", "gen1.facts")).out).toContain("kept");
  }, 60_000);
});
