import { backoffMs, type SvcError } from "@svc/sdk";
import { fail } from "../base/errors.ts";
import type { ProcessStatus } from "../core/host/isolation-port.ts";
import type { IsolationLimits } from "./isolation-limits.ts";
import type { PluginProcess } from "./plugin-process.ts";
import type { Remote } from "./proxies.ts";

/** A process that is up. */
export interface Instance {
  readonly pluginProcess: PluginProcess;
  /** Releases the resources of a process that has ended. */
  close(): void;
}

/** Dependencies of the supervisor of one plugin. */
export interface SupervisorOptions {
  readonly plugin: string;
  readonly limits: IsolationLimits;
  readonly now: () => number;
  /** Starts a process, sets it up and starts it like the previous one; on failure it leaves nothing behind. An error with `final` is not retried. */
  restart(): Promise<Instance>;
  /** The process ended by itself, and is restarted after that pause. */
  down(reason: string, pauseMs: number): void;
  up(): void;
  /** The process is not restarted; `quarantined` if it ended too often. */
  gaveUp(reason: string, consequence: "failed" | "quarantined"): void;
}

/** Keeps the process of an isolated plugin up: started again with growing pauses, given up when it ends too often. */
export interface Supervisor extends Remote {
  /** From now on this process is the plugin. */
  keep(instance: Instance): void;
  /** Starts no further process; answers the one there is. */
  stop(): Instance | undefined;
  readonly status: Omit<ProcessStatus, "dropped">;
}

/** Watches over the processes of one plugin. */
export function createSupervisor(options: SupervisorOptions): Supervisor {
  const { plugin, limits, now } = options;
  let instance: Instance | undefined;
  let waiting: NodeJS.Timeout | undefined;
  let again: number | undefined;
  let off = false;
  let starts = 0;
  let ended = 0;
  let inRow = 0;
  let lastEnd: string | undefined;
  let ends: number[] = [];

  const away = (): SvcError => {
    const next =
      again === undefined ? (off ? "it was stopped" : "it is being started again") : `it is started again in ${Math.ceil(Math.max(0, again - now()) / 1000)} s`;
    return fail("SVC_ISOLATION_DOWN", { plugin, reason: lastEnd ?? "it is not up yet", next, failure: "retry" });
  };
  const peer = () => instance?.pluginProcess.peer;

  function keep(next: Instance): void {
    if (off) {
      next.pluginProcess.kill("it was stopped");
      next.close();
      return;
    }
    instance = next;
    again = undefined;
    starts += 1;
    const began = now();
    next.pluginProcess.watch();
    void next.pluginProcess.ended.then((reason) => {
      next.close();
      if (instance !== next) return;
      instance = undefined;
      if (now() - began >= limits.steadyMs) inRow = 0;
      fell(reason);
    });
  }

  /** The process ended, or did not come up. */
  function fell(reason: string): void {
    if (off) return;
    const at = now();
    lastEnd = reason;
    ended += 1;
    ends = [...ends.filter((time) => at - time < limits.endsWindowMs), at];
    if (ends.length >= limits.ends) {
      off = true;
      options.gaveUp(`${reason}; that was end ${ends.length} within ${Math.round(limits.endsWindowMs / 60_000)} minutes`, "quarantined");
      return;
    }
    const pauseMs = backoffMs(inRow + 1, { firstMs: limits.firstPauseMs, longestMs: limits.longestPauseMs });
    inRow += 1;
    again = at + pauseMs;
    waiting = setTimeout(() => void restart(), pauseMs);
    waiting.unref();
    options.down(reason, pauseMs);
  }

  async function restart(): Promise<void> {
    again = undefined;
    try {
      keep(await options.restart());
      if (!off) options.up();
    } catch (error) {
      if (off) return;
      const { message, final } = error as SvcError & { readonly final?: boolean };
      if (final !== true) return fell(message);
      off = true;
      lastEnd = message;
      options.gaveUp(message, "failed");
    }
  }

  return {
    keep,
    stop() {
      off = true;
      clearTimeout(waiting);
      again = undefined;
      const last = instance;
      instance = undefined;
      return last;
    },
    call: async (on, args, signal) => {
      const to = peer();
      if (to === undefined) throw away();
      return to.call(on, args, signal);
    },
    async *stream(on, args, signal) {
      const to = peer();
      if (to === undefined) throw away();
      yield* to.stream(on, args, signal);
    },
    notify: (on, args) => peer()?.notify(on, args) ?? false,
    get status(): Supervisor["status"] {
      const pid = instance?.pluginProcess.pid;
      return {
        state: instance === undefined ? (off ? "off" : "waiting") : "up",
        ...(pid === undefined ? {} : { pid }),
        starts,
        ends: ended,
        ...(lastEnd === undefined ? {} : { lastEnd }),
        ...(again === undefined ? {} : { again }),
      };
    },
  };
}
