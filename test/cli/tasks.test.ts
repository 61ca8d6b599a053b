import { spawn } from "node:child_process";
import { join } from "node:path";
import type { Trace } from "@svc/sdk";
import { afterEach, describe, expect, it, vi } from "vitest";
import { ROOT } from "../house/house.ts";
import { sharedLines } from "../kit/lines.ts";
import { echoConfig, openShell, type Said, type Shell } from "../kit/svc.ts";

/** The commands of many lines, in one process. */
const lines = sharedLines();
const shells: Shell[] = [];
afterEach(async () => {
  for (const shell of shells.splice(0)) await shell.end();
});

async function daemonWith(agent: object, rest: object = {}): Promise<Shell> {
  const shell = await openShell();
  shells.push(shell);
  shell.write(echoConfig(agent, rest));
  expect(await shell.svc("daemon", "start")).toMatchObject({ code: 0 });
  return shell;
}

/** Started, and left to run; `kill` is what Ctrl-C does. */
function start(shell: Shell, ...args: string[]): { readonly done: Promise<Said>; interrupt(): void; said(): string } {
  const child = spawn(process.execPath, [join(ROOT, "cli/bin/svc.cjs"), ...args], { cwd: shell.folder, env: { ...process.env, SVC_CONFIG: "" } });
  let out = "";
  let err = "";
  child.stdout.on("data", (chunk) => {
    out += chunk;
  });
  child.stderr.on("data", (chunk) => {
    err += chunk;
  });
  const done = new Promise<Said>((resolve) => child.on("close", (code) => resolve({ code, out, err })));
  return { done, interrupt: () => child.kill("SIGINT"), said: () => out };
}

interface TaskLine {
  readonly id: string;
  readonly agent: string;
  readonly state: string;
}

async function tasks(shell: Shell): Promise<TaskLine[]> {
  const { running, queued } = await shell.ask<Record<"running" | "queued", TaskLine[]>>("/api/tasks");
  return [...running.map((task) => ({ ...task, state: "running" })), ...queued.map((task) => ({ ...task, state: "queued" }))];
}
const running = (shell: Shell) =>
  vi.waitFor(
    async () => {
      const found = (await tasks(shell)).filter(({ state }) => state === "running");
      expect(found).toHaveLength(1);
      return found[0] as TaskLine;
    },
    { timeout: 20_000 },
  );

const SLOW = { local: { mode: "echo", delayMs: 120_000, chunks: 1 } };

describe("what is handed over at the command line", () => {
  for (const command of [["exec"], ["daemon", "send"]])
    it(`OPR-M7 svc ${command.join(" ")} waits over a kill -9 in mid-run and answers once`, async () => {
      const shell = await daemonWith({ local: { mode: "echo", delayMs: 1_500, chunks: 1 } });
      const { done } = start(shell, ...command, "echo", "slow words");
      await running(shell);
      process.kill(shell.pid(), "SIGKILL");
      expect(await shell.svc("daemon", "start")).toMatchObject({ code: 0 });
      expect(await done).toMatchObject({
        code: 0,
        out: expect.stringContaining("slow words"),
        err: expect.stringContaining("The connection to the daemon broke"),
      });
      expect((await shell.ask<{ traces: Trace[] }>("/traces")).traces).toHaveLength(1);
    });

  it("OPR-M7 svc trace replay waits over a kill -9 in mid-run, too", async () => {
    const shell = await daemonWith({ local: { mode: "echo", delayMs: 1_500, chunks: 1 } });
    const { taskId } = await shell.ask<{ taskId: string }>("/task", { agent: "echo", message: "slow words" });
    const { done } = start(shell, "trace", "replay", taskId);
    await running(shell);
    process.kill(shell.pid(), "SIGKILL");
    expect(await shell.svc("daemon", "start")).toMatchObject({ code: 0 });
    expect(await done).toMatchObject({ code: 0, out: expect.stringMatching(/^Task task_\w+:\nslow words/) });
  });

  it("OPR-M7 a daemon that is stopped for good: the task's id and 75, so that a script does not take it for failed", async () => {
    const shell = await daemonWith(SLOW, { shutdown: { drainTimeoutSeconds: 0 } });
    const { done } = start(shell, "exec", "echo", "words");
    const { id } = await running(shell);
    await shell.svc("daemon", "stop");
    expect(await done).toMatchObject({ code: 75, err: expect.stringContaining(`svc trace show ${id}`) });
  });

  it("OPR-M7 while the daemon drains, and with none, nothing is taken, and the exit code says which", async () => {
    const shell = await daemonWith(SLOW);
    const first = start(shell, "exec", "echo", "long");
    await running(shell);
    const stopping = start(shell, "daemon", "stop");
    await vi.waitFor(async () => expect((await shell.ask<{ state: string }>("/health")).state).toBe("draining"), { timeout: 20_000 });
    expect(await lines(shell).svc("exec", "echo", "late")).toMatchObject({ code: 75, err: expect.stringContaining("takes no new work") });
    expect(await shell.svc("daemon", "stop", "--now")).toMatchObject({ code: 0 });
    expect((await stopping.done).code).toBe(0);
    await first.done;
    expect(await lines(shell).svc("exec", "echo", "late")).toMatchObject({ code: 69 });
  });

  it("OPR-m12 Ctrl-C says that the task goes on, and how to see and end it; list, show and cancel do", async () => {
    const shell = await daemonWith({ ...SLOW, queueMode: "followup" });
    const sending = start(shell, "daemon", "send", "echo", "the first words");
    const { id } = await running(shell);
    // Meanwhile the sender hears its task's id, too.
    expect((await shell.svc("task", "show", id)).out).toContain("> the first words");
    sending.interrupt();
    const { code, err } = await sending.done;
    expect(code).toBe(130);
    expect(err).toContain(`Task ${id} goes on. See it with: svc task show ${id}; end it with: svc task cancel ${id}`);

    const waiting = start(shell, "daemon", "send", "echo", "the second words");
    await vi.waitFor(async () => expect((await tasks(shell)).map(({ state }) => state)).toEqual(["running", "queued"]), { timeout: 20_000 });
    const listed = (await lines(shell).svc("task", "list")).out;
    expect(listed).toMatch(new RegExp(`${id}\\s+echo\\s+running \\(\\w+\\)\\s+cli:cli\\s+\\d+ s`));
    expect(listed).toMatch(/queued/);
    expect(await lines(shell).json<TaskLine[]>("task", "list")).toMatchObject([{ id, state: "running" }, { state: "queued" }]);
    expect(await lines(shell).json("task", "list", "--agent", "nobody")).toEqual([]);

    for (const task of (await tasks(shell)).toReversed())
      expect(await lines(shell).svc("task", "cancel", task.id, "--reason", "enough")).toMatchObject({ code: 0, out: `Task ${task.id} is cancelled.\n` });
    expect(await waiting.done).toMatchObject({ code: 1, err: expect.stringContaining("cancelled: enough") });
    expect((await lines(shell).svc("task", "list")).out).toBe("No task runs or waits.\n");
    expect(await lines(shell).svc("task", "cancel", id)).toMatchObject({ code: 1, err: expect.stringMatching(`${id}.*svc task list`) });
    expect(await lines(shell).svc("daemon", "send", "--peer", "far", "echo", "hi")).toMatchObject({
      code: 1,
      err: expect.stringContaining("mesh.enabled true"),
    });
  });

  it("RUN-07 task list names the messages that a turn answers, too", async () => {
    const shell = await daemonWith(SLOW);
    const sent = [start(shell, "daemon", "send", "echo", "first")];
    const { id: first } = await running(shell);
    for (const [at, words] of ["second", "third"].entries()) {
      sent.push(start(shell, "daemon", "send", "echo", words));
      await vi.waitFor(async () => expect(await tasks(shell)).toHaveLength(at + 2), { timeout: 20_000 });
    }
    const [, lead, other] = (await tasks(shell)).map(({ id }) => id);
    await lines(shell).svc("task", "cancel", first);
    await vi.waitFor(async () => expect(await tasks(shell)).toMatchObject([{ id: lead, state: "running", with: [other] }]), { timeout: 20_000 });
    const listed = (await lines(shell).svc("task", "list")).out;
    expect(listed).toMatch(new RegExp(`^${lead}\\s+echo\\s+running`, "m"));
    expect(listed).toMatch(new RegExp(`^${other}\\s+echo\\s+in the turn of ${lead}\\s+cli:cli`, "m"));
    expect(await lines(shell).svc("task", "cancel", other as string)).toMatchObject({ code: 0 });
    for (const { done } of sent) expect(await done).toMatchObject({ code: 1 });
  });

  it("OPR-m7 a second stop waits with the first; --now interrupts, and the stop says how many tasks it interrupted", async () => {
    const shell = await daemonWith(SLOW);
    const sending = start(shell, "exec", "echo", "long");
    await running(shell);
    const first = start(shell, "daemon", "stop");
    await vi.waitFor(async () => expect((await shell.ask<{ state: string }>("/health")).state).toBe("draining"), { timeout: 20_000 });
    const second = await shell.svc("daemon", "stop", "--timeout", "1");
    expect(second.code).toBe(1);
    expect(second.err).toContain("svc daemon stop --now interrupts them");
    expect((await tasks(shell)).map(({ state }) => state)).toEqual(["running"]);
    const now = await shell.svc("daemon", "stop", "--now");
    expect(now.out).toContain("The daemon has stopped. 1 running task was interrupted; the next start takes such work up again");
    expect((await first.done).out).toContain("1 running task was interrupted");
    await sending.done;
  });

  it("OPR-m22 watch tells eight conversations apart: agent, chat and task stand on each line", async () => {
    const shell = await daemonWith({ maxConcurrent: 8 });
    const watching = start(shell, "daemon", "watch", "--kind", "agent");
    await vi.waitFor(
      async () => {
        await shell.ask("/task", { agent: "echo", message: "hello", context: { channel: "cli", chatId: "one" } });
        expect(watching.said()).toMatch(/task:started .*agent=echo {2}chat=\S+ {2}task=task_\S+/);
      },
      { timeout: 20_000, interval: 50 },
    );
    // It goes on over a daemon that is killed, and over a restart.
    const seen = async (message: string) =>
      vi.waitFor(
        async () => {
          const { taskId } = await shell.ask<{ taskId: string }>("/task", { agent: "echo", message });
          expect(watching.said()).toContain(`task=${taskId}`);
        },
        { timeout: 30_000, interval: 200 },
      );
    process.kill(shell.pid(), "SIGKILL");
    expect((await shell.svc("daemon", "start")).code).toBe(0);
    await seen("after a kill");
    expect((await shell.svc("daemon", "restart")).code).toBe(0);
    await seen("after a restart");
    watching.interrupt();
    expect((await watching.done).code).toBe(0);
  });
});
