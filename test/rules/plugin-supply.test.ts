import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createKernel } from "@svc/kernel";
import { describe, expect, it } from "vitest";
import { runKernel, temporaryFolder } from "../kit/kernel.ts";
import { createTestKernel } from "../kit/test-kernel.ts";

interface Written {
  readonly entry?: string;
  readonly svc?: object;
  readonly pkg?: object;
}

/** A package folder of one module. */
function write(folder: string, name: string, module: string, { entry = "./index.mjs", svc = {}, pkg = {} }: Written = {}): void {
  mkdirSync(join(folder, name), { recursive: true });
  const manifest = { api: 1, kind: "feature", name, entry, activate: "always", capabilities: [], ...svc };
  writeFileSync(join(folder, name, "package.json"), JSON.stringify({ name: `svc-plugin-${name}`, version: "1.0.0", ...pkg, svc: manifest }));
  writeFileSync(join(folder, name, entry), module);
}

const define = (name: string, setup: string, rest = "") =>
  `export default { kind: "feature", name: "${name}", version: "1.0.0", svc: "*", capabilities: [], ${rest}\n  setup(ctx) {\n    ${setup}\n  },\n};\n`;

async function statusOf(folder: string, entry: string, options: object = {}) {
  const { kernel } = await runKernel({ folder, config: { plugins: [entry] }, ...options });
  return kernel.health().plugins.find(({ source }) => source === "path" || source === "package");
}

describe("@svc/sdk, for a plugin by its path where no node_modules holds it", () => {
  it("AUT-A2 ENG-19 is the daemon's own in a single TypeScript file, with its testing kit", async () => {
    const folder = await temporaryFolder();
    writeFileSync(join(folder, "words.ts"), 'export const word: string = "hello";');
    writeFileSync(
      join(folder, "one.ts"),
      `import { definePlugin, svcError, type PluginContext } from "@svc/sdk";
import { createFakeContext } from "@svc/sdk/testing";
import { word } from "./words.ts";
enum Loud { Yes = 1 }
export default definePlugin({
  kind: "feature", name: "one", version: "1.0.0", svc: ">=0.1.0", capabilities: ["routes"],
  setup(ctx: PluginContext): void {
    if (typeof createFakeContext !== "function" || Loud.Yes !== 1) throw svcError("SVC_ONE", word);
    ctx.provide.route({ method: "GET", path: "/one", guard: "open", handle: async () => ({ word }) });
  },
});
`,
    );
    expect(await statusOf(folder, "./one.ts")).toMatchObject({ id: "feature-one", state: "running", provides: ["route GET /one"] });
    // In a process of its own it reads itself, and nothing that lies beside it.
    const one = readFileSync(join(folder, "one.ts"), "utf8").replace(/^import \{ word \}.*$/m, 'const word = "alone";');
    writeFileSync(join(folder, "alone.ts"), one);
    expect(await statusOf(folder, "process:./alone.ts")).toMatchObject({ id: "feature-one", state: "running", provides: ["route GET /one"] });
  });

  it.each(["process:./folder", "./folder"])("AUT-A2 is the daemon's own in a folder of plain JavaScript: %s", async (entry) => {
    const folder = await temporaryFolder();
    write(
      folder,
      "folder",
      'import { definePlugin } from "@svc/sdk";\nimport { word } from "./words.js";\nexport default definePlugin({ kind: "feature", name: word, version: "1.0.0", svc: "*", capabilities: [], setup() {} });',
      {
        entry: "./index.js",
        pkg: { type: "module" },
      },
    );
    writeFileSync(join(folder, "folder/words.js"), 'export const word = "folder";');
    expect(await statusOf(folder, entry)).toMatchObject({ id: "feature-folder", state: "running" });
  });

  it("AUT-A2 any other package that is missing is named, with the file that wants it", async () => {
    const folder = await temporaryFolder();
    write(folder, "wanting", `import "not-there";\n${define("wanting", "")}`);
    expect(await statusOf(folder, "./wanting")).toMatchObject({
      state: "failed",
      reason: expect.stringMatching(/Cannot find package 'not-there' imported from .*wanting\/index\.mjs/),
    });
  });
});

describe("a mistake in a plugin is told with its place", () => {
  const broken = "const settings = undefined;\n    settings.boom();";
  const cases: [what: string, module: string, reason: RegExp][] = [
    ["at its top level", `const x = undefined;\nx.boom;\n${define("wrong", "")}`, /^import: .*'boom'\) \(index\.mjs:2:\d+\)$/],
    ["in setup", define("wrong", broken), /^setup: .*'boom'\) \(index\.mjs:4:\d+\)$/],
    ["in start", define("wrong", 'return { async start() {\n      throw new Error("401 bad token");\n    } };'), /^start: 401 bad token \(index\.mjs:4:\d+\)$/],
    ["in its syntax", "export default {\n  kind: = 1 };", /^import: Unexpected token.* \(index\.mjs:2:\d+\)$/],
  ];
  it.each(cases)("AUT-A9 AUT-A8 %s: phase, file and line in the status, the stack in the log", async (_what, module, reason) => {
    for (const entry of ["./wrong", "process:./wrong"]) {
      const folder = await temporaryFolder();
      const log = join(folder, "daemon.log");
      write(folder, "wrong", module);
      const status = await statusOf(folder, entry, { log: { destination: log } });
      expect(status?.state, entry).toBe("failed");
      expect(status?.reason, entry).toMatch(reason);
      const line = readFileSync(log, "utf8")
        .split("\n")
        .map((text) => (text === "" ? {} : JSON.parse(text)) as { plugin?: string; msg?: string; level?: number; err?: { stack: string } })
        .find(({ msg }) => msg?.startsWith("it does not run: "));
      expect(line, entry).toMatchObject({ plugin: "feature-wrong", level: 50, msg: `it does not run: ${status?.reason}` });
      if (entry === "./wrong") expect(line?.err?.stack).toContain(reason.source.includes("Unexpected") ? "    at " : "wrong/index.mjs");
    }
  });

  it.each(["./acts", "process:./acts"])("AUT-A9 a schema of an action that does not compile is told before any model is offered it: %s", async (entry) => {
    const folder = await temporaryFolder();
    const action = `ctx.provide.action({ name: "acts.now", description: "Acts.", input: { type: "objekt" }, output: { type: "object" }, timeoutMs: 1000, run: async () => ({}) });`;
    write(folder, "acts", define("acts", action), {});
    expect(await statusOf(folder, entry)).toMatchObject({
      state: "failed",
      reason: expect.stringMatching(/Plugin feature-acts provides the action acts\.now that cannot be used: the schema of its input does not compile/),
    });
  });

  it.each(["./odd", "process:./odd"])("AUT-A9 a lifecycle that is none is told by its member: %s", async (entry) => {
    const folder = await temporaryFolder();
    write(folder, "odd", define("odd", "return { start: 5 };"));
    expect(await statusOf(folder, entry)).toMatchObject({
      state: "failed",
      reason: expect.stringContaining("Plugin feature-odd: its setup returned a number as start; it may return an object"),
    });
  });

  it("AUT-A8 a start that takes too long is in the log", async () => {
    const folder = await temporaryFolder();
    const log = join(folder, "daemon.log");
    write(folder, "slow", define("slow", "return { start: () => new Promise(() => {}) };"), { svc: { startTimeoutMs: 100 } });
    expect(await statusOf(folder, "./slow", { log: { destination: log } })).toMatchObject({
      state: "failed",
      reason: expect.stringContaining("start did not answer within 100 ms"),
    });
    expect(readFileSync(log, "utf8")).toContain("it does not run: start: Plugin feature-slow: start did not answer within 100 ms");
  });

  it("AUT-A8 of an error that nobody caught the stack is in the log", async () => {
    const folder = await temporaryFolder();
    const log = join(folder, "daemon.log");
    write(
      folder,
      "stray",
      define(
        "stray",
        'return { async start() {\n      setTimeout(function again() {\n        if (globalThis.svcStray) globalThis.svcStray(new Error("nobody caught me"));\n        else setTimeout(again, 5);\n      }, 1);\n    } };',
      ),
    );
    const { kernel } = await runKernel({ folder, config: { plugins: ["./stray"] }, log: { destination: log } });
    await new Promise<void>((done) => {
      // In place of the process's own event, which belongs to the runner of these tests.
      Object.assign(globalThis, { svcStray: (error: Error) => done(void kernel.stray(error)) });
    });
    expect(readFileSync(log, "utf8")).toMatch(/nobody caught me.*stray\/index\.mjs:5:\d+/);
  });

  it("AUT-B13 a file that is not built is told so, and a top level that never ends is named", async () => {
    const folder = await temporaryFolder();
    write(folder, "unbuilt", "", { svc: { entry: "./dist/index.js" } });
    expect(await statusOf(folder, "./unbuilt")).toMatchObject({
      state: "failed",
      reason: expect.stringMatching(/its entry .*dist\/index\.js is not there; build it/),
    });
    write(folder, "endless", `await new Promise(() => {});\n${define("endless", "")}`);
    expect(await statusOf(folder, "./endless", { limits: { loadMs: 200 } })).toMatchObject({
      reason: expect.stringContaining("what its top level awaits belongs into start"),
    });
  });
});

describe("what a manifest says that its plugin registers", () => {
  const setup = `ctx.hooks.inbound.tap(() => undefined);
    ctx.provide.route({ method: "GET", path: "/said", guard: "open", handle: async () => ({}) });
    ctx.jobs.cron("nightly", "0 3 * * *", undefined, async () => {});`;
  const module = define("said", setup).replace("capabilities: []", 'capabilities: ["routes", "jobs"]');
  const all = ["hook inbound", "route GET /said open", "cron nightly *"];

  it.each(["./said", "process:./said"])("SEC-S6 is all that it may register: %s", async (entry) => {
    for (const registers of [all, undefined, [...all, "hook deliver"]]) {
      const folder = await temporaryFolder();
      write(folder, "said", module, { svc: { capabilities: ["routes", "jobs"], registers } });
      expect(await statusOf(folder, entry), String(registers)).toMatchObject({ state: "running" });
    }
    for (const missing of all.slice(0, 2)) {
      const folder = await temporaryFolder();
      write(folder, "said", module, { svc: { capabilities: ["routes", "jobs"], registers: all.filter((thing) => thing !== missing) } });
      expect(await statusOf(folder, entry), missing).toMatchObject({
        state: "failed",
        provides: [],
        reason: expect.stringContaining(`registers ${missing}, which registers in the svc member`),
      });
    }
  });
});

describe("what a mistake is called", () => {
  it.each([
    [
      'ctx.provide.action({ name: "x.y", input: 5, output: {}, timeoutMs: 1, run() {} });',
      "provides an action 'x.y' that cannot be used: input must be an object",
    ],
    ['ctx.provide.route({ method: "GET", path: "/x", handle() {} });', "provides a route 'GET /x' that cannot be used: guard must be a string"],
    ['ctx.provide.tool({ name: "t", run() {} });', "provides a tool 't' that cannot be used: input must be an object"],
  ])("AUT-B20 %s", async (setup, words) => {
    const folder = await temporaryFolder();
    write(folder, "wrong", define("wrong", setup).replace("capabilities: []", 'capabilities: ["routes"]'), { svc: { capabilities: ["routes"] } });
    expect((await statusOf(folder, "./wrong"))?.reason).toContain(words);
  });

  it("AUT-B11 of two of one id the advice switches off neither by the other's name", async () => {
    const tool = { name: "mine", description: "", input: { type: "object" }, run: async () => "" };
    const twice = {
      kind: "feature",
      name: "mine",
      version: "1.0.0",
      svc: "*",
      capabilities: [],
      setup: (ctx: { provide: { tool(tool: object): void } }) => ctx.provide.tool(tool),
    } as never;
    const kernel = await createTestKernel({ config: { node: { id: "n", name: "N" }, agents: {} }, plugins: [twice, twice] });
    await kernel.start();
    await kernel.stop();
    const reasons = kernel.health().plugins.flatMap(({ reason }) => reason ?? []);
    expect(reasons).toEqual([expect.stringContaining("it is there twice, so take one of the two away")]);
  });

  it("OPR-m17 an entry that leads to nothing is told at a reload, too, and one that switches off nothing", async () => {
    const folder = await temporaryFolder();
    const config = { node: { id: "n", name: "N" }, agents: {} };
    const file = join(folder, "svc.json");
    writeFileSync(file, JSON.stringify(config));
    const kernel = await createTestKernel({ config: file, known: [] });
    await kernel.start();
    try {
      write(folder, "late", define("late", ""));
      writeFileSync(file, JSON.stringify({ ...config, plugins: ["./late", "./nope.ts", "./gone", "svc-plugin-lost", "!feature-nope"] }));
      expect((await kernel.reload()).failed).toEqual([
        { plugin: "./nope.ts", reason: expect.stringContaining(`there is no ${join(folder, "nope.ts")}: mend the path`) },
        { plugin: "./gone", reason: expect.stringContaining("mend the path") },
        { plugin: "svc-plugin-lost", reason: expect.stringContaining("svc plugin add svc-plugin-lost") },
        { plugin: "feature-nope", reason: expect.stringContaining("no plugin here has that id") },
      ]);
    } finally {
      await kernel.stop();
    }
  });

  it("AUT-B18 an added plugin that nothing asks for says what it waits for", async () => {
    for (const [activate, words] of [
      ["section", "it waits for its section idle in svc.json"],
      ["enabled", "it waits for idle.enabled in svc.json"],
    ]) {
      const folder = await temporaryFolder();
      write(folder, "idle", define("idle", "", 'config: { at: "idle", schema: { type: "object" } },'), { svc: { activate, section: "idle" } });
      expect(await statusOf(folder, "./idle")).toMatchObject({ state: "known", reason: words });
    }
  });

  it("AUT-B21 an option that createKernel does not have is refused, with the one that may be meant", async () => {
    const wrong = { config: {}, datafolder: "x" };
    await expect(createKernel(wrong)).rejects.toMatchObject({ code: "SVC_KERNEL_OPTION", message: expect.stringContaining("did you mean 'dataFolder'?") });
    await expect(createKernel({ config: {}, database: {} } as never)).rejects.toThrow("takes no option 'database'");
  });
});
