import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Plugin, TierEvent } from "@svc/sdk";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import acp from "../../plugins/tiers/acp/index.ts";
import cliA from "../../plugins/tiers/cli-a/index.ts";
import cliB from "../../plugins/tiers/cli-b/index.ts";
import cliC from "../../plugins/tiers/cli-c/index.ts";
import { createStage, type RunOptions, type Stage } from "../peers/stage.ts";

/** A program that greets as the real ones do, in any of their protocols, and then fails as FAKE_MODE says. */
const PROGRAM = `#!${process.execPath}
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
const out = (message) => process.stdout.write(JSON.stringify(message) + "\\n");
const stubborn = "process.on('SIGTERM', () => {}); process.on('SIGINT', () => {}); setInterval(() => {}, 1000)";
const modes = {
  deaf() {
    process.on("SIGTERM", () => {});
    spawn(process.execPath, ["-e", stubborn], { stdio: "ignore" });
    setInterval(() => {}, 1000);
    out({ type: "system", subtype: "init", session_id: "s" });
  },
  daemon() {
    spawn(process.execPath, ["-e", stubborn], { stdio: "ignore", detached: true }).unref();
    process.exit(0);
  },
  flood() {
    const more = () => { while (process.stdout.write("y\\n".repeat(1000))); process.stdout.once("drain", more); };
    more();
  },
  half() { process.stdout.write('{"type":"assistant","mess\\n'); setInterval(() => {}, 1000); },
  cut() { process.stdout.write('{"type":"assistant","mess', () => process.exit(0)); },
  bytes() { process.stdout.write(Buffer.from([0x7b, 0xff, 0xfe, 0x0a])); setInterval(() => {}, 1000); },
  long() { process.stdout.write('{"a":"' + "x".repeat(50 * 1024 * 1024)); setInterval(() => {}, 1000); },
  silent() { process.stderr.write("it went wrong\\n", () => process.exit(0)); },
  crash() { process.stderr.write("it went wrong\\n", () => process.exit(3)); },
  leak() { process.stderr.write("\\u001b[31mERROR\\u001b[0m bad key " + process.env.MODEL_API_KEY + "\\u0007\\n", () => process.exit(3)); },
};
if (process.env.FAKE_MODE === "mute") {
  process.on("SIGTERM", () => {});
  setInterval(() => {}, 1000);
}
createInterface({ input: process.stdin }).on("line", (line) => {
  const message = JSON.parse(line);
  if (process.env.FAKE_MODE === "mute") return;
  if (message.type === "user" || message.method === "turn/start" || message.method === "session/prompt") {
    if (message.id !== undefined && message.method === "turn/start") out({ id: message.id, result: { turn: { id: "u" } } });
    modes[process.env.FAKE_MODE]();
  } else if (message.type === "control_request" && message.request.subtype === "initialize") {
    out({ type: "control_response", response: { subtype: "success", request_id: message.request_id, response: {} } });
  } else if (message.id !== undefined) {
    out({ jsonrpc: "2.0", id: message.id, result: { thread: { id: "t" }, sessionId: "s", protocolVersion: 1 } });
  }
});
`;

const KEY = "sk-canary-0123456789";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "svc-fake-cli-"));
  writeFileSync(join(folder, "fake.mjs"), PROGRAM, { mode: 0o755 });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A tier, and the settings with which its program gets the key of this test. */
const TIERS: readonly [name: string, plugin: unknown, settings?: Readonly<Record<string, unknown>>][] = [
  ["acp", acp, { billing: "api" }],
  ["cli-a", cliA],
  ["cli-b", cliB],
  ["cli-c", cliC],
];

describe.each(TIERS)("%s on a program that misbehaves", (_, plugin, given = {}) => {
  let stage: Stage;
  afterEach(() => stage.dispose());

  async function run(mode: string, options: RunOptions = {}, command = join(folder, "fake.mjs")): Promise<TierEvent[]> {
    stage = await createStage(plugin as Plugin<never>, { config: { command, env: { FAKE_MODE: mode, MODEL_API_KEY: KEY } }, env: () => ({}) });
    return stage.run("hello", { ...options, settings: { ...given, ...options.settings } });
  }

  it("FAULT-22 RUN-01 ends one that ignores SIGTERM, and its child that does so too", async () => {
    const abort = new AbortController();
    let seen: number[] = [];
    const watch = async () => {
      while ((seen = stage?.processes() ?? []).length < 2) await new Promise((resolve) => setTimeout(resolve, 20));
      abort.abort();
    };
    const [events] = await Promise.all([run("deaf", { signal: abort.signal }), watch()]);
    expect(seen.length).toBe(2);
    expect(events.at(-1)).toMatchObject({ type: "error", kind: "cancelled" });
    expect(stage.processes()).toEqual([]);
  });

  it("FAULT-23 ends what it left behind in a session of its own", async () => {
    expect((await run("daemon")).at(-1)).toMatchObject({ type: "error", kind: "no-result" });
    expect(stage.processes()).toEqual([]);
  });

  it("FAULT-24 stops one that floods its output with noise", async () => {
    expect((await run("flood")).at(-1)).toMatchObject({ type: "error", kind: "protocol" });
    expect(stage.processes()).toEqual([]);
  });

  it.each([
    ["half a line", "half", "protocol"],
    ["bytes that are no text", "bytes", "protocol"],
    ["a line of 50 MB", "long", "protocol"],
    ["half a line and its end", "cut", "protocol"],
  ])("FAULT-25 tells %s", async (_what, mode, kind) => {
    expect((await run(mode)).at(-1)).toMatchObject({ type: "error", kind });
    expect(stage.processes()).toEqual([]);
  });

  it.each(["silent", "crash"])("FAULT-26 tells an end without a result, with its last words, whatever the exit code: %s", async (mode) => {
    expect((await run(mode)).at(-1)).toMatchObject({ type: "error", kind: "no-result", message: expect.stringContaining("it went wrong") });
  });

  it("ENG-6 hands its last words on without its key and without terminal codes", async () => {
    const last = (await run("leak")).at(-1);
    expect(last).toMatchObject({ type: "error", kind: "no-result", message: expect.stringContaining("ERROR bad key ***") });
    expect(JSON.stringify(last)).not.toMatch(/canary|\\u001b|\\u0007/);
  });

  it.each([false, true])("ENG-8 a run cancelled before the program's first byte ends with its process; warm: %s", async (persistentProcess) => {
    const abort = new AbortController();
    const watch = async () => {
      while ((stage?.processes() ?? []).length < 1) await new Promise((resolve) => setTimeout(resolve, 20));
      abort.abort();
    };
    const [events] = await Promise.all([run("mute", { signal: abort.signal, settings: { persistentProcess } }), watch()]);
    expect(events.at(-1)).toMatchObject({ type: "error", kind: "cancelled" });
    expect(stage.processes()).toEqual([]);
  });

  it("ENG-8 one of two runs that wait for a shared program is cancelled: the other goes on waiting", async () => {
    const abort = new AbortController();
    const other = new AbortController();
    const settings = { ...given, persistentProcess: true };
    const one = run("mute", { signal: abort.signal, settings, conversation: "one" });
    while ((stage?.processes() ?? []).length < 1) await new Promise((resolve) => setTimeout(resolve, 20));
    const two = stage.run("hello", { signal: other.signal, settings, conversation: "two" });
    // Time to get in line: nothing to be seen tells that it waits.
    await new Promise((resolve) => setTimeout(resolve, 500));
    abort.abort();
    expect((await one).at(-1)).toMatchObject({ kind: "cancelled" });
    expect(stage.processes().length).toBe(1);
    other.abort();
    expect((await two).at(-1)).toMatchObject({ kind: "cancelled" });
    expect(stage.processes()).toEqual([]);
  });

  it("FAULT-27 tells a program that is not there, once, and starts nothing", async () => {
    const events = await run("silent", {}, "/no/such/program");
    expect(events).toEqual([{ type: "error", kind: "program", message: expect.stringContaining("/no/such/program") }]);
  });

  it("FAULT-27 tells a program that cannot be started", async () => {
    const broken = join(folder, "broken");
    writeFileSync(broken, "#!/no/such/interpreter\n", { mode: 0o755 });
    const events = await run("silent", {}, broken);
    expect(events).toEqual([{ type: "error", kind: "program", message: expect.stringContaining(broken) }]);
  });
});
