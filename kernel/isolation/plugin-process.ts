import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { constants } from "node:os";
import type { Duplex, Readable } from "node:stream";
import { withTimeout } from "@svc/sdk";
import { fail } from "../base/errors.ts";
import { childEnvironment } from "../capabilities/processes/child-env.ts";
import { createLines } from "../capabilities/processes/lines.ts";
import { endTree, memberOf } from "../capabilities/processes/process-tree.ts";
import { startTurn } from "../capabilities/processes/start-turn.ts";
import type { Confinement } from "./confinement.ts";
import type { IsolationLimits } from "./isolation-limits.ts";
import { followOutput } from "./output.ts";
import { watchTree } from "./own-sockets.ts";
import { createPeer, type RpcPeer, type RpcPeerOptions } from "./peer.ts";

/** A process of an isolated plugin. */
export interface PluginProcess {
  readonly pid: number;
  readonly peer: RpcPeer;
  /** Why it ended, for people; every call to it fails from then on. */
  readonly ended: Promise<string>;
  /** Resolves when the process and its descendants have ended. */
  readonly gone: Promise<unknown>;
  /** From now on it must answer pings. */
  watch(): void;
  /** Ends it at once, with its whole tree. */
  kill(why: string): void;
  /** Lets the process exit by itself, then ends it. Resolves when it has ended. */
  close(): Promise<void>;
}

/** Options of an isolated plugin's process, and the handlers of its calls. */
export interface PluginProcessOptions extends Pick<RpcPeerOptions, "serve" | "onNotify"> {
  readonly plugin: string;
  readonly confinement: Confinement;
  readonly limits: IsolationLimits;
  /** The daemon's environment: the process gets a few named variables of it, and the ones that the plugin declared. */
  readonly baseEnv: Readonly<Record<string, string | undefined>>;
  readonly env: Readonly<Record<string, string>>;
  /** By this an orphan is found. */
  readonly marker: string;
  /** A line that it wrote to its output. */
  readonly line?: (line: string) => void;
  readonly dropped: (what: "lines" | "frames", count: number) => void;
}

/** Output may be held open by something that left the tree. */
const DRAIN_MS = 200;

/**
 * Starts a process and the wire to it: a socket of its own, so that the plugin's output cannot be taken for a frame. The process is killed for
 * violations of the protocol: a malformed or overlong frame, too many frames for too long, unanswered pings.
 */
export async function startPluginProcess(options: PluginProcessOptions): Promise<PluginProcess> {
  const { plugin, confinement, limits } = options;
  const mark = `${options.marker}.${randomUUID()}`;
  const env = { ...childEnvironment(plugin, options.baseEnv, options.env, mark), JITI_FS_CACHE: "false" };
  await startTurn();
  const child = spawn(confinement.command, [...confinement.args], { cwd: confinement.cwd, env, detached: true, stdio: ["ignore", "pipe", "pipe", "pipe"] });
  if (child.pid === undefined) {
    const [error] = (await once(child, "error")) as [Error];
    throw fail("SVC_SPAWN_FAILED", { command: confinement.command, reason: error.message });
  }
  const pid = child.pid;
  const member = memberOf(pid);
  const tree = { known: member === undefined ? [] : [member], leader: pid, mark };
  // Without a network it reaches no port of ours.
  const unwatch = confinement.walls.includes("no network") ? undefined : watchTree(tree);
  const wire = child.stdio[3] as Duplex;
  let why: string | undefined;
  let over = false;

  function kill(reason: string): void {
    if (over) return;
    why ??= reason;
    // Ignore everything after the violation.
    wire.removeAllListeners("data");
    signalGroup(pid, "SIGKILL");
  }

  const peer = createPeer({
    write(line) {
      if (over || wire.destroyed) return;
      wire.write(`${line}\n`);
      if (wire.writableLength > limits.unreadBytes) kill(`it left more than ${limits.unreadBytes} bytes unread`);
    },
    serve: options.serve,
    onNotify(on, args, of) {
      if (on === "pong") open = 0;
      else options.onNotify(on, args, of);
    },
    where: `in the process of ${plugin}`,
    pending: limits.pending,
    serving: limits.serving,
    frameBytes: limits.frameBytes,
    abandonMs: limits.abandonMs,
    busy: (limit) => fail("SVC_ISOLATION_BUSY", { plugin, limit, failure: "retry" }),
    tooLarge: (bytes) => fail("SVC_ISOLATION_SIZE", { plugin, bytes, limit: limits.frameBytes, failure: "permanent" }),
  });

  let open = 0;
  let watching: NodeJS.Timeout | undefined;
  const gate = readFrames(wire, peer, limits, kill);
  const lastWords = followOutput([child.stdout as Readable, child.stderr as Readable], {
    limits,
    ...(options.line === undefined ? {} : { line: options.line }),
    dropped: (count) => options.dropped("lines", count),
    flooded: () => kill(`it wrote more than ${limits.outputBytes} bytes of output in ${limits.outputWindowMs / 1000} s`),
  });
  child.on("error", () => undefined);

  const ended = (async (): Promise<string> => {
    const closed = once(child, "close").catch(() => undefined);
    const [code, signal] = (await once(child, "exit")) as [number | null, string | null];
    await withTimeout(closed, DRAIN_MS, () => undefined);
    over = true;
    clearInterval(watching);
    gate.close();
    for (const stream of [wire, child.stdout, child.stderr]) stream?.destroy();
    const words = why === undefined ? lastWords() : "";
    const reason = why ?? `its process ended with ${signal ?? signalOf(confinement, code) ?? `code ${code}`}${words === "" ? "" : `: ${words}`}`;
    peer.end(fail("SVC_ISOLATION_ENDED", { plugin, reason, failure: "unknown" }));
    return reason;
  })();
  const endsIn = (ms: number) =>
    withTimeout(
      ended.then(() => true),
      ms,
      () => false,
    );
  const gone = ended.then(() => endTree(tree, 0)).finally(() => unwatch?.());

  return {
    pid,
    peer,
    ended,
    gone,
    watch() {
      watching ??= setInterval(() => {
        if (gate.paused) return;
        if (open >= limits.missedPings) return kill(`it did not answer for ${(limits.missedPings * limits.pingMs) / 1000} s`);
        open += 1;
        peer.notify("ping", {});
      }, limits.pingMs).unref();
    },
    kill,
    async close() {
      clearInterval(watching);
      why ??= "it was stopped";
      wire.end();
      if (!(await endsIn(limits.leaveMs))) signalGroup(pid, "SIGTERM");
      if (!(await endsIn(limits.termMs))) signalGroup(pid, "SIGKILL");
      await gone;
    },
  };
}

/** Bubblewrap reports the signal that ended its child as a shell does: as a code above 128. */
function signalOf({ walls }: Confinement, code: number | null): string | undefined {
  if (code === null || code <= 128 || !walls.includes("bubblewrap")) return undefined;
  return Object.entries(constants.signals).find(([, number]) => number === code - 128)?.[0];
}

function signalGroup(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(-pid, name);
  } catch {
    // The process has already ended.
  }
}

/** Reads frames as fast as the rules allow; beyond that it reads nothing for a while, and at last gives the process up. */
function readFrames(wire: Duplex, peer: RpcPeer, limits: IsolationLimits, kill: (why: string) => void): { readonly paused: boolean; close(): void } {
  let tokens = limits.frameBurst;
  let filled = performance.now();
  let pauses = 0;
  let resumed = 0;
  let pause: NodeJS.Timeout | undefined;
  const lines = createLines({
    maxBytes: limits.frameBytes,
    line(text) {
      try {
        if (!peer.take(text)) tokens -= 1;
      } catch (error) {
        kill(`it broke the rules of the wire with ${(error as Error).message}`);
      }
    },
    tooLong: () => kill(`it sent a frame of more than ${limits.frameBytes} bytes`),
  });

  function refill(): void {
    const now = performance.now();
    tokens = Math.min(limits.frameBurst, tokens + ((now - filled) * limits.framesPerSecond) / 1000);
    filled = now;
  }

  function hold(): void {
    if (pause !== undefined) return;
    wire.pause();
    pause = setTimeout(() => {
      pause = undefined;
      refill();
      if (tokens < 0) return hold();
      resumed = performance.now();
      wire.resume();
    }, limits.pauseMs);
    pause.unref();
  }

  wire.on("data", (chunk: Buffer) => {
    lines.push(chunk);
    refill();
    if (tokens >= 0) return;
    pauses = performance.now() - resumed < 4 * limits.pauseMs ? pauses + 1 : 1;
    if (pauses > limits.pauses) kill(`it sent more than ${limits.framesPerSecond} frames a second without end`);
    else hold();
  });
  wire.on("error", () => undefined);
  return {
    get paused() {
      return pause !== undefined;
    },
    close: () => clearTimeout(pause),
  };
}
