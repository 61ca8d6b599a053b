import type { Log } from "@svc/sdk";
import type { StateStore } from "../../base/state-store.ts";
import { drain } from "../flow/drain.ts";
import type { Pipeline } from "../flow/pipeline.ts";
import type { MaintenancePart, RestartRequest, Restarts } from "./maintenance-port.ts";
import type { Schedule } from "./schedule-port.ts";

/** Dependencies of a shutdown. */
export interface ShutdownDeps {
  readonly log: Log;
  config(): Readonly<Record<string, unknown>>;
  readonly createRestarts: MaintenancePart["createRestarts"];
  now(): number;
  /** Throws `SVC_KERNEL_STOPPED` when nothing runs. */
  runtime(): { readonly pipeline: Pipeline; readonly schedule: Pick<Schedule, "hold" | "resume">; readonly store: Leavable };
  /** Seconds that a stop waits for an agent's running work. */
  drainSeconds(agent: string): number;
  enter(phase: "leaving" | "running"): void;
  /** Closes everything, in good order. */
  close(): Promise<void>;
  tell(summary: string, data: Readonly<Record<string, unknown>>): void;
  /** Starts the program anew after a restart. Unset if nothing would restart it. */
  readonly onRestart?: (() => void) | undefined;
}

/** The ways out of running: for good, or to be started anew. */
export interface Shutdown {
  /** `given` seconds of drain in place of the configured ones. On the way out already: see `Kernel.stop`. */
  stop(given?: number): Promise<void>;
  /** As `Restarts.ask`. */
  restart(request: RestartRequest): number;
}

type Leavable = Pick<StateStore, "leaving">;

/** One departure. A stop on the way changes both flags: nothing gives up then, and nothing starts anew. */
interface Departure {
  /** Give up when work still runs after the drain. */
  idleOnly: boolean;
  startAnew: boolean;
  /** Ends the wait for running work. */
  readonly hurry: AbortController;
}

/** Makes the ways out of a running kernel. */
export function createShutdown(deps: ShutdownDeps): Shutdown {
  let leaving: { readonly departure: Departure; readonly left: Promise<boolean>; readonly store: Leavable } | undefined;
  const begin = (request: RestartRequest) => void restart(request).catch((error) => deps.log.error({ err: error }, "the restart failed"));
  const restarts: Restarts = deps.createRestarts({ config: deps.config, now: deps.now, begin: deps.onRestart && begin });

  async function stop(given?: number): Promise<void> {
    restarts.cancel();
    if (leaving === undefined) {
      await leave({ idleOnly: false, startAnew: false, hurry: new AbortController() }, given);
      return;
    }
    const { departure, left, store } = leaving;
    Object.assign(departure, { idleOnly: false, startAnew: false });
    sayLeaving(store);
    if (given === 0) departure.hurry.abort();
    // The restart may have been abandoned at this moment.
    if (!(await left)) await stop(given);
  }

  async function restart({ by = "someone", reason = "no reason given" }: RestartRequest): Promise<void> {
    if (leaving !== undefined) return;
    deps.log.info({ by, reason }, "a restart is asked for");
    deps.tell(`restart asked for by ${by}: ${reason}`, { restart: "begun", by, reason });
    const departure = { idleOnly: restarts.isIdleOnly(), startAnew: true, hurry: new AbortController() };
    const left = await leave(departure);
    if (!left) deps.tell(`restart given up: ${deps.runtime().pipeline.tasks.running().length} tasks still run`, { restart: "given-up", by, reason });
    else if (departure.startAnew) deps.onRestart?.();
  }

  /** The other daemons on the state take at once what would wait for this one. There is no way back. */
  function sayLeaving(store: Leavable): void {
    store
      .leaving()
      .catch((error) => deps.log.warn({ err: error }, "the other daemons on the state were not told that this one ends: they learn it at its end"));
  }

  function leave(departure: Departure, given?: number): Promise<boolean> {
    const { store } = deps.runtime();
    const left = depart(departure, given).finally(() => {
      leaving = undefined;
    });
    leaving = { departure, left, store };
    return left;
  }

  /** Refuse, drain, interrupt, close; or, where that is wanted, false and back to work when something still runs after the drain. */
  async function depart(departure: Departure, given: number | undefined): Promise<boolean> {
    const { pipeline, schedule, store } = deps.runtime();
    deps.enter("leaving");
    // First: a job that fires now would claim its minute and be refused.
    const held = schedule.hold();
    // Before it begins nothing any more.
    if (!departure.idleOnly) sayLeaving(store);
    pipeline.refuse();
    const waited = pipeline.tasks.working().length;
    deps.log.info({ running: waited, queued: pipeline.tasks.queued().length }, waited === 0 ? "stopping" : "stopping: running tasks may finish first");
    await drain(pipeline.tasks, (agent) => given ?? deps.drainSeconds(agent), departure.hurry.signal);
    if (departure.idleOnly && pipeline.tasks.working().length > 0) {
      pipeline.admit();
      schedule.resume();
      deps.enter("running");
      deps.log.warn({ running: pipeline.tasks.running().length }, "the restart is given up: tasks still run (shutdown.restart.forbidOnTimeoutRestart)");
      return false;
    }
    await held;
    const cut = pipeline.tasks.running();
    if (cut.length > 0) deps.tell(`${cut.length} running tasks are interrupted`, { state: "tasks-interrupted", tasks: cut.length });
    if (cut.length > 0) deps.log.warn({ tasks: cut.map(({ id }) => id) }, "running tasks are interrupted; the next start takes them up again, if they may be");
    else if (waited > 0) deps.log.info("running tasks have finished");
    await pipeline.interrupt();
    await deps.close();
    return true;
  }

  return { stop, restart: restarts.ask };
}
