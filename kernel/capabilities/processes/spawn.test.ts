import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { SpawnOptions } from "@svc/sdk";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createSpawn, type Spawner } from "./spawn.ts";

const heard: { level: string; facts: unknown; text: unknown }[] = [];
const note = (level: string) => (facts: unknown, text?: unknown) => void heard.push({ level, facts, text });
const log = { debug: note("debug"), info: note("info"), warn: note("warn"), error: note("error") };

let folder: string;
let spawn: Spawner;

beforeEach(() => {
  heard.length = 0;
  folder = mkdtempSync(join(tmpdir(), "svc-spawn-"));
  spawn = createSpawn({ marker: `test-${process.pid}`, baseEnv: process.env, log });
});
afterEach(async () => {
  await spawn.stopAll();
  rmSync(folder, { recursive: true, force: true });
});

const sh = (script: string, options: Partial<SpawnOptions> = {}) => spawn("sh", ["-c", script], { cwd: folder, ...options });
const node = (script: string, options: Partial<SpawnOptions> = {}) => spawn(process.execPath, ["-e", script], { cwd: folder, ...options });

function runs(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(")") + 2));
  } catch {
    return false;
  }
}

/** The process ids that a child wrote into a file, when it has. */
async function pidsIn(name: string, count: number): Promise<number[]> {
  const file = join(folder, name);
  for (;;) {
    const pids = existsSync(file) ? readFileSync(file, "utf8").trim().split("\n").map(Number) : [];
    if (pids.length >= count && pids.every((pid) => pid > 0)) return pids;
    await sleep(10);
  }
}

describe("a run", () => {
  it("gives back what was written and how it ended", async () => {
    const child = sh("cat; echo oops >&2; exit 3", { stdin: "hello" });
    await child.started;
    expect(child.pid).toBeGreaterThan(0);
    expect(await child.ended).toEqual({ code: 3, signal: null, stdout: "hello", stderr: "oops\n", truncated: false });
  });

  it("FAULT-56 hands arguments over unchanged and starts no second command", async () => {
    const args = ["; touch pwned", "$(touch pwned)", "`touch pwned`", "a\nb", "-n", "--", "'\"", "&& touch pwned", "*", ""];
    const child = spawn(process.execPath, ["-e", "process.stdout.write(JSON.stringify(process.argv.slice(1)))", "--", ...args], { cwd: folder });
    expect(JSON.parse((await child.ended).stdout)).toEqual(args);
    expect(existsSync(join(folder, "pwned"))).toBe(false);
  });

  it("FAULT-26 tells an end with code 0 and without a word as what it is", async () => {
    expect(await sh("exit 0").ended).toEqual({ code: 0, signal: null, stdout: "", stderr: "", truncated: false });
  });

  it("writes to stdin in order, also before the start, and waits while the child does not read", async () => {
    const child = node("process.stdin.setEncoding('utf8'); let n = 0; process.stdin.on('data', (d) => n += d.length).on('end', () => console.log(n))", {
      stdin: "pipe",
    });
    const block = "x".repeat(1 << 20);
    await Promise.all([child.write(block), child.write(block), child.write("end")]);
    child.closeStdin();
    expect((await child.ended).stdout).toBe(`${2 * block.length + 3}\n`);
  });

  it("takes a write to a child that has closed its stdin or is gone as harmless", async () => {
    const child = sh("exec 0<&-; echo ready; sleep 0.2", { stdin: "pipe" });
    await child.started;
    for (let round = 0; round < 20; round++) await child.write("x".repeat(65_536));
    expect((await child.ended).code).toBe(0);
    await child.write("late");
    child.closeStdin();
  });

  it("starts one process in a turn of the event loop, however many are asked for at once", async () => {
    let turns = 0;
    let counting = true;
    const count = () => {
      turns += 1;
      if (counting) setImmediate(count);
    };
    setImmediate(count);
    const children = Array.from({ length: 30 }, () => spawn("true", [], { cwd: folder }));
    await Promise.all(children.map((child) => child.started));
    counting = false;
    expect(turns).toBeGreaterThanOrEqual(29);
    for (const child of children) expect((await child.ended).code).toBe(0);
  });
});

describe("the environment", () => {
  const canary = "canary-3f9c1b";

  it("FAULT-59 lets nothing of the daemon's environment through but a named few", async () => {
    const secretive = createSpawn({
      marker: "m",
      log,
      baseEnv: {
        PATH: process.env["PATH"],
        HOME: "/h",
        LC_TIME: "C",
        SVC_SECRET: canary,
        ANTHROPIC_API_KEY: canary,
        NODE_OPTIONS: canary,
        LD_PRELOAD: canary,
        AWS_SECRET: canary,
        SVC_RUN: canary,
      },
    });
    const { stdout } = await secretive("env", [], { cwd: folder, env: { GIVEN: "1" } }).ended;
    const names = stdout
      .trim()
      .split("\n")
      .map((line) => line.split("=")[0]);
    expect(names.sort()).toEqual(["GIVEN", "HOME", "LC_TIME", "PATH", "SVC_RUN"]);
    expect(stdout).not.toContain(canary);
  });

  it("names its task to the child, and to no child that has none", async () => {
    const taskOf = async (options: { taskId?: string }) => /^SVC_TASK_ID=(.*)$/m.exec((await spawn("env", [], { cwd: folder, ...options }).ended).stdout)?.[1];
    expect(await taskOf({ taskId: "task_1" })).toBe("task_1");
    expect(await taskOf({})).toBeUndefined();
  });

  it.each([
    "SVC_TASK_ID",
    "NODE_OPTIONS",
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "DYLD_INSERT_LIBRARIES",
    "PYTHONSTARTUP",
    "BASH_ENV",
    "ENV",
    "PERL5OPT",
    "RUBYOPT",
    "JAVA_TOOL_OPTIONS",
    "BASH_FUNC_x",
    "SVC_RUN",
    "A=B",
    "",
  ])("refuses the variable '%s' and never names its value", async (name) => {
    const child = sh("true", { env: { [name]: canary } });
    const error = await child.started.catch((reason) => reason);
    expect(error).toMatchObject({ code: "SVC_SPAWN_ENV", message: expect.stringContaining(name) });
    expect(JSON.stringify(error) + error.message).not.toContain(canary);
    expect((await child.ended).code).toBe(null);
  });
});

describe("a failed start", () => {
  it("FAULT-27 names the missing program and where it was looked for", async () => {
    const child = spawn("svc-no-such-program", [], { cwd: folder });
    await expect(child.started).rejects.toMatchObject({ code: "SVC_SPAWN_FAILED", message: expect.stringMatching(/'svc-no-such-program'.*PATH \(.*bin/) });
    expect(await child.ended).toEqual({ code: null, signal: null, stdout: "", stderr: "", truncated: false });
    await child.write("x");
    child.closeStdin();
    await child.stop();
  });

  it("FAULT-27 tells a file that is not executable, a missing file and a missing folder apart", async () => {
    const file = join(folder, "program");
    writeFileSync(file, "#!/bin/sh\n", { mode: 0o644 });
    await expect(spawn(file, [], { cwd: folder }).started).rejects.toMatchObject({
      code: "SVC_SPAWN_FAILED",
      message: expect.stringContaining("not executable"),
    });
    await expect(spawn(`${file}-gone`, [], { cwd: folder }).started).rejects.toMatchObject({ message: expect.stringContaining("no such file") });
    await expect(sh("true", { cwd: join(folder, "gone") }).started).rejects.toMatchObject({ message: expect.stringContaining("working folder") });
    await expect(spawn("true", ["a\0b"], { cwd: folder }).started).rejects.toMatchObject({ code: "SVC_SPAWN_FAILED" });
  });

  it("does not reject unheard when only the end is awaited", async () => {
    expect((await spawn("svc-no-such-program", [], { cwd: folder }).ended).code).toBe(null);
  });

  it("starts nothing when it is aborted or stopped before its turn", async () => {
    const aborted = sh("touch ran", { signal: AbortSignal.abort() });
    await expect(aborted.started).rejects.toMatchObject({ code: "SVC_SPAWN_FAILED" });
    expect(await aborted.ended).toMatchObject({ code: null, reason: "aborted" });
    const stopped = sh("touch ran");
    await stopped.stop();
    await expect(stopped.started).rejects.toMatchObject({ code: "SVC_SPAWN_FAILED" });
    expect(existsSync(join(folder, "ran"))).toBe(false);
  });
});

describe("output", () => {
  it("FAULT-24 keeps 32 KB of a flood, says so, and lets the child write on", async () => {
    const child = sh("head -c 300000000 /dev/zero | tr '\\0' y; echo done >&2");
    const before = process.memoryUsage().rss;
    const end = await child.ended;
    expect(end).toMatchObject({ code: 0, truncated: true, stderr: "done\n" });
    expect(end.stdout).toBe("y".repeat(32_768));
    expect(process.memoryUsage().rss - before).toBeLessThan(150_000_000);
  });

  it("cuts kept output on a character boundary", async () => {
    expect(await sh("printf 'aé€😀'", { maxOutputBytes: 8 }).ended).toMatchObject({ stdout: "aé€", truncated: true });
    expect(await sh("printf 'aé€😀'", { maxOutputBytes: 10 }).ended).toMatchObject({ stdout: "aé€😀", truncated: false });
  });

  it("FAULT-25 hands half a line over at the end and marks bytes that are no UTF-8", async () => {
    const lines: string[] = [];
    const end = await sh(`printf '{"a":1}\\r\\n\\377ok\\n\\n{"half'`, { onLine: (line) => lines.push(line) }).ended;
    expect(lines).toEqual(['{"a":1}', "\ufffdok", "", '{"half']);
    expect(end).toMatchObject({ code: 0 });
    expect(end).not.toHaveProperty("reason");
  });

  it("FAULT-25 ends a run whose line is longer than 1 MB with kind protocol", async () => {
    const lines: string[] = [];
    const child = sh("echo first; head -c 50000000 /dev/zero | tr '\\0' x; echo; echo last; sleep 60", { onLine: (line) => lines.push(line) });
    expect(await child.ended).toMatchObject({ reason: "protocol", truncated: true });
    expect(lines).toEqual(["first"]);
  });

  it("takes a line of exactly the limit, and a 32 MB line where it is allowed", async () => {
    const exact: number[] = [];
    expect(await sh("printf 'abcd\\nabcd\\r\\n'", { maxLineBytes: 4, onLine: (line) => exact.push(line.length) }).ended).not.toHaveProperty("reason");
    expect(exact).toEqual([4, 4]);
    const long: number[] = [];
    await sh("head -c 33554432 /dev/zero | tr '\\0' x; echo; echo after", { maxLineBytes: 40_000_000, onLine: (line) => long.push(line.length) }).ended;
    expect(long).toEqual([33_554_432, 5]);
  });

  it("cuts an over-long line of stderr and goes on", async () => {
    const lines: string[] = [];
    expect(await sh("printf 'abcdefgh\\nab\\n' >&2", { maxLineBytes: 4, onErrorLine: (line) => lines.push(line) }).ended).toMatchObject({ code: 0 });
    expect(lines).toEqual(["abcd", "ab"]);
  });

  it("keeps characters whole that arrive in pieces", async () => {
    const lines: string[] = [];
    await node(
      "const b = Buffer.from('€😀\\n'); let i = 0; const t = setInterval(() => i < b.length ? process.stdout.write(b.subarray(i, ++i)) : clearInterval(t), 5)",
      {
        onLine: (line) => lines.push(line),
      },
    ).ended;
    expect(lines).toEqual(["€😀"]);
  });

  it("stops the child when its reader throws, and the daemon lives", async () => {
    const end = await sh("echo one; echo two; sleep 60", {
      onLine: () => {
        throw new Error("no JSON");
      },
    }).ended;
    expect(end.reason).toBe("protocol");
    expect(heard.filter(({ level }) => level === "warn")).toHaveLength(1);
  });
});

describe("the end", () => {
  const stubborn = "trap 'echo asked >> asked' TERM; echo $$ >> pids; while :; do sleep 1; done";

  it("RUN-01 FAULT-22 ends a child that ignores SIGTERM and its grandchild in a session of its own; the next run starts", async () => {
    writeFileSync(join(folder, "stubborn"), stubborn);
    const child = sh("setsid sh stubborn & . ./stubborn");
    const pids = await pidsIn("pids", 2);
    await child.stop();
    expect(readFileSync(join(folder, "asked"), "utf8")).toBe("asked\nasked\n");
    expect(pids.filter(runs)).toEqual([]);
    expect(await child.ended).toMatchObject({ code: null, signal: "SIGKILL" });
    expect((await sh("echo next").ended).stdout).toBe("next\n");
  });

  it("lets a polite child end by itself", async () => {
    const child = sh("trap 'echo bye; exit 7' TERM; echo $$ >> pids; while :; do sleep 0.05; done");
    await pidsIn("pids", 1);
    await child.stop();
    expect(await child.ended).toMatchObject({ code: 7, signal: null, stdout: "bye\n" });
  });

  it("FAULT-23 sweeps a daemon that the child forked into its own session before it exited, and reports it", async () => {
    const child = sh(
      "setsid sh -c 'echo $$ >> pids; exec sleep 600' & setsid sh -c 'echo $$ >> pids; exec sleep 600' >/dev/null 2>&1 </dev/null & while [ \"$(wc -l < pids 2>/dev/null || echo 0)\" -lt 2 ]; do sleep 0.02; done; echo out",
    );
    const end = await child.ended;
    const pids = await pidsIn("pids", 2);
    expect(end).toMatchObject({ code: 0, stdout: "out\n" });
    expect(pids.filter(runs)).toEqual([]);
    expect(heard).toEqual([{ level: "info", facts: { command: "sh", pids: expect.arrayContaining(pids) }, text: expect.any(String) }]);
  });

  it("finds a descendant that threw its mark away, by descent", async () => {
    const child = sh("env -i setsid -f sh -c true; env -i setsid -w sh -c 'echo $$ >> pids; sleep 600' & echo $$ >> pids; wait");
    const pids = await pidsIn("pids", 2);
    await child.stop();
    expect(pids.filter(runs)).toEqual([]);
  });

  it.each([
    ["timeout", (options: Partial<SpawnOptions>) => ({ options: { ...options, timeoutMs: 50 }, act: (): void => undefined })],
    [
      "aborted",
      (options: Partial<SpawnOptions>) => {
        const controller = new AbortController();
        return { options: { ...options, signal: controller.signal }, act: (): void => controller.abort() };
      },
    ],
  ] as const)("tells '%s' where the kernel ended it", async (reason, prepare) => {
    const { options, act } = prepare({});
    const child = sh("echo $$ >> pids; exec sleep 600", options);
    const pids = await pidsIn("pids", 1);
    act();
    expect(await child.ended).toMatchObject({ code: null, signal: "SIGTERM", reason });
    expect(pids.filter(runs)).toEqual([]);
  });

  it("leaves processes that are not its own alone", async () => {
    const other = createSpawn({ marker: "another", baseEnv: process.env, log });
    const bystander = other("sleep", ["600"], { cwd: folder });
    await bystander.started;
    const child = sh("echo $$ >> pids; exec sleep 600");
    await pidsIn("pids", 1);
    await spawn.stopAll();
    expect(await child.ended).toMatchObject({ signal: "SIGTERM" });
    expect(runs(bystander.pid)).toBe(true);
    await other.stopAll();
    expect(runs(bystander.pid)).toBe(false);
  });

  it("removes its listener from a signal that outlives it", async () => {
    const { signal } = new AbortController();
    const listeners = new Set<unknown>();
    const watched = new Proxy(signal, {
      get(target, name) {
        if (name === "addEventListener") return (_: string, listener: unknown) => listeners.add(listener);
        if (name === "removeEventListener") return (_: string, listener: unknown) => listeners.delete(listener);
        return Reflect.get(target, name, target);
      },
    });
    const child = sh("read x", { signal: watched, stdin: "pipe" });
    await child.started;
    expect(listeners.size).toBe(1);
    child.closeStdin();
    await child.ended;
    expect(listeners.size).toBe(0);
  });

  it("records the process of a task with an identity, and runs on when that fails", async () => {
    const recorded: unknown[][] = [];
    const recording = createSpawn({ marker: "m", baseEnv: process.env, log, record: async (...row) => void recorded.push(row) });
    const child = recording("true", [], { cwd: folder, taskId: "t1" });
    await child.started;
    expect(recorded).toEqual([["t1", child.pid, expect.stringMatching(/^[0-9a-f-]{36}:\d+$/)]]);
    await recording("true", [], { cwd: folder }).ended;
    expect(recorded).toHaveLength(1);
    const failing = createSpawn({ marker: "m", baseEnv: process.env, log, record: () => Promise.reject(new Error("disk")) });
    const unrecorded = failing("echo", ["on"], { cwd: folder, taskId: "t2" });
    await unrecorded.started;
    expect((await unrecorded.ended).stdout).toBe("on\n");
    expect(heard.map(({ level }) => level)).toEqual(["warn"]);
  });
});

it("leaves no process of these tests behind", () => {
  const listing = execFileSync("sh", ["-c", `cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep -c 'SVC_RUN=test-${process.pid}' || true`], {
    encoding: "utf8",
  });
  expect(listing.trim()).toBe("0");
});
