import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Trace } from "@svc/sdk";
import { afterEach, expect, it, vi } from "vitest";
import { ROOT } from "../house/house.ts";
import { post } from "../kit/kernel.ts";
import { sharedLines } from "../kit/lines.ts";
import { echoConfig, openShell, type Shell } from "../kit/svc.ts";

/** The commands of many lines, in one process. */
const lines = sharedLines();
const shells: Shell[] = [];
afterEach(async () => {
  for (const shell of shells.splice(0)) await shell.end();
});

interface Note {
  readonly pid: number;
  readonly host: string;
  readonly port: number;
}

/** Longer than any test takes. */
const SLOW = { mode: "echo", delayMs: 120_000, chunks: 1 };

const baseOf = ({ host, port }: Note) => `http://${host}:${port}`;

async function daemonWith(shutdown: object, agent: object = {}): Promise<Shell & { note: Note }> {
  const shell = await openShell();
  shell.write(echoConfig(agent, { shutdown }));
  shells.push(shell);
  return { ...shell, note: await shell.json<Note>("daemon", "start") };
}

const tasksOf = async (shell: Shell) => (await shell.ask<{ tasks: { running: number; queued: number } }>("/health")).tasks;

const gone = (pid: number) =>
  vi.waitFor(
    () => {
      expect(() => process.kill(pid, 0)).toThrow();
    },
    { timeout: 15_000 },
  );

it("OPS-02 a restart keeps what was accepted: the running and the queued message are answered by the new daemon", async () => {
  const shell = await daemonWith({ drainTimeoutSeconds: 0 }, { queueMode: "followup", local: SLOW });
  const task = (message: string) => post(baseOf(shell.note), "/task", { agent: "echo", message });
  const running = task("first");
  const waiting = task("second");
  const sent = shell.svc("daemon", "send", "echo", "third", "--chat", "another");
  await vi.waitFor(async () => expect(await tasksOf(shell)).toEqual({ running: 1, queued: 2 }), { timeout: 15_000 });

  // The running turn keeps what it started with; the new daemon is quick.
  await lines(shell).svc("config", "set", "agents.echo.local", '{"mode":"echo"}');
  const next = await shell.json<Note & { restarted: boolean }>("daemon", "restart", "--reason", "an update");
  expect(next).toMatchObject({ restarted: true, pid: expect.any(Number) });
  expect(next.pid).not.toBe(shell.note.pid);
  await gone(shell.note.pid);
  for (const cut of [running, waiting]) expect((await cut).body).toMatchObject({ ok: false, errorKind: "interrupted" });

  await vi.waitFor(async () => expect((await shell.ask<{ traces: Trace[] }>("/traces?status=in-flight")).traces).toEqual([]), { timeout: 15_000 });
  // Who waited at the command line has waited on.
  expect(await sent).toMatchObject({ code: 0, out: expect.stringContaining("third"), err: expect.stringContaining("The connection to the daemon broke") });
  const answered = (await lines(shell).json<Trace[]>("trace", "list")).map(({ status, message, response }) => ({ status, message, response }));
  expect(answered).toHaveLength(3);
  for (const message of ["first", "second", "third"]) expect(answered).toContainEqual({ status: "ok", message, response: expect.stringContaining(message) });
  expect(await shell.svc("daemon", "stop")).toMatchObject({ code: 0 });
});

it("OPS-02 a message that comes while the daemon ends waits for the next one, and is refused where none comes", async () => {
  const shell = await daemonWith({ drainTimeoutSeconds: 60 }, { local: { mode: "echo", delayMs: 8_000, chunks: 1 } });
  const draining = () =>
    vi.waitFor(async () => expect((await shell.ask<{ state: string }>("/health")).state).toBe("draining"), { timeout: 15_000, interval: 50 });
  const running = shell.svc("daemon", "send", "echo", "first");
  await vi.waitFor(async () => expect((await tasksOf(shell)).running).toBe(1), { timeout: 15_000 });
  const restarting = shell.svc("daemon", "restart");
  await draining();
  await lines(shell).svc("config", "set", "agents.echo.local", '{"mode":"echo","delayMs":5000,"chunks":1}');
  const late = await shell.svc("exec", "echo", "second");
  expect(late).toMatchObject({ code: 0, out: expect.stringContaining("second"), err: expect.stringContaining("sending it again when it does") });
  for (const one of [running, restarting]) expect(await one).toMatchObject({ code: 0 });

  const last = shell.svc("daemon", "send", "echo", "third");
  await vi.waitFor(async () => expect((await tasksOf(shell)).running).toBe(1), { timeout: 15_000 });
  const stopping = shell.svc("daemon", "stop");
  await draining();
  expect(await shell.svc("exec", "echo", "fourth")).toMatchObject({ code: 75, err: expect.stringContaining("The daemon is stopping and takes no new work") });
  for (const one of [last, stopping]) expect(await one).toMatchObject({ code: 0 });
});

it("OPS-02 the command line says why a restart is refused, held or given up, and the daemon stays", async () => {
  const shell = await daemonWith({ drainTimeoutSeconds: 0, restart: { allowBy: "^ops$" } });
  expect(await shell.svc("daemon", "restart", "--by", "eve")).toMatchObject({ code: 1, err: expect.stringContaining("not restarted for eve") });

  const later = new Date(Date.now() + 30 * 60_000);
  const window = `${String(later.getHours()).padStart(2, "0")}:${String(later.getMinutes()).padStart(2, "0")}`;
  await lines(shell).svc("config", "set", "shutdown.restart.window", window);
  expect(await lines(shell).json("daemon", "restart", "--by", "eve")).toEqual({ restarted: false, at: expect.stringMatching(/:00\.000Z$/) });

  await lines(shell).svc("config", "set", "shutdown.restart.forbidOnTimeoutRestart", "true");
  await lines(shell).svc("config", "set", "agents.echo.local", JSON.stringify(SLOW));
  const sending = shell.svc("daemon", "send", "echo", "undisturbed");
  const running = async () => (await tasksOf(shell)).running;
  await vi.waitFor(async () => expect(await running()).toBe(1), { timeout: 15_000 });
  expect(await shell.svc("daemon", "restart", "--by", "ops")).toMatchObject({ code: 1, err: expect.stringContaining("given up") });
  expect(await running()).toBe(1);
  expect(shell.pid()).toBe(shell.note.pid);
  await shell.svc("daemon", "stop");
  expect(await sending).toMatchObject({ code: 75, err: expect.stringMatching(/Task task_\S+ is taken up again at the next start.*svc trace show task_/) });
});

it("OPS-02 a daemon that somebody else watches over ends with 79, which the systemd unit starts anew", async () => {
  const shell = await openShell();
  shell.write(echoConfig());
  const child = spawn(process.execPath, [join(ROOT, "cli/bin/svc.cjs"), "daemon", "start", "--foreground"], {
    cwd: shell.folder,
    env: { ...process.env, SVC_CONFIG: "", SVC_DETACHED: "" },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  child.stderr.on("data", (chunk) => {
    said += chunk;
  });
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  try {
    const note = await vi.waitFor(() => JSON.parse(readFileSync(join(shell.folder, ".svc/daemon.json"), "utf8")) as Note, { timeout: 20_000 });
    expect((await post(baseOf(note), "/restart", { by: "ops" })).status).toBe(202);
    expect(await ended).toBe(79);
    expect(said).toContain("exit code 79");
  } finally {
    child.kill("SIGKILL");
  }
  const unit = readFileSync(join(ROOT, "cli/systemd/svc.service"), "utf8");
  expect(unit).toMatch(/^RestartForceExitStatus=79$/m);
  expect(unit).not.toMatch(/^RestartPreventExitStatus=.*\b79\b/m);
});
