import { type ChildProcess, fork } from "node:child_process";
import { join } from "node:path";
import { pause } from "./daemon.harness.ts";

/** A daemon with one channel that is killed and started again, and whose own end is a failure. */
export interface ChannelDaemon {
  /** Resolves when it has started. */
  start(): Promise<void>;
  kill(): Promise<void>;
  /** Resolves when `condition` holds. Rejects when the daemon ends by itself, or after two minutes, with what it has written. */
  until(what: string, condition: () => boolean): Promise<void>;
  /** Waits as long as fewer things are missing; a minute without one more is the end. */
  settled(missing: () => number): Promise<void>;
  /** What it has written to standard error. */
  said(): string;
}

/** Longer than a loaded machine needs for any one step. */
const STANDSTILL_MS = 120_000;
const LAST_ANSWER_MS = 60_000;
const running = new Set<ChannelDaemon>();

/** For `afterEach`: ends what a test left running. A test that goes on behind its own end fails at its next step, and disturbs no other. */
export async function endChannelDaemons(): Promise<void> {
  const ended = [...running];
  running.clear();
  await Promise.all(ended.map((daemon) => daemon.kill()));
}

/** Makes the daemon of `config`, a svc.json with the section of `channel`. */
export function createChannelDaemon(config: string, channel: string): ChannelDaemon {
  let child: ChildProcess | undefined;
  let errors = "";
  /** How it ended by itself. */
  let ended: string | undefined;
  const whatItSaid = () => (errors === "" ? "it has written nothing" : errors.slice(-4_000));

  const daemon: ChannelDaemon = {
    async start() {
      if (!running.has(daemon)) throw new Error("the test is over");
      const made = fork(join(import.meta.dirname, "channel-daemon.mjs"), [config, channel], { stdio: ["ignore", "ignore", "pipe", "ipc"] });
      child = made;
      let ready = false;
      made.stderr?.on("data", (chunk) => (errors += chunk));
      made.once("message", () => (ready = true));
      made.once("exit", (code, signal) => {
        if (child === made) ended = `it ended by itself with ${code ?? signal}`;
      });
      await daemon.until("the daemon starts", () => ready);
    },
    kill: () =>
      new Promise<void>((resolve) => {
        const killed = child;
        child = undefined;
        if (killed === undefined || killed.exitCode !== null || killed.signalCode !== null) return resolve();
        killed.once("exit", () => resolve());
        killed.kill("SIGKILL");
      }),
    async until(what, condition) {
      for (const began = performance.now(); !condition(); await pause(5)) {
        if (!running.has(daemon)) throw new Error("the test is over");
        if (ended !== undefined) throw new Error(`${what}: ${ended}; ${whatItSaid()}`);
        if (performance.now() - began > STANDSTILL_MS) throw new Error(`${what}: not in ${STANDSTILL_MS / 1_000} s; ${whatItSaid()}`);
      }
    },
    async settled(missing) {
      let before = missing();
      for (let since = performance.now(); before > 0 && performance.now() - since < LAST_ANSWER_MS; await pause(100)) {
        if (!running.has(daemon)) throw new Error("the test is over");
        if (ended !== undefined) throw new Error(`${before} are missing: ${ended}; ${whatItSaid()}`);
        if (missing() === before) continue;
        before = missing();
        since = performance.now();
      }
    },
    said: () => errors,
  };
  running.add(daemon);
  return daemon;
}

/** The same faults at every run: a failure can be repeated. */
export function createDice(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}
