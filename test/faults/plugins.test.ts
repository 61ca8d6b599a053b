import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { PluginStatus } from "@svc/kernel";
import { type Actions, definePlugin, type Plugin } from "@svc/sdk";
import { type TortureCase, tortureCases, writeTorture } from "@svc/sdk/testing";
import { afterEach, describe, expect, it, vi } from "vitest";
import { ROOT } from "../house/house.ts";
import { holding } from "../kit/hold-loop.ts";
import { runKernel, temporaryFolder } from "../kit/kernel.ts";
import { sharedLines } from "../kit/lines.ts";
import { packPackage } from "../kit/pack.ts";
import { echoConfig, openShell, type Shell } from "../kit/svc.ts";
import { launch, startDaemon } from "./daemon.harness.ts";

const named = (...names: string[]): TortureCase[] => names.map((name) => tortureCases.find((one) => one.name === name)!);
const idOf = ({ name }: TortureCase) => `feature-torture-${name}`;

const PATIENCE = { timeout: 20_000, interval: 100 };

const shells: Shell[] = [];
afterEach(async () => {
  for (const shell of shells.splice(0)) await shell.end();
});

/** A folder with the bad plugins, and the entries of `plugins` that name them. */
function lay(folder: string, cases: readonly TortureCase[]): string[] {
  for (const one of cases) writeTorture(join(folder, one.name), one);
  return cases.map(({ name }) => `./${name}`);
}

const lines = sharedLines();

async function shellWith(cases: readonly TortureCase[], env: Record<string, string> = {}): Promise<Shell> {
  const shell = await openShell(env);
  shells.push(shell);
  shell.write(echoConfig({}, { plugins: lay(shell.folder, cases) }));
  return shell;
}

async function kernelWith(cases: readonly TortureCase[], inline: readonly Plugin<never>[] = []) {
  const folder = await temporaryFolder();
  const plugins = lay(folder, cases);
  const short = { loadMs: 500, setupMs: 500, startMs: 500, stopMs: 200 };
  return runKernel({ folder, limits: short, inline, config: { plugins } });
}

const statusOf = (plugins: readonly PluginStatus[], one: TortureCase) => plugins.find(({ id }) => id === idOf(one));
const healthOf = (shell: Shell) => shell.ask<{ pid: number; plugins: PluginStatus[]; problems: string[] }>("/health");
/** What the agent answers to `text`. */
const replyOf = async (shell: Shell, text: string) => (await shell.ask<{ reply: string }>("/task", { agent: "echo", message: text })).reply;

describe("a plugin that cannot be brought up", () => {
  it("FAULT-61 FAULT-62 is listed as failed with its reason, whatever it does; the rest is up", async () => {
    const cases = named(
      "throws-at-load",
      "syntax-error",
      "no-plugin",
      "never-loads",
      "throws-in-setup",
      "throws-nothing",
      "setup-never-ends",
      "start-throws",
      "start-never-ends",
    );
    const { kernel, message, events } = await kernelWith(cases);
    const { plugins, problems, ok } = kernel.health();
    expect(cases.map((one) => [one.name, statusOf(plugins, one)?.state])).toEqual(cases.map(({ name }) => [name, "failed"]));
    for (const one of cases) {
      expect(statusOf(plugins, one)?.reason, one.name).not.toBe("");
      expect(problems.join("\n")).toContain(idOf(one));
      expect(events).toContainEqual(expect.objectContaining({ type: "plugin:failed", data: { plugin: idOf(one) } }));
    }
    expect(ok).toBe(true);
    expect(await kernel.tasks.run(message("still here"))).toMatchObject({ ok: true, reply: "still here" });
  });
});

describe("a plugin that takes the process with it", () => {
  it("FAULT-64 process.exit is refused: at load and in setup the plugin fails, later it is counted, and the daemon lives", async () => {
    const cases = named("exits-at-load", "exits-in-setup", "exits-later");
    const shell = await shellWith(cases);
    await startDaemon(shell.folder);
    await vi.waitFor(async () => {
      const { plugins } = await healthOf(shell);
      expect(cases.map((one) => statusOf(plugins, one)?.state)).toEqual(["failed", "failed", "running"]);
      expect(statusOf(plugins, cases[0]!)?.reason).toContain("process.exit");
      expect(statusOf(plugins, cases[2]!)?.failures).toBe(1);
    }, PATIENCE);
    expect(await replyOf(shell, "alive")).toBe("alive");
  });

  it("FAULT-64 one that breaks the process is held back at the next start, until it is released", async () => {
    const [dies] = named("dies-in-start") as [TortureCase];
    const shell = await shellWith([dies]);
    expect((await shell.svc("daemon", "start")).code).not.toBe(0);
    expect(await shell.svc("daemon", "start")).toMatchObject({ code: 0 });
    const { plugins, problems } = await healthOf(shell);
    expect(statusOf(plugins, dies)).toMatchObject({ state: "quarantined", reason: expect.stringContaining("during its start") });
    expect(problems.join()).toContain("svc plugin retry");
    expect(await replyOf(shell, "alive")).toBe("alive");
    // Mended and released, it runs without a restart.
    writeFileSync(join(shell.folder, dies.name, "index.mjs"), dies.source.replace(/process\.kill\([^)]*\)/, "undefined"));
    expect(await shell.svc("plugin", "retry", idOf(dies))).toMatchObject({ code: 0 });
    expect(statusOf((await healthOf(shell)).plugins, dies)).toMatchObject({ state: "running" });
    expect((await shell.svc("plugin", "retry", idOf(dies))).code).toBe(1);
  });

  it("FAULT-64 one that came up before is not held back for a kill from outside, but for the second death in a row while it comes up", async () => {
    const [slow] = named("start-never-ends") as [TortureCase];
    const shell = await shellWith([slow]);
    const entry = join(shell.folder, slow.name, "index.mjs");
    const marker = join(shell.folder, ".svc/loading.json");
    const killed: number[] = [];
    const killWhileItComesUp = async () => {
      writeFileSync(entry, slow.source);
      const starting = launch(shell.folder);
      const pid = await vi.waitFor(
        () => {
          const { phase, pid } = JSON.parse(readFileSync(marker, "utf8"));
          expect(phase).toBe("start");
          expect(killed).not.toContain(pid);
          return pid as number;
        },
        { timeout: 15_000, interval: 5 },
      );
      killed.push(pid);
      process.kill(pid, "SIGKILL");
      await starting.ended;
    };
    const comeUp = async () => {
      writeFileSync(entry, slow.source.replace("new Promise(() => {})", "undefined"));
      await startDaemon(shell.folder);
      const state = statusOf((await healthOf(shell)).plugins, slow)?.state;
      await shell.end();
      return state;
    };
    expect(await comeUp()).toBe("running");
    await killWhileItComesUp();
    expect(await comeUp()).toBe("running");
    await killWhileItComesUp();
    await killWhileItComesUp();
    expect(await comeUp()).toBe("quarantined");
  });

  it("FAULT-63 one that spins is named by the watchdog; the daemon comes back by itself without it", async () => {
    const [spins] = named("spins-later") as [TortureCase];
    const shell = await shellWith([spins], { SVC_WATCHDOG_MS: "1500" });
    await shell.svc("daemon", "start");
    const first = shell.pid();
    await vi.waitFor(async () => {
      const { pid, plugins } = await healthOf(shell);
      expect(pid).not.toBe(first);
      expect(statusOf(plugins, spins)).toMatchObject({ state: "quarantined", reason: expect.stringContaining("while it ran") });
    }, PATIENCE);
    expect(await replyOf(shell, "back")).toBe("back");
    expect(readFileSync(join(shell.folder, ".svc/daemon.log"), "utf8")).toContain(`plugin ${idOf(spins)} holds the loop`);
  });

  it("FAULT-63 one that spins while it is brought up is held back too", async () => {
    const [spins] = named("spins-in-setup").map(holding) as [TortureCase];
    const shell = await shellWith([spins], { SVC_WATCHDOG_MS: "1500" });
    expect((await shell.svc("daemon", "start", "--foreground")).code).toBe(null);
    expect(await shell.svc("daemon", "start")).toMatchObject({ code: 0 });
    expect(statusOf((await healthOf(shell)).plugins, spins)).toMatchObject({ state: "quarantined", reason: expect.stringContaining("during its setup") });
  });

  it("a start that a signal ends leaves nobody held back", async () => {
    const [slow] = named("start-never-ends") as [TortureCase];
    const shell = await shellWith([slow]);
    const starting = shell.svc("daemon", "start", "--foreground");
    // It is written anew for each plugin, and gone in between.
    const { pid } = await vi.waitFor(() => JSON.parse(readFileSync(join(shell.folder, ".svc/loading.json"), "utf8")) as { pid: number }, {
      timeout: 15_000,
      interval: 5,
    });
    process.kill(pid, "SIGTERM");
    await starting;
    expect(existsSync(join(shell.folder, ".svc/loading.json"))).toBe(false);
    rmSync(join(shell.folder, ".svc"), { recursive: true, force: true });
  });
});

describe("a plugin that breaks later", () => {
  it("FAULT-65 what it throws where nobody catches is counted against it; the daemon lives", async () => {
    const cases = named("throws-in-timer", "rejects-unheard", "throws-in-microtask", "throws-in-file-callback", "throws-in-socket");
    const shell = await shellWith(cases);
    await startDaemon(shell.folder);
    const pid = shell.pid();
    await vi.waitFor(async () => {
      const { plugins } = await healthOf(shell);
      expect(cases.map((one) => [one.name, statusOf(plugins, one)?.state, statusOf(plugins, one)?.failures])).toEqual(
        cases.map(({ name }) => [name, "running", 1]),
      );
    }, PATIENCE);
    expect((await healthOf(shell)).pid).toBe(pid);
    expect((await shell.svc("plugin", "list")).out).toMatch(/torture-throws-in-timer\s+1\.0\.0\s+running\s+\d+ ms\s+1/);
  });

  it.each([
    ["throws", "fails-each-message"],
    ["hangs", "holds-each-message"],
    ["answers with traps", "answers-with-traps"],
    ["answers with rings", "answers-in-circles"],
  ])("FAULT-66 a plugin that %s in its hooks a hundred times is passed over and switched off; each message is answered", async (_what, name) => {
    const cases = named(name);
    const { kernel, message, events } = await kernelWith(cases);
    for (let n = 0; n < 100; n += 1)
      expect(await kernel.tasks.run(message(`message ${n}`, { chat: `c${n}` })), `${n}`).toMatchObject({ ok: true, reply: `message ${n}` });
    const status = statusOf(kernel.health().plugins, cases[0]!)!;
    expect(status.state).toBe("running");
    expect(status.failures).toBeGreaterThanOrEqual(5);
    expect(status.failures).toBeLessThan(60);
    expect(events).toContainEqual(expect.objectContaining({ type: "plugin:opened", data: { plugin: idOf(cases[0]!) } }));
  });

  it("FAULT-66 an action that answers a ring or 64 MB is an error for its caller alone", async () => {
    let actions: Actions | undefined;
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
    const { kernel, message } = await kernelWith(named("answers-in-circles", "answers-hugely"), [caller as Plugin<never>]);
    for (const name of ["torture.ring", "torture.huge"]) {
      const envelope = await actions!.run(name, {}, { door: "cli" });
      expect(envelope, name).toMatchObject({ action: name, status: "error", error: expect.stringMatching(/JSON|large/) });
      expect(JSON.stringify(envelope).length).toBeLessThan(10_000);
    }
    expect(await kernel.tasks.run(message("hello"))).toMatchObject({ ok: true });
  });
});

describe("a plugin that is not what was trusted", () => {
  it("FAULT-68 one whose files changed after they were pinned is refused at load, until it is trusted anew", async () => {
    const shell = await openShell();
    shells.push(shell);
    shell.write(echoConfig());
    const { svc } = lines(shell);
    const elder = join(ROOT, "test/publish/fixtures/plugin-0.1.0");
    packPackage(elder, shell.folder);
    const state = async () => (await healthOf(shell)).plugins.find(({ id }) => id === "feature-elder");
    const restart = async () => {
      await shell.end();
      await startDaemon(shell.folder);
    };
    expect(await svc("plugin", "add", "./svc-plugin-elder-1.0.0.tgz", "--yes")).toMatchObject({ code: 0, err: "" });
    expect(await svc("config", "set", "elder", '{"enabled":true}')).toMatchObject({ code: 0 });
    await restart();
    expect(await state()).toMatchObject({ state: "running", provides: ["action elder.reverse", "route GET /elder"] });

    writeFileSync(join(shell.folder, ".svc/node_modules/svc-plugin-elder/extra.js"), "globalThis.changed = true;");
    await restart();
    expect(await state()).toMatchObject({ state: "failed", reason: expect.stringMatching(/not what was trusted: its files are different/) });
    expect(await replyOf(shell, "alive")).toBe("alive");
    expect(await svc("plugin", "trust", "feature-elder")).toMatchObject({ code: 1, out: expect.stringContaining("files      changed") });
    expect(await svc("plugin", "trust", "feature-elder", "--yes")).toMatchObject({ code: 0 });
    await restart();
    expect(await state()).toMatchObject({ state: "running" });
    expect(await svc("plugin", "disable", "svc-plugin-elder")).toMatchObject({ code: 0, out: expect.stringContaining("switched off. In force now.") });
    expect((await state())?.state).not.toBe("running");
    expect(await svc("plugin", "doctor")).toMatchObject({ code: 0, out: expect.stringContaining("svc-plugin-elder") });
    expect(await svc("plugin", "remove", "svc-plugin-elder")).toMatchObject({ code: 0 });
    expect(Object.keys(shell.config()).filter((key) => key !== "store")).toEqual(["node", "agents", "plugins"]);
  }, 60_000);
});

describe("a plugin that ends", () => {
  it("FAULT-67 leaves nothing behind of what it registered: fifty loads and unloads end with the handles of the first", async () => {
    const [leaves] = named("leaves-all-behind") as [TortureCase];
    const folder = await temporaryFolder();
    const plugins = lay(folder, [leaves]);
    const count = () => {
      const resources: Record<string, number> = {};
      for (const kind of process.getActiveResourcesInfo()) resources[kind] = (resources[kind] ?? 0) + 1;
      return resources;
    };
    let first: Record<string, number> | undefined;
    for (let round = 0; round < 50; round += 1) {
      const { kernel } = await runKernel({ folder, config: { plugins } });
      expect(statusOf(kernel.health().plugins, leaves)).toMatchObject({ state: "running", hooks: expect.arrayContaining(["inbound", "emit"]) });
      await kernel.stop({ drainSeconds: 0 });
      expect(statusOf(kernel.health().plugins, leaves)).toMatchObject({ state: "stopped", hooks: [], provides: [] });
      first ??= count();
    }
    const last = count();
    for (const kind of ["Timeout", "TCPServerWrap", "TCPSocketWrap", "FSReqCallback"]) expect(last[kind] ?? 0, kind).toBeLessThanOrEqual(first?.[kind] ?? 0);
    // With a server each of them makes a schema.
  }, 180_000);

  it("FAULT-67 one that does not end its stop does not keep the daemon from ending", async () => {
    const { kernel } = await kernelWith(named("stop-never-ends"));
    await kernel.stop({ drainSeconds: 0 });
    expect(kernel.health().state).toBe("stopped");
  });
});
