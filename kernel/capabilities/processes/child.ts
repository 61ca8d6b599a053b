import type { ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { statSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { type Child, type ChildEnd, onAbort, type SpawnOptions, type SvcError } from "@svc/sdk";
import { fail } from "../../base/errors.ts";
import { processIdentity } from "../../base/process-identity.ts";
import { childEnvironment } from "./child-env.ts";
import { createKeptOutput, type KeptOutput } from "./kept-output.ts";
import { lastWords } from "./last-words.ts";
import { createLines, type Lines } from "./lines.ts";
import { endTree, type Member, memberOf } from "./process-tree.ts";
import type { SpawnDeps } from "./spawn.ts";
import { startTurn } from "./start-turn.ts";
import { beginWork } from "./working-trees.ts";

/** Between SIGTERM and SIGKILL (000:L162). */
const GRACE_MS = 3000;
/** Streams silent for so long after the end are held open by something that left the tree. */
const SILENCE_MS = 1000;
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * One process and all it starts.
 *
 *   waits its turn > runs > exits > what it left behind is ended > its output is read to the end > `ended`
 *                      \ stop, time limit, abort, over-long line: its whole tree is ended /
 */
export function startChild(deps: SpawnDeps, command: string, args: readonly string[], options: SpawnOptions): Child {
  const { maxOutputBytes = 32_768, maxLineBytes = 1_048_576, onLine, onErrorLine, signal, taskId, timeoutMs } = options;
  const mark = `${deps.marker}.${randomUUID()}`;
  const stdout = createKeptOutput(maxOutputBytes);
  const stderr = createKeptOutput(maxOutputBytes);
  const outLines = onLine && createLines({ maxBytes: maxLineBytes, line: heard(onLine), tooLong: () => void end("protocol") });
  const errorLines = onErrorLine && createLines({ maxBytes: maxLineBytes, line: heard(onErrorLine) });
  const output = createChildOutput({ kept: stdout, lines: outLines }, { kept: stderr, lines: errorLines });
  let pid = 0;
  let member: Member | undefined;
  let reason: ChildEnd["reason"];
  let exited = false;
  let stopped = false;
  let ending: Promise<void> | undefined;
  let working: (() => void) | undefined;

  /** A reader that throws must not crash the daemon: it could not process its line, so the run is over. */
  function heard(reader: (line: string) => void): (line: string) => void {
    return (line) => {
      if (reason === "protocol") return;
      try {
        reader(line);
      } catch (error) {
        deps.log.warn({ err: error, command }, "a line of a child could not be taken; the child is stopped");
        void end("protocol");
      }
    };
  }

  async function launch(): Promise<ChildProcess> {
    await startTurn();
    // Looked up here and not imported: a daemon that starts has no child yet, and the module takes as long as four files of ours.
    const { spawn } = process.getBuiltinModule("node:child_process");
    if (signal?.aborted) reason = "aborted";
    if (stopped || signal?.aborted) throw fail("SVC_SPAWN_FAILED", { command, reason: "it was stopped before its start" });
    const env = childEnvironment(command, deps.baseEnv, options.env ?? {}, mark, taskId);
    const stdin = options.stdin ?? "ignore";
    try {
      const running = spawn(command, [...args], {
        cwd: options.cwd,
        env,
        detached: true,
        stdio: [stdin === "ignore" ? "ignore" : "pipe", "pipe", "pipe"],
      });
      if (running.pid === undefined) throw (await once(running, "error"))[0];
      pid = running.pid;
      member = memberOf(pid);
      if (taskId !== undefined) working = beginWork({ known: member === undefined ? [] : [member], leader: pid, mark, taskId });
      // EPIPE: the child has stopped reading; its end is handled separately.
      for (const part of [running, running.stdin, running.stdout, running.stderr]) part?.on("error", () => undefined);
      output.connect(running);
      if (stdin !== "ignore" && stdin !== "pipe") running.stdin?.end(stdin);
      return running;
    } catch (error) {
      throw startFailure(command, options.cwd, env["PATH"], error);
    }
  }

  function end(why?: ChildEnd["reason"]): Promise<void> {
    if (!exited) reason ??= why;
    stopped = true;
    ending ??= launched.then(endAll, () => undefined);
    return ending;
  }

  async function endAll(): Promise<void> {
    const leftBehind = exited;
    const { found, survivors } = await endTree({ known: member === undefined ? [] : [member], leader: pid, mark }, GRACE_MS);
    const pids = (members: readonly Member[]) => members.map((each) => each.pid);
    if (leftBehind && found.length > 0) deps.log.info({ command, pids: pids(found) }, "a child left processes behind; they were ended");
    if (survivors.length > 0) deps.log.warn({ command, pids: pids(survivors) }, "processes of a child could not be ended");
  }

  /** Starts the limits of the run; call the answer when it is over. */
  function limit(): () => void {
    const stop = onAbort(signal, () => void end("aborted"));
    const timer = timeoutMs === undefined ? undefined : setTimeout(() => void end("timeout"), Math.min(timeoutMs, LONGEST_TIMER_MS));
    return () => {
      stop();
      clearTimeout(timer);
    };
  }

  async function run(): Promise<ChildEnd> {
    const running = await launched.catch(() => undefined);
    if (running !== undefined) {
      const happened = (event: "exit" | "close") => new Promise<boolean>((resolve) => running.once(event, () => resolve(true)));
      const closed = happened("close");
      const lift = limit();
      await happened("exit");
      exited = true;
      lift();
      await (ending ??= endAll());
      working?.();
      await output.silence(running, closed);
      outLines?.end();
      errorLines?.end();
    }
    return {
      code: running?.exitCode ?? null,
      signal: running?.signalCode ?? null,
      stdout: stdout.text(),
      stderr: lastWords(stderr.text(), options.env ?? {}, deps.baseEnv),
      truncated: stdout.truncated || stderr.truncated,
      ...(reason === undefined ? {} : { reason }),
    };
  }

  const launched = launch();
  const started = launched.then(() => recordChild(deps, command, taskId, pid));
  // Callers may read only `ended`: avoid an unhandled rejection.
  started.catch(() => undefined);
  const ended = run();
  return {
    get pid() {
      return pid;
    },
    started,
    ended,
    ...createChildInput(launched),
    async stop() {
      await end();
      await ended;
    },
  };
}

/** Destination of the output of one stream. */
interface ChildStream {
  readonly kept: KeptOutput;
  readonly lines: Lines | undefined;
}

/** Reads the output of a child until its end. */
function createChildOutput(stdout: ChildStream, stderr: ChildStream) {
  let bytesRead = 0;
  return {
    connect(running: ChildProcess): void {
      for (const [stream, { kept, lines }] of [[running.stdout, stdout] as const, [running.stderr, stderr] as const]) {
        stream?.on("data", (chunk: Buffer) => {
          bytesRead += chunk.length;
          kept.push(chunk);
          lines?.push(chunk);
        });
      }
    },
    /** Resolves when the streams of an ended child have closed, or have been silent for so long that they are closed here. */
    async silence(running: ChildProcess, closed: Promise<boolean>): Promise<void> {
      for (let before = -1; before !== bytesRead; ) {
        before = bytesRead;
        if (await Promise.race([closed, sleep(SILENCE_MS, false, { ref: false })])) return;
      }
      running.stdout?.destroy();
      running.stderr?.destroy();
    },
  };
}

/** Writes to a child as fast as it reads, from its start on. */
function createChildInput(launched: Promise<ChildProcess>): Pick<Child, "write" | "closeStdin"> {
  let drain: Promise<void> | undefined;
  return {
    async write(data) {
      const stdin = (await launched.catch(() => undefined))?.stdin;
      if (!stdin?.writable) return;
      if (stdin.write(data)) return;
      drain ??= new Promise<void>((resolve) => {
        const flow = () => {
          stdin.off("drain", flow).off("close", flow);
          drain = undefined;
          resolve();
        };
        stdin.on("drain", flow).on("close", flow);
      });
      await drain;
    },
    closeStdin: () => void launched.then(({ stdin }) => stdin?.end()).catch(() => undefined),
  };
}

/** Records a child that runs for a task, so that it is found after a crash. */
async function recordChild(deps: SpawnDeps, command: string, taskId: string | undefined, pid: number): Promise<void> {
  const identity = processIdentity(pid);
  if (taskId === undefined || identity === undefined) return;
  try {
    await deps.record?.(taskId, pid, identity);
  } catch (error) {
    deps.log.warn({ err: error, command }, "a child could not be recorded; after a crash it is found by its mark only");
  }
}

function startFailure(command: string, cwd: string, path: string | undefined, error: unknown): SvcError {
  const { code, message } = error as NodeJS.ErrnoException;
  return fail("SVC_SPAWN_FAILED", { command, reason: reasonOf(code ?? message, command, cwd, path), errno: code, cause: error });
}

function reasonOf(code: string, command: string, cwd: string, path: string | undefined): string {
  if (!statSync(cwd, { throwIfNoEntry: false })?.isDirectory()) return `its working folder ${cwd} does not exist`;
  if (code === "ENOENT" && command.includes("/")) return "there is no such file; correct its path";
  if (code === "ENOENT") return `there is no such program in PATH (${path ?? "unset"}); install it or name it by its full path`;
  if (code === "EACCES") return "it is not executable for the daemon's user";
  if (code === "E2BIG") return "its arguments and environment are too long";
  if (code === "EAGAIN" || code === "ENOMEM") return `the machine has no room for another process (${code})`;
  return code;
}
