import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { compareLastGood, createKernel, type Kernel } from "@svc/kernel";
import { firstParty } from "../catalog.ts";
import type { Cli, DaemonNote } from "../cli.ts";
import { EXIT } from "../exit.ts";
import { notifyReady, notifyStopping, startWatchdog } from "./sd-notify.ts";

/** Run the daemon in this process until a signal asks it to stop. */
export async function runDaemon(cli: Cli, options: { readonly lastGood: boolean }): Promise<void> {
  process.umask(0o077);
  const configText = options.lastGood ? await lastGoodText(cli) : undefined;
  const background = process.env.SVC_DETACHED === "1";
  const kernel = await createKernel({
    config: cli.file,
    ...(configText === undefined ? {} : { configText }),
    folder: cli.folder,
    dataFolder: cli.dataFolder,
    known: firstParty().map(({ folder }) => folder),
    listen: true,
    log: { level: process.env.SVC_LOG_LEVEL ?? "info", destination: background ? cli.logFile : "stderr", pretty: !background && process.stderr.isTTY === true },
    version: process.env.npm_package_version ?? "0.1.0",
    onFatal: () => void end(kernel, EXIT.storage),
  });
  catchStrays(kernel);
  await kernel.start();
  writeNote(cli, kernel);
  notifyReady();
  const watchdog = startWatchdog(() => kernel.health().ok);
  if (!background) announce(cli, kernel);
  await new Promise<void>((resolve) => {
    let stopping = false;
    const stop = (signal: string) => {
      if (stopping) {
        // Asked twice: no more waiting for running work.
        void kernel.stop({ drainSeconds: 0 });
        return;
      }
      stopping = true;
      notifyStopping();
      kernel.log.info({ signal }, "stopping");
      kernel.stop().then(resolve, resolve);
    };
    process.on("SIGTERM", () => stop("SIGTERM"));
    process.on("SIGINT", () => stop("SIGINT"));
    process.on("SIGHUP", () => void kernel.reload().catch((error) => kernel.log.error({ err: error }, "reload refused; the running configuration stays")));
  });
  watchdog();
  rmSync(join(cli.dataFolder, "daemon.json"), { force: true });
}

/** Errors that nobody caught: a plugin's are counted against it and the daemon lives; one without an owner ends it, to be started anew. */
function catchStrays(kernel: Kernel): void {
  const stray = (error: unknown) => {
    if (kernel.stray(error)) return;
    kernel.log.error({ err: error }, "an error nobody caught; the daemon ends");
    void end(kernel, 70);
  };
  process.on("uncaughtException", stray);
  process.on("unhandledRejection", stray);
}

async function end(kernel: Kernel, code: number): Promise<never> {
  await Promise.race([kernel.stop({ drainSeconds: 0 }).catch(() => {}), new Promise((resolve) => setTimeout(resolve, 3_000))]);
  process.exit(code);
}

function writeNote(cli: Cli, kernel: Kernel): void {
  const { address } = kernel;
  if (address === undefined) return;
  mkdirSync(cli.dataFolder, { recursive: true, mode: 0o700 });
  const note: DaemonNote = {
    pid: process.pid,
    host: address.host === "0.0.0.0" || address.host === "::" ? "127.0.0.1" : address.host,
    port: address.port,
    startedAt: Date.now(),
  };
  writeFileSync(join(cli.dataFolder, "daemon.json"), JSON.stringify(note), { mode: 0o600 });
}

function announce(cli: Cli, kernel: Kernel): void {
  const { address } = kernel;
  const [agent] = kernel.agents.list();
  cli.say(`${kernel.node.name} is up on http://${address?.host}:${address?.port}`);
  for (const problem of kernel.health().problems) cli.say(`problem: ${problem}`);
  if (agent === undefined) return;
  cli.say("\nTry it from another terminal:");
  cli.say(`  curl -N -X POST http://${address?.host}:${address?.port}/task -H 'content-type: application/json' -d '{"agent":"${agent.id}","message":"hello"}'`);
  cli.say(`  npx svc daemon send ${agent.id} "hello"`);
}

async function lastGoodText(cli: Cli): Promise<string> {
  const { text, difference } = await compareLastGood(cli.dataFolder, cli.file);
  cli.say(
    difference === ""
      ? "The last configuration that worked is the one in svc.json."
      : `Starting with the last configuration that worked. ${cli.file} differs:\n${difference}`,
  );
  return text;
}
