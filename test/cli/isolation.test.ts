import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { PluginStatus } from "@svc/kernel";
import { afterEach, describe, expect, it, vi } from "vitest";
import { lacks } from "../faults/daemon.harness.ts";
import { action, alive, type Laid, lay } from "../faults/isolation.harness.ts";
import { sharedLines } from "../kit/lines.ts";
import { packPackage } from "../kit/pack.ts";
import { echoConfig, openShell, type Shell } from "../kit/svc.ts";

const PATIENCE = { timeout: 20_000, interval: 50 };

/** The commands of many lines, in one process. */
const lines = sharedLines();
const shells: Shell[] = [];
afterEach(async () => {
  for (const shell of shells.splice(0)) await shell.end();
});

async function shellWith(laid: readonly Laid[], env: Record<string, string> = {}): Promise<Shell> {
  const shell = await openShell(env);
  shells.push(shell);
  shell.write(echoConfig());
  for (const one of laid) lay(shell.folder, one);
  return shell;
}

const statusOf = async (shell: Shell, id: string): Promise<PluginStatus> => {
  const { plugins } = await shell.ask<{ plugins: PluginStatus[] }>("/health");
  return plugins.find((plugin) => plugin.id === id) as PluginStatus;
};

/** Holds the loop of its process for good, and leaves the processor to others. */
const HOLD = "for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);";
const ECHO: Laid = {
  name: "apart",
  setup: `${action("apart.pid", "return process.pid;")} ${action("apart.spin", HOLD)} ${action("apart.env", "return Object.keys(process.env).sort().join();")}`,
};

describe("svc plugin with --isolate", () => {
  it("adds a plugin that runs in a process of its own, and every command of the group knows it", async () => {
    const shell = await shellWith([ECHO], { CANARY_TOKEN: "canary" });
    expect(await shell.svc("plugin", "add", "./apart", "--isolate", "--yes")).toMatchObject({ code: 0, out: expect.stringContaining("a process of its own") });
    expect(shell.config().plugins).toEqual(["process:./apart"]);
    expect((await lines(shell).svc("plugin", "inspect", "./apart")).out).toContain("runs in              a process of its own");
    expect((await lines(shell).svc("plugin", "doctor")).out).toContain("in a process of its own");
    expect(await lines(shell).svc("config", "check")).toMatchObject({ code: 0 });
    // Added again it stays where it is.
    expect((await lines(shell).svc("plugin", "add", "./apart", "--yes")).out).toContain("names it already");
    expect(await shell.svc("daemon", "start")).toMatchObject({ code: 0 });
    const { isolation } = await statusOf(shell, "feature-apart");
    expect(isolation).toMatchObject({ state: "up", walls: expect.arrayContaining(["scrubbed environment"]) });
    expect((await lines(shell).svc("plugin", "list")).out).toMatch(new RegExp(`feature-apart\\s+1\\.0\\.0\\s+running, process ${isolation?.pid}`));
    // Behind bubblewrap it counts its processes from one and knows no other.
    const itself = isolation?.walls?.includes("bubblewrap") ? /^[1-9]\n$/ : `${isolation?.pid}\n`;
    expect((await lines(shell).svc("actions", "run", "apart.pid")).out).toEqual(typeof itself === "string" ? itself : expect.stringMatching(itself));
    expect((await lines(shell).svc("actions", "run", "apart.env")).out).not.toContain("CANARY_TOKEN");
    expect(await lines(shell).svc("plugin", "disable", "./apart")).toMatchObject({ code: 0 });
    expect(shell.config().plugins).toEqual(["process:./apart", "!feature-apart"]);
    expect(await lines(shell).svc("plugin", "enable", "./apart", "--in-daemon")).toMatchObject({ code: 0 });
    expect(shell.config().plugins).toEqual(["./apart"]);
    expect(await lines(shell).svc("plugin", "enable", "./apart", "--isolate")).toMatchObject({ code: 0 });
    expect(shell.config().plugins).toEqual(["process:./apart"]);
    expect(await lines(shell).svc("plugin", "enable", "tier-local", "--isolate")).toMatchObject({
      code: 2,
      err: expect.stringContaining("runs in the daemon"),
    });
    expect(await lines(shell).svc("plugin", "remove", "./apart")).toMatchObject({ code: 0 });
    expect(shell.config().plugins).toEqual([]);
  }, 90_000);

  it("an installed package is pinned as ever, looked at before each new process, and not started again when its files have changed", async () => {
    const shell = await shellWith([{ name: "packed", setup: `${action("packed.pid", "return process.pid;")} ${action("packed.end", "process.exit(1);")}` }]);
    packPackage(join(shell.folder, "packed"), shell.folder);
    expect(await lines(shell).svc("plugin", "add", "./svc-plugin-packed-1.0.0.tgz", "--isolate", "--yes")).toMatchObject({ code: 0 });
    expect(shell.config().plugins).toEqual(["process:svc-plugin-packed"]);
    expect(await shell.svc("daemon", "start")).toMatchObject({ code: 0 });
    expect(await statusOf(shell, "feature-packed")).toMatchObject({ state: "running" });
    appendFileSync(join(shell.folder, ".svc/node_modules/svc-plugin-packed/index.mjs"), "// changed");
    await lines(shell).svc("actions", "run", "packed.end");
    await vi.waitFor(
      async () => expect(await statusOf(shell, "feature-packed")).toMatchObject({ state: "failed", reason: expect.stringContaining("not what was trusted") }),
      PATIENCE,
    );
    expect((await lines(shell).svc("plugin", "doctor")).out).toContain("svc plugin trust svc-plugin-packed");
    expect(await lines(shell).svc("plugin", "remove", "svc-plugin-packed")).toMatchObject({ code: 0 });
    expect(shell.config().plugins).toEqual([]);
  }, 90_000);

  it("refuses what cannot be isolated before it is added, in words that say what to do", async () => {
    const shell = await shellWith([{ name: "starter", capabilities: ["spawn"], setup: "" }]);
    expect(await shell.svc("plugin", "add", "./starter", "--isolate", "--yes")).toMatchObject({
      code: 1,
      err: expect.stringContaining("cannot have the capability 'spawn'"),
    });
    expect(shell.config().plugins).toBeUndefined();
  });
});

describe("a daemon with an isolated plugin", () => {
  it("FAULT-69 one that spins in its process is ended and started again; the daemon answers all the while and keeps its process", async () => {
    const shell = await shellWith([ECHO]);
    shell.write(echoConfig({}, { plugins: ["process:./apart"] }));
    expect(await shell.svc("daemon", "start")).toMatchObject({ code: 0 });
    const daemon = shell.pid();
    const before = (await statusOf(shell, "feature-apart")).isolation?.pid as number;
    const spinning = shell.svc("actions", "run", "apart.spin");
    expect(await shell.ask("/task", { agent: "echo", message: "alive" })).toMatchObject({ reply: "alive" });
    expect((await spinning).err).toContain("it did not answer for 5 s");
    await vi.waitFor(async () => expect((await statusOf(shell, "feature-apart")).isolation).toMatchObject({ state: "up", starts: 2 }), PATIENCE);
    expect(alive(before)).toBe(false);
    expect(shell.pid()).toBe(daemon);
  }, 60_000);

  it("FAULT-69 leaves no process behind when it is stopped, nor when it is killed: one that cannot notice is ended by the next daemon", async () => {
    const shell = await shellWith([ECHO, { name: "stuck", setup: action("stuck.spin", `ctx.log.info("here it spins"); setImmediate(() => { ${HOLD} });`) }]);
    shell.write(echoConfig({}, { plugins: ["process:./apart", "process:./stuck"] }));
    expect(await shell.svc("daemon", "start")).toMatchObject({ code: 0 });
    const pids = async () => [
      (await statusOf(shell, "feature-apart")).isolation?.pid as number,
      (await statusOf(shell, "feature-stuck")).isolation?.pid as number,
    ];
    const first = await pids();
    await lines(shell).svc("actions", "run", "stuck.spin");
    await vi.waitFor(() => expect(readFileSync(join(shell.folder, ".svc/daemon.log"), "utf8")).toContain("here it spins"), PATIENCE);
    process.kill(shell.pid(), "SIGKILL");
    await vi.waitFor(() => expect(alive(first[0] as number)).toBe(false), PATIENCE);
    expect(await shell.svc("daemon", "start")).toMatchObject({ code: 0 });
    expect(first.filter(alive)).toEqual([]);
    const second = await pids();
    expect(second.filter(alive)).toHaveLength(2);
    await shell.svc("daemon", "stop");
    expect(second.filter(alive)).toEqual([]);
  }, 60_000);
});

describe("bubblewrap", () => {
  const missing = lacks("bwrap", "--unshare-pid", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", process.execPath, "--version");

  it.skipIf(missing !== undefined)(
    "is used where it is installed: the daemon and other processes are out of reach, /tmp is its own, and it dies with the daemon",
    async () => {
      const shell = await shellWith([
        {
          name: "walled",
          top: `import { writeFileSync } from "node:fs";`,
          setup: `${action("walled.pid", "return process.pid;")}
            ${action("walled.kill", "try { process.kill(input.pid, 0); return 'reached'; } catch (error) { return error.code; }")}
            ${action("walled.write", "writeFileSync(input.file, 'x'); return 'written';")}`,
        },
      ]);
      shell.write(echoConfig({}, { plugins: ["process:./walled"] }));
      expect(await shell.svc("daemon", "start")).toMatchObject({ code: 0 });
      const { isolation } = await statusOf(shell, "feature-walled");
      expect(isolation?.walls).toContain("bubblewrap");
      const run = async (name: string, input: object) => (await lines(shell).json<{ output: unknown }>("actions", "run", name, JSON.stringify(input))).output;
      expect(await run("walled.pid", {})).toBeLessThan(20);
      expect(await run("walled.kill", { pid: shell.pid() })).toBe("ESRCH");
      const file = `/tmp/svc-walled-${shell.pid()}`;
      expect(await run("walled.write", { file })).toBe("written");
      expect(existsSync(file)).toBe(false);
      process.kill(shell.pid(), "SIGKILL");
      await vi.waitFor(() => expect(alive(isolation?.pid as number)).toBe(false), PATIENCE);
    },
    60_000,
  );
});
