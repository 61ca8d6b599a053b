import { mkdirSync, realpathSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createKernel, type Kernel, lockHolder, unmarkLoading } from "@svc/kernel/daemon";
import { SDK_VERSION } from "@svc/sdk";
import { requireRestored } from "../backup/half-restored.ts";
import { besideUs } from "../catalog.ts";
import { type Cli, DEFAULT_BIND, outliveReader, problemLine } from "../cli.ts";
import { EXIT } from "../exit.ts";
import { offlineCode } from "../kernel-code.ts";
import type { DaemonNote } from "../own-daemon.ts";
import { ownProgram, type StopNote, startSuccessor, stopNoteOf, successorHere } from "./detach.ts";
import { guardExit } from "./exit-guard.ts";
import { keepHeapSmall } from "./heap.ts";
import { notifyReady, notifyStopping, startWatchdog } from "./sd-notify.ts";
import { watchLoop } from "./watchdog.ts";

/** Runs the daemon in this process until a signal, or a request to restart. */
export async function runDaemon(cli: Cli, options: { readonly lastGood: boolean; readonly watchdog: boolean }): Promise<void> {
  process.umask(0o077);
  requireRestored(cli);
  await predecessorGone(cli);
  const configText = options.lastGood ? await lastGoodText(cli) : undefined;
  const background = process.env.SVC_DETACHED === "1";
  // Read now: later the terminal may be closed.
  const atTerminal = !background && process.stdin.isTTY === true;
  // A terminal, pipe or journal that has gone, or a full disk, must not end the daemon, as it ends another command, nor be a failure of the plugin that wrote.
  outliveReader();
  const restarting = new AbortController();
  const exit = guardExit();
  const unwatch = options.watchdog ? watchLoop(cli, { respawn: background, lastGood: options.lastGood }) : () => {};
  // Until the kernel can be stopped, a signal just ends the process; remove the mark: the plugin being loaded is not to blame.
  let signalled = (_signal: string): void => {
    unmarkLoading(cli.dataFolder);
    exit(EXIT.ok);
  };
  // Never another listener: a signal that has arrived and waits for the loop's next turn is lost with the one it waits for.
  for (const signal of SIGNALS) process.on(signal, () => signalled(signal));
  // The file is being read anyway; by default the signal would end the process.
  process.on("SIGHUP", () => {});
  const kernel = await createKernel({
    config: cli.file,
    ...(configText === undefined ? {} : { configText }),
    folder: cli.folder,
    dataFolder: cli.dataFolder,
    // The kernel reads their manifests, once, and leaves out packages without one.
    known: besideUs(),
    offered: async () => (await import("../plugin/offered.js")).offeredPlugins(),
    listen: true,
    log: { level: process.env.SVC_LOG_LEVEL ?? "info", destination: background ? cli.logFile : "stderr", pretty: !background && process.stderr.isTTY === true },
    version: SDK_VERSION,
    onFatal: () => void end(kernel, EXIT.storage, exit),
    onDrain: () => signalled("svc node drain"),
    onRestart: () => restarting.abort(),
  });
  catchStrays(kernel, exit);
  // SIGHUP: with a terminal, the terminal has closed, so stop; without one, reload.
  process.on("SIGHUP", () => (atTerminal ? signalled("SIGHUP") : void kernel.reload().catch(() => {})));
  let interrupted = 0;
  kernel.bus.subscribe(({ data }) => {
    if (data?.state === "tasks-interrupted") interrupted = Number(data.tasks);
  }, "status");
  await kernel.start().catch(async (error) => {
    const { node } = kernel.configuration.value as { node: { bind?: string } };
    const { explainStart } = await import("./start-failure.js");
    throw await explainStart(cli, error, node.bind ?? DEFAULT_BIND);
  });
  keepHeapSmall();
  writeNote(cli, kernel, background);
  notifyReady();
  // A long drain is not a hang, and a restart does not free a full disk.
  const watchdog = startWatchdog(() => ["running", "draining"].includes(kernel.health().state));
  if (!background) announce(cli, kernel);
  await new Promise<void>((resolve) => {
    restarting.signal.addEventListener("abort", () => resolve(), { once: true });
    let stopping = false;
    signalled = (signal) => {
      if (stopping) {
        // Second signal: do not wait for running work any more.
        kernel.stop({ drainSeconds: 0 }).catch(() => {});
        return;
      }
      stopping = true;
      notifyStopping();
      kernel.log.info({ signal }, "asked to stop");
      kernel.stop().then(resolve, (error) => {
        kernel.log.error({ err: error }, "the stop was not clean");
        process.exitCode = EXIT.failed;
        resolve();
      });
    };
  });
  watchdog();
  unwatch();
  // On restart keep daemon.json; the new process overwrites it.
  if (!restarting.signal.aborted) {
    rmSync(join(cli.dataFolder, "daemon.json"), { force: true });
    writeFileSync(stopNoteOf(cli), JSON.stringify({ pid: process.pid, interrupted } satisfies StopNote), { mode: 0o600 });
  }
  if (restarting.signal.aborted)
    await startAnew(cli, { background, atTerminal }, (act) => {
      signalled = act;
    });
  leave(kernel, exit);
}

/** Time for which resources left open by plugins may keep a stopped process alive, in milliseconds. */
const LEFT_OPEN_MS = 1_000;

/** Forces the exit: a connection or timer left by an abandoned engine must not keep the process alive. */
function leave(kernel: Kernel, exit: (code: number) => never): void {
  setTimeout(() => {
    const open = [...new Set(process.getActiveResourcesInfo())].join(", ");
    kernel.log.warn({ open }, "something of a plugin is still open after the stop; the process ends without it");
    exit(Number(process.exitCode ?? EXIT.ok));
  }, LEFT_OPEN_MS).unref();
}

/** A detached daemon, and one in a terminal, start their successor themselves; otherwise the supervisor does, on the exit code. */
async function startAnew(
  cli: Cli,
  { background, atTerminal }: { readonly background: boolean; readonly atTerminal: boolean },
  onSignal: (act: (signal: string) => void) => void,
): Promise<void> {
  const supervised = process.env.NOTIFY_SOCKET !== undefined;
  if (background && !supervised) return startSuccessor();
  if (atTerminal && !supervised) {
    const successor = successorHere();
    onSignal(successor.signal);
    process.exitCode = await successor.ended;
    return;
  }
  process.exitCode = EXIT.restart;
  if (!supervised) cli.say(`The daemon has ended to be started anew by whatever watches over it (exit code ${EXIT.restart}).`);
}

const SIGNALS = ["SIGTERM", "SIGINT"] as const;

/** A daemon that takes the place of one that hung waits until that one's lock is free. */
async function predecessorGone(cli: Cli): Promise<void> {
  const pid = Number(process.env.SVC_REPLACES ?? 0);
  delete process.env.SVC_REPLACES;
  for (let waited = 0; pid > 0 && waited < 10_000 && lockHolder(cli.dataFolder)?.pid === pid; waited += 20) {
    await sleep(20);
  }
}

/** Handles uncaught errors: one caused by a plugin is counted against it and the daemon continues; any other ends the daemon, to be restarted. */
function catchStrays(kernel: Kernel, exit: (code: number) => never): void {
  const stray = (error: unknown) => {
    if (kernel.stray(error)) return;
    kernel.log.error({ err: error }, "uncaught error; the daemon ends");
    void end(kernel, 70, exit);
  };
  process.on("uncaughtException", stray);
  process.on("unhandledRejection", stray);
}

async function end(kernel: Kernel, code: number, exit: (code: number) => never): Promise<never> {
  await Promise.race([kernel.stop({ drainSeconds: 0 }).catch(() => {}), sleep(3_000)]);
  return exit(code);
}

function writeNote(cli: Cli, kernel: Kernel, background: boolean): void {
  const { address } = kernel;
  const { instance } = kernel.health();
  if (address === undefined) return;
  mkdirSync(cli.dataFolder, { recursive: true, mode: 0o700 });
  const note: DaemonNote = {
    pid: process.pid,
    host: address.host === "0.0.0.0" || address.host === "::" ? "127.0.0.1" : address.host,
    port: address.port,
    startedAt: Date.now(),
    ...(instance === undefined ? {} : { instance }),
    ...(background ? { log: cli.logFile } : {}),
    program: realpathSync(ownProgram()),
  };
  // Written atomically: a command that reads at that moment must not see half of it.
  const file = join(cli.dataFolder, "daemon.json");
  writeFileSync(`${file}.new`, JSON.stringify(note), { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

function announce(cli: Cli, kernel: Kernel): void {
  const { address } = kernel;
  const [agent] = kernel.agents.list();
  cli.say(`${kernel.node.name} is up on http://${address?.host}:${address?.port}`);
  for (const problem of kernel.health().problems) cli.say(problemLine(problem));
  if (agent === undefined) return;
  cli.say("\nTry it from another terminal:");
  cli.say(`  ${process.env.npm_lifecycle_event === undefined ? "" : "npx "}svc daemon send ${agent.id} "hello"`);
  cli.say(`  curl -N -X POST http://${address?.host}:${address?.port}/task -H 'content-type: application/json' -d '{"agent":"${agent.id}","message":"hello"}'`);
}

async function lastGoodText(cli: Cli): Promise<string> {
  const { compareLastGood } = offlineCode();
  const { text, difference } = await compareLastGood(cli.dataFolder, cli.file);
  cli.say(
    difference === ""
      ? "The last configuration that worked is the one in svc.json."
      : `Starting with the last configuration that worked. ${cli.file} differs:\n${difference}`,
  );
  return text;
}
