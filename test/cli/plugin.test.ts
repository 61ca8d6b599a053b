import { appendFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Observed } from "@svc/kernel";
import { tortureCases, writeTorture } from "@svc/sdk/testing";
import { describe, expect, it } from "vitest";
import { ROOT } from "../house/house.ts";
import { sharedLines } from "../kit/lines.ts";
import { packPackage } from "../kit/pack.ts";
import { echoConfig } from "../kit/svc.ts";
import { shellWith, write } from "./plugin.harness.ts";

/** The commands of many lines, in one process. */
const lines = sharedLines();
const ELDER = join(ROOT, "test/publish/fixtures/plugin-0.1.0");

describe("svc plugin enable and disable", () => {
  it("keep a first-party plugin from loading by its id, and let it again", async () => {
    const shell = await shellWith();
    expect((await lines(shell).svc("plugin", "disable", "action-http-fetch")).out).toContain("switched off");
    expect(shell.config().plugins).toEqual(["!action-http-fetch"]);
    expect((await lines(shell).svc("plugin", "disable", "action-http-fetch")).out).toContain("off already");
    expect((await lines(shell).svc("plugin", "enable", "action-http-fetch")).out).toContain("switched on");
    expect(shell.config().plugins).toEqual([]);
    expect(await lines(shell).svc("plugin", "disable", "action-no-such")).toMatchObject({ code: 1, err: expect.stringContaining("svc plugin list") });
  });

  it("never switch off the store, without which nothing starts", async () => {
    const shell = await shellWith();
    expect(await lines(shell).svc("plugin", "disable", "store-sqlite")).toMatchObject({ code: 78, err: expect.stringContaining("Nothing keeps the state") });
    expect(shell.config().plugins).toBeUndefined();
    expect(await lines(shell).svc("config", "check")).toMatchObject({ code: 0 });
  });

  it("turn the switch of a section where it has one; the section stays when the plugin is off", async () => {
    const shell = await shellWith();
    expect(await lines(shell).svc("plugin", "add", ELDER, "--yes")).toMatchObject({ code: 0, out: expect.stringContaining("not pinned") });
    expect((await lines(shell).svc("plugin", "enable", ELDER)).code).toBe(0);
    expect(shell.config().elder).toEqual({ enabled: true });
    expect((await lines(shell).svc("plugin", "disable", ELDER)).code).toBe(0);
    expect(shell.config().elder).toEqual({ enabled: false });
    expect(shell.config().plugins).toHaveLength(1);
    expect(await lines(shell).svc("config", "check")).toMatchObject({ code: 0 });
    expect((await lines(shell).svc("plugin", "remove", ELDER)).out).toContain("Its section elder was taken out");
    expect(shell.config()).toMatchObject({ plugins: [] });
    expect(shell.config().elder).toBeUndefined();
  });
});

describe("svc plugin inspect and add", () => {
  it.each(["tier-local", "@svc/tier-local"])("inspect shows a plugin that comes with svc: %s", async (word) => {
    const shell = await shellWith();
    expect(await lines(shell).json<Observed>("plugin", "inspect", word)).toMatchObject({ id: "tier-local", agentKeys: ["local"] });
  });

  it("show what a plugin declares and what it really registers, in a process that sees no secret of the environment", async () => {
    const shell = await shellWith({ CANARY_TOKEN: "canary" });
    write(shell, "curious", 'setup(ctx) { if (process.env.CANARY_TOKEN) throw new Error("I see it"); ctx.hooks.inbound.tap(() => undefined); }');
    expect(await shell.json<Observed>("plugin", "inspect", "./curious")).toEqual({
      id: "feature-curious",
      version: "1.0.0",
      agentKeys: [],
      capabilities: [],
      registers: ["hook inbound"],
      things: ["hook inbound"],
    });
    expect((await lines(shell).svc("plugin", "inspect", ELDER)).out).toContain(
      "registers            action elder.reverse, hook assembleContext, hook inbound, route GET /elder open",
    );
  });

  it("name the reason when it cannot be brought up, and add nothing", async () => {
    const shell = await shellWith();
    for (const [name, reason] of [
      ["exits-at-load", "its process ended with code 3"],
      ["throws-in-setup", "broken in setup"],
      ["syntax-error", "cannot be used"],
    ] as const) {
      writeTorture(join(shell.folder, name), tortureCases.find((one) => one.name === name)!);
      expect(await lines(shell).svc("plugin", "add", `./${name}`, "--yes")).toMatchObject({ code: 1, err: expect.stringContaining(reason) });
    }
    expect(shell.config().plugins).toBeUndefined();
    expect((await lines(shell).svc("plugin", "add", "./nowhere", "--yes")).code).toBe(1);
    expect((await lines(shell).svc("plugin", "add", "--yes", "--", "-x")).code).toBe(2);
  });

  it("add nothing without a yes", async () => {
    const shell = await shellWith();
    write(shell, "quiet", "setup() {}");
    expect(await lines(shell).svc("plugin", "add", "./quiet")).toMatchObject({ code: 1, err: expect.stringContaining("--yes") });
    expect(shell.config().plugins).toBeUndefined();
  });
});

describe("commands that an installed plugin adds", () => {
  it("run while the plugin is what was trusted, and not before or after", { timeout: 120_000 }, async () => {
    const shell = await shellWith();
    const folder = join(shell.folder, "greeter");
    write(shell, "greeter", "setup() {}", { commands: [{ name: "greet", summary: "Greets", module: "./greet.mjs" }] });
    writeFileSync(
      join(folder, "greet.mjs"),
      'export default { name: "greet", summary: "Greets", commands: [{ name: "greet", args: "", summary: "Greets", run: async (_args, _options, cli) => cli.print("good day", {}) }] };',
    );
    packPackage(folder, shell.folder);
    expect(await shell.svc("plugin", "add", "./svc-plugin-greeter-1.0.0.tgz", "--yes")).toMatchObject({ code: 0 });
    expect(await shell.svc("greet")).toMatchObject({ code: 0, out: "good day\n" });
    appendFileSync(join(shell.folder, ".svc/node_modules/svc-plugin-greeter/greet.mjs"), "// changed");
    expect(await shell.svc("greet")).toMatchObject({ code: 1, err: expect.stringContaining("svc plugin trust svc-plugin-greeter") });
    rmSync(join(shell.folder, ".svc/plugins.lock.json"));
    expect((await shell.svc("greet")).err).toContain("was never trusted");
  });
});

describe("a plugin by its path", () => {
  it("AUT-A6 AUT-B3 AUT-B5 brings its command groups and its form of svc connect, and goes by its id", { timeout: 120_000 }, async () => {
    const shell = await shellWith();
    const greet = { commands: [{ name: "greet", summary: "Greets", module: "./greet.mjs" }] };
    write(shell, "greeter", "setup() {}", greet);
    writeFileSync(
      join(shell.folder, "greeter/greet.mjs"),
      'import { svcError } from "@svc/sdk";\nexport default { name: "greet", summary: "Greets", commands: [{ name: "greet", args: "", summary: "Greets", run: async (_args, _options, cli) => cli.print(typeof svcError, {}) }] };',
    );
    write(shell, "acme", "setup() {}", { kind: "channel", section: "channels.acme", activate: "enabled", connect: { agent: "agent" } });
    writeFileSync(join(shell.folder, "acme/sample.json"), JSON.stringify({ channels: { acme: { token: "${ACME_TOKEN}", agent: "assistant" } } }));
    // As the template has it: nothing in its manifest says where the agent stands.
    write(shell, "plain", "setup() {}", { kind: "channel", section: "channels.plain", activate: "enabled" });
    writeFileSync(join(shell.folder, "plain/sample.json"), JSON.stringify({ channels: { plain: { agent: "assistant", allowFrom: [] } } }));
    writeFileSync(join(shell.folder, "one.mjs"), 'export default { kind: "feature", name: "one", version: "1.0.0", svc: "*", capabilities: [], setup() {} };');
    shell.write(echoConfig({}, { plugins: ["./greeter", "process:./acme", "./plain", "./one.mjs"] }));
    expect(await shell.svc("greet")).toMatchObject({ code: 0, out: "function\n" });
    expect((await shell.svc("--help")).out).toContain("Greets");
    expect((await lines(shell).svc("connect", "nothing", "--yes")).err).toContain("acme");
    for (const channel of ["acme", "plain"])
      expect((await lines(shell).svc("connect", channel, "--agent", "nobody", "--allow", "7", "--yes")).err).not.toContain("--agent means nothing");
    expect((await lines(shell).svc("connect", "plain", "--allow", "7", "--yes")).err).not.toContain("means nothing");
    for (const [id, entry] of [
      ["feature-greeter", "./greeter"],
      ["feature-one", "./one.mjs"],
    ] as const) {
      expect(await lines(shell).svc("plugin", "disable", id)).toMatchObject({ code: 0 });
      expect(shell.config().plugins).toContain(`!${id}`);
      expect(await lines(shell).svc("plugin", "enable", id)).toMatchObject({ code: 0 });
      expect(shell.config().plugins).toContain(entry);
      expect(shell.config().plugins).not.toContain(`!${id}`);
    }
    expect((await lines(shell).svc("plugin", "inspect", "feature-greeter")).out).toContain("feature-greeter 1.0.0");
    expect(await lines(shell).svc("plugin", "remove", "feature-greeter")).toMatchObject({ code: 0 });
    expect(shell.config().plugins).toEqual(["process:./acme", "./plain", "./one.mjs"]);
  });
});

describe("svc plugin doctor", () => {
  it("names for each plugin what is wrong and the next step", async () => {
    const shell = await shellWith();
    write(shell, "fine", "setup() {}");
    write(shell, "old", "setup() {}", { api: 0 });
    shell.write(echoConfig({}, { plugins: ["./fine", "./old", "./gone", "svc-plugin-lost"] }));
    const { code, out } = await lines(shell).svc("plugin", "doctor");
    expect(code).toBe(1);
    expect(out).toMatch(/ok\s+\.\/fine\s+1\.0\.0, uses nothing/);
    expect(out).toMatch(/ERROR\s+\.\/old\s+.*generation 0.*svc plugin check/);
    expect(out).toMatch(/ERROR\s+\.\/gone\s+.*mend the path/);
    expect(out).toMatch(/ERROR\s+svc-plugin-lost\s+is not installed\s+svc plugin add svc-plugin-lost/);
  });

  it("OPR-m17 svc config check places entries that lead to nothing", async () => {
    const shell = await shellWith();
    shell.write('{\n  "node": { "id": "n", "name": "N" },\n  "agents": {},\n  "plugins": [\n    "!action-http-fetsh",\n    "./nope.ts"\n  ]\n}\n');
    const { code, out } = await lines(shell).svc("config", "check");
    expect(code).not.toBe(0);
    expect(out).toMatch(/warning: \S+svc\.json:5:5 plugins\.0: switches off action-http-fetsh, .* did you mean action-http-fetch\?/);
    expect(out).toMatch(/error: \S+svc\.json:6:5 plugins\.1: The plugin '\.\/nope\.ts' .* there is no /);
    expect(out).not.toContain("Require stack");
  });

  it("OPR-m25 names each finding once, also while a daemon says the same", async () => {
    const shell = await shellWith();
    write(shell, "fine", "setup() {}");
    write(shell, "old", "setup() {}", { api: 0 });
    write(shell, "broken", 'setup() { return { async start() { throw new Error("401 bad token"); } }; }');
    shell.write(echoConfig({}, { plugins: ["./fine", "./old", "./broken"] }));
    expect(await shell.svc("daemon", "start")).toMatchObject({ code: 0 });
    try {
      const findings = await lines(shell).json<{ plugin: string; level: string; text: string }[]>("plugin", "doctor");
      expect(findings.map(({ plugin, level }) => [plugin, level])).toEqual([
        ["./fine", "ok"],
        ["./old", "error"],
        ["./broken", "error"],
      ]);
      expect(findings[2]?.text).toMatch(/^failed: start: 401 bad token \(index\.mjs:1:\d+\)$/);
    } finally {
      await shell.end();
    }
  });
});
