import { Worker } from "node:worker_threads";
import { blame } from "@svc/kernel/daemon";
import type { Cli } from "../cli.ts";
import { ownProgram } from "./detach.ts";

/** Input of the watchdog thread. */
export interface Watched {
  readonly beat: SharedArrayBuffer;
  /** The name of the global symbol under which a main thread that does nothing else any more still says whose code is running. */
  readonly blame: string;
  /** Milliseconds the loop may be silent. */
  readonly limitMs: number;
  readonly dataFolder: string;
  readonly log: string;
  /** The command line of the successor, for a daemon without a supervisor. */
  readonly respawn?: { readonly args: readonly string[]; readonly folder: string };
}

const LIMIT_MS = 5_000;

/**
 * Watches from a thread of its own that this process's loop turns. A plugin that holds it for 5 s (`SVC_WATCHDOG_MS`) is put in
 * quarantine and the process is killed, to be restarted by its supervisor, or by the thread itself with `respawn`.
 * Returns the way to stop.
 */
export function watchLoop(cli: Cli, { respawn, lastGood }: { readonly respawn: boolean; readonly lastGood: boolean }): () => void {
  const limitMs = Number(process.env.SVC_WATCHDOG_MS) || LIMIT_MS;
  const beat = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  const counter = new Int32Array(beat);
  const program = ownProgram();
  const watched: Watched = {
    beat,
    blame: "svc.blame",
    limitMs,
    dataFolder: cli.dataFolder,
    log: cli.logFile,
    ...(respawn
      ? {
          respawn: {
            args: [program, "daemon", "start", "--foreground", "--config", cli.file, ...(lastGood ? ["--last-good"] : [])],
            folder: cli.folder,
          },
        }
      : {}),
  };
  Object.defineProperty(globalThis, Symbol.for(watched.blame), { value: blame, configurable: true });
  const thread = new Worker(new URL("./watchdog-thread.js", import.meta.url), {
    workerData: watched,
    execArgv: [],
    resourceLimits: { maxYoungGenerationSizeMb: 1, maxOldGenerationSizeMb: 16 },
  });
  thread.on("error", (error) => cli.say(`The watchdog has ended: ${error.message}`));
  thread.unref();
  const timer = setInterval(() => Atomics.add(counter, 0, 1), limitMs / 10);
  timer.unref();
  return () => {
    clearInterval(timer);
    void thread.terminate();
  };
}
