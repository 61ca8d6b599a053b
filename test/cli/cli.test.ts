import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Trace } from "@svc/sdk";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { sharedLines } from "../kit/lines.ts";
import { echoConfig, openShell, type Shell, sharedDaemon } from "../kit/svc.ts";

const shells: Shell[] = [];
afterEach(async () => {
  for (const shell of shells.splice(0)) await shell.end();
});

async function shellWith(config: unknown, env: Record<string, string> = {}): Promise<Shell> {
  const shell = await openShell(env);
  if (config !== undefined) shell.write(config);
  return shell;
}

async function daemonWith(config: unknown, env: Record<string, string> = {}): Promise<Shell> {
  const shell = await shellWith(config, env);
  shells.push(shell);
  const started = await shell.svc("daemon", "start");
  expect(started.err + started.out).toContain("The daemon is up on http://127.0.0.1:");
  return shell;
}

/** The commands of many lines, in one process. */
const lines = sharedLines();
const text = (shell: Shell) => readFileSync(join(shell.folder, "svc.json"), "utf8");
const traces = async (shell: Shell) => (await shell.ask<{ traces: Trace[] }>("/traces")).traces;

const echo = sharedDaemon(echoConfig({ local: { mode: "echo", chunks: 20 } }));

describe("a first day with svc", () => {
  it("init, start, send, look, stop", async () => {
    const shell = await shellWith(undefined);
    shells.push(shell);
    expect(await shell.svc("init", "--tier", "local")).toMatchObject({ code: 0 });
    expect((await shell.svc("init")).err).toContain("exists already");
    shell.write({ ...shell.config(), node: { ...(shell.config().node as object), bind: "127.0.0.1:0" } });
    expect(await shell.svc("daemon", "start")).toMatchObject({ code: 0 });
    const sent = await shell.svc("daemon", "send", "assistant", "What", "can", "you", "do?");
    expect(sent).toMatchObject({ code: 0, err: "" });
    expect(sent.out).toContain("am no language model");
    expect((await shell.svc("agent", "list")).out).toMatch(/assistant\s+Assistant\s+local\s+private\s+idle/);
    expect((await shell.svc("daemon", "status")).out).toContain("is running");
    const [trace] = await shell.json<Trace[]>("trace", "list");
    expect(trace).toMatchObject({ agent: "assistant", status: "ok", message: "What can you do?" });
    expect((await shell.svc("trace", "show", trace!.id)).out).toContain("> What can you do?");
    expect((await shell.svc("plugin", "list")).out).toMatch(/tier-local\s+0\.1\.0\s+running/);
    expect(await shell.svc("daemon", "stop")).toMatchObject({ code: 0, out: "The daemon has stopped.\n" });
    expect(await shell.svc("daemon", "status")).toMatchObject({ code: 69 });
  });

  it("a long message in four scripts comes back in more than one chunk and is whole in the trace", async () => {
    const shell = echo();
    const message = "Ελληνικά 中文字 العربية Кирилл ".repeat(400);
    expect(message.length).toBeGreaterThan(10_000);
    const { port } = JSON.parse(readFileSync(join(shell.folder, ".svc/daemon.json"), "utf8"));
    const response = await fetch(`http://127.0.0.1:${port}/task`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ agent: "echo", message }),
    });
    const frames = (await response.text()).split("\n\n").filter((frame) => frame.startsWith("event: text"));
    expect(frames.length).toBeGreaterThan(1);
    const [trace] = await traces(shell);
    expect(await lines(shell).json<Trace>("trace", "show", trace!.id)).toMatchObject({ message, response: message });
  });

  it("CLI-02 trace replay runs the original message again as a new task", async () => {
    const shell = echo();
    await shell.ask("/task", { agent: "echo", message: "once" });
    const [first] = await traces(shell);
    const replayed = await shell.json<{ taskId: string; reply: string }>("trace", "replay", first!.id);
    expect(replayed.reply).toBe("once");
    expect(replayed.taskId).not.toBe(first!.id);
    expect((await traces(shell)).filter(({ message }) => message === "once")).toHaveLength(2);
  });

  it("FAULT-05 kill -9 during a run: the next start leaves no trace in flight, and the sender is told how it ended", async () => {
    const shell = await daemonWith(echoConfig({ local: { mode: "echo", delayMs: 700 } }));
    const sending = shell.svc("daemon", "send", "echo", "slow words");
    await vi.waitFor(async () => expect((await shell.ask<{ tasks: { running: number } }>("/health")).tasks.running).toBe(1), { timeout: 15_000 });
    process.kill(shell.pid(), "SIGKILL");
    expect(await shell.svc("daemon", "start")).toMatchObject({ code: 0 });
    const sent = await sending;
    expect(sent.err).toContain("The connection to the daemon broke");
    expect(sent).toMatchObject({ code: 0, out: expect.stringContaining("slow words") });
    expect(await lines(shell).json<Trace[]>("trace", "list", "--status", "in-flight")).toEqual([]);
    expect((await traces(shell))[0]).toMatchObject({ status: "ok", attempts: 2 });
  });

  it("FAULT-71 a second daemon on the same folder exits 75 naming the first one's pid", async () => {
    const shell = echo();
    // The first words of the one that runs stay: the second is not started to find the folder locked.
    const words = join(shell.folder, ".svc/daemon.log.start");
    writeFileSync(words, "of the first");
    for (const flags of [[], ["--foreground"]]) {
      const second = await shell.svc("daemon", "start", ...flags);
      expect(second.code).toBe(75);
      expect(second.err).toContain(String(shell.pid()));
    }
    expect(readFileSync(words, "utf8")).toBe("of the first");
    expect((await shell.svc("daemon", "status")).code).toBe(0);
  });
});

describe("configuration", () => {
  it("FAULT-16 a broken document exits 78 naming line and column; --last-good starts the one that worked and shows the difference", async () => {
    const shell = await daemonWith(echoConfig());
    await shell.end();
    const good = readFileSync(join(shell.folder, "svc.json"), "utf8");
    writeFileSync(join(shell.folder, "svc.json"), good.slice(0, -20));
    const check = await shell.svc("config", "check");
    expect(check.code).toBe(78);
    expect(check.out + check.err).toMatch(/svc\.json.*\d+:\d+|line \d+/);
    const start = await shell.svc("daemon", "start");
    expect(start.code).toBe(78);
    expect(start.err).toMatch(/svc\.json/);
    const rescued = await shell.svc("daemon", "start", "--last-good");
    expect(rescued.code).toBe(0);
    expect(await shell.ask("/task", { agent: "echo", message: "still here" })).toMatchObject({ reply: "still here" });
  });

  it("an address that is no text is named by the start; other commands look where a daemon listens by default", async () => {
    const shell = await openShell();
    shells.push(shell);
    const config = echoConfig();
    shell.write({ ...config, node: { ...(config.node as object), bind: 18800 } });
    expect(await shell.svc("daemon", "start")).toMatchObject({ code: 78, err: expect.stringContaining("node.bind") });
    const status = await shell.svc("daemon", "status");
    expect(status.code).toBe(69);
    expect(status.err + status.out).not.toContain("TypeError");
    expect(status.err + status.out).not.toContain("is not a function");
  });

  it("OPR-m1 CON-D6 AUT-B4 a change has one verdict, in words and as JSON: in force, or waiting for a restart", async () => {
    const shell = await daemonWith(echoConfig());
    const verdicts = async (...args: string[]) => [(await lines(shell).svc(...args)).out, await lines(shell).json<{ applied: boolean }>(...args)] as const;
    const [hot, hotJson] = await verdicts("config", "set", "agents.echo.name", "Other");
    expect(hot).toBe("agents.echo.name is set. In force now.\n");
    expect(hotJson).toMatchObject({ applied: true, restartRequired: [] });
    for (const [path, value] of [
      ["node.name", "New"],
      ["agents.echo.model", "m-2"],
      ["plugins", '["!feature-mcp"]'],
    ] as const) {
      const { out } = await lines(shell).svc("config", "set", path, value);
      expect(out).not.toContain("In force");
      expect(out).toContain(`Waits for a restart (svc daemon restart): ${path}`);
      const again = value === "New" ? "Newer" : value === "m-2" ? "m-3" : "[]";
      expect(await lines(shell).json("config", "set", path, again)).toMatchObject({ applied: false, restartRequired: [path] });
    }
  });

  it("OPR-m4 a configuration with which no agent can run is not kept as the last good one", async () => {
    const shell = await daemonWith(echoConfig());
    await shell.end();
    shell.write(echoConfig({ model: "${NOT_SET_ANYWHERE}" }));
    expect(await shell.svc("daemon", "start")).toMatchObject({ code: 0 });
    await shell.svc("daemon", "stop");
    expect(readFileSync(join(shell.folder, ".svc/last-good.json"), "utf8")).not.toContain("NOT_SET_ANYWHERE");
  });

  it("CFG-02 a value out of range is refused with its path; both ends of the range pass", async () => {
    const shell = await shellWith(echoConfig());
    for (const value of ["1", "240"]) expect(await lines(shell).svc("config", "set", "agents.echo.maxExecutionMinutes", value)).toMatchObject({ code: 0 });
    const before = readFileSync(join(shell.folder, "svc.json"), "utf8");
    for (const value of ["0", "241"]) {
      const refused = await lines(shell).svc("config", "set", "agents.echo.maxExecutionMinutes", value);
      expect(refused.code).toBe(78);
      expect(refused.err).toContain("agents.echo.maxExecutionMinutes");
    }
    expect(readFileSync(join(shell.folder, "svc.json"), "utf8")).toBe(before);
  });

  it("CFG-01 CFG-05 CFG-21 defaults are printed, references stay, types follow from the path", async () => {
    const shell = await shellWith(echoConfig({}, { providers: { anthropic: { apiKey: "${CANARY_KEY}" } } }));
    const { svc } = lines(shell, { CANARY_KEY: "sk-canary-0123456789" });
    expect((await svc("config", "get", "session.staleMinutes")).out).toBe("720\n");
    expect((await svc("config", "set", "node.name", "12345")).code).toBe(0);
    expect((await svc("config", "set", "agents.echo.maxConcurrent", "2")).code).toBe(0);
    expect(shell.config()).toMatchObject({
      node: { name: "12345" },
      agents: { echo: { maxConcurrent: 2 } },
      providers: { anthropic: { apiKey: "${CANARY_KEY}" } },
    });
    const shown = await svc("config", "show");
    expect(shown.out).toContain('"***"');
    expect(shown.out).not.toContain("canary-0123456789");
    expect((await svc("config", "show", "--reveal")).out).toContain("sk-canary-0123456789");
    expect((await svc("config", "set", "node.nmae", "x")).code).toBe(78);
    expect((await svc("config", "set", "__proto__.x", "1")).code).toBe(78);
  });

  it("CFG-07 CFG-09 FAULT-70 a change is judged by the running daemon: in force, or waiting for a restart, and said so", async () => {
    const shell = await daemonWith(echoConfig());
    expect((await shell.svc("config", "set", "agents.echo.maxConcurrent", "3")).out).toContain("In force now.");
    const model = await lines(shell).json<{ applied: boolean; restartRequired: string[] }>("config", "set", "agents.echo.model", "m-2");
    expect(model).toMatchObject({ applied: false, restartRequired: ["agents.echo.model"] });
    await shell.svc("daemon", "stop");
    expect(await lines(shell).json("config", "set", "agents.echo.maxConcurrent", "4")).toMatchObject({
      applied: false,
      reloadSkipped: expect.stringContaining("ECONNREFUSED"),
    });
  });

  it("CFG-10 FAULT-15 a broken file on reload keeps the running configuration", async () => {
    const shell = echo();
    const whole = text(shell);
    onTestFinished(() => writeFileSync(join(shell.folder, "svc.json"), whole));
    writeFileSync(join(shell.folder, "svc.json"), '{ "node": ');
    const { port } = JSON.parse(readFileSync(join(shell.folder, ".svc/daemon.json"), "utf8"));
    const reload = await fetch(`http://127.0.0.1:${port}/reload`, { method: "POST" });
    expect(reload.status).toBe(400);
    expect(((await reload.json()) as { error: string }).error).toContain("svc.json");
    // CON-D5: the place of the first mistake, as a field of its own.
    shell.write(echoConfig({}, { session: { maxTurnsPerSession: 1 } }));
    const judged = await (await fetch(`http://127.0.0.1:${port}/reload`, { method: "POST" })).json();
    expect(judged).toMatchObject({ code: "SVC_CONFIG_INVALID", path: "session.maxTurnsPerSession" });
    expect(JSON.parse((await lines(shell).svc("config", "check", "--json")).out)).toMatchObject({
      valid: false,
      problems: [{ path: "session.maxTurnsPerSession", message: expect.stringContaining("from 2 to 200") }],
      // Those that cannot run, not the whole list.
      plugins: [],
    });
    expect(await shell.ask("/task", { agent: "echo", message: "unharmed" })).toMatchObject({ reply: "unharmed" });
  });
});

describe("the program", () => {
  it("CLI-03 every group answers --help; an unknown group or command exits non-zero; what needs the daemon says so", async () => {
    const shell = await shellWith(echoConfig());
    const groups = ["init", "start", "daemon", "agent", "config", "trace", "plugin", "doctor", "completion"];
    for (const group of groups) expect(await lines(shell).svc(group, "--help")).toMatchObject({ code: 0, out: expect.stringContaining(`svc ${group}`) });
    for (const wrong of [["dance"], ["daemon", "dance"], ["agent", "add"], ["config", "set", "x"]]) {
      const said = await lines(shell).svc(...wrong);
      expect(said.code).toBe(2);
      expect(said.err).not.toBe("");
    }
    for (const lost of [
      ["daemon", "send", "echo", "hi"],
      ["trace", "list"],
      ["daemon", "stop"],
    ]) {
      const said = await lines(shell).svc(...lost);
      expect(said.code).toBe(69);
      expect(said.err).toContain("svc daemon start");
    }
    expect((await lines(shell).svc("daemon", "send", "nobody", "hi", "--json")).code).not.toBe(0);
  });

  it("CLI-01 exec prints the answer alone and takes a limit in minutes", async () => {
    const shell = echo();
    expect(await shell.svc("exec", "echo", "just", "this")).toEqual({ code: 0, out: "just this\n", err: "" });
    expect((await lines(shell).svc("exec", "echo", "x", "--timeout", "5")).code).toBe(0);
    for (const limit of ["0", "241", "abc"])
      expect(await lines(shell).svc("exec", "echo", "x", "--timeout", limit)).toMatchObject({ code: 2, err: expect.stringContaining("from 1 to 240") });
  });

  it("agents are added and removed in place, with the daemon's verdict", async () => {
    const shell = echo();
    expect((await lines(shell).svc("agent", "add", "second", "--name", "Second")).out).toContain("In force now.");
    expect((await lines(shell).svc("daemon", "send", "second", "hello")).out).toContain("Second");
    expect((await lines(shell).svc("agent", "add", "second")).err).toContain("exists already");
    expect((await lines(shell).svc("agent", "add", "bad", "--tier", "no-such-tier")).code).toBe(78);
    expect((await lines(shell).svc("agent", "add", "bad", "--tier", "no-such-tier", "--workspace", "deep/er")).code).toBe(78);
    for (const folder of ["workspaces/bad", "deep"]) expect(existsSync(join(shell.folder, folder))).toBe(false);
    expect(existsSync(join(shell.folder, "workspaces/second"))).toBe(true);
    expect((await lines(shell).svc("agent", "remove", "second")).out).toContain("In force now.");
    expect((await lines(shell).svc("daemon", "send", "second", "hello")).code).not.toBe(0);
    expect(Object.keys(shell.config().agents as object)).toEqual(["echo"]);
  });

  it("doctor says what is wrong and what to do; completion knows three shells", async () => {
    const shell = await shellWith(echoConfig());
    const doctor = await lines(shell).svc("doctor");
    expect(doctor.out).toContain("does not exist");
    expect(doctor.out).toContain("svc daemon start");
    for (const kind of ["bash", "zsh", "fish"]) expect((await lines(shell).svc("completion", kind)).out).toContain("svc completion words");
    expect((await lines(shell).svc("completion", "tcsh")).code).toBe(2);
    expect((await shell.svc("--version")).out).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});
