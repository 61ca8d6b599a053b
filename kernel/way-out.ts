import type { Log } from "@svc/sdk";
import type { Pipeline } from "./flow/doors.ts";
import { drain } from "./flow/drain.ts";
import { createRestarts, type RestartRequest, type RestartRules } from "./restart.ts";
import type { Schedule } from "./schedule/index.ts";

/** What leaving stands on. */
export interface WayOutGround {
  readonly log: Log;
  rules(): RestartRules;
  now(): number;
  /** Throws when nothing runs. */
  pipeline(): Pipeline;
  schedule(): Pick<Schedule, "hold" | "resume">;
  /** How long a stop waits for an agent's running work. */
  drainSeconds(agent: string): number;
  enter(state: "draining" | "running"): void;
  /** Closes everything, in good order. */
  close(): Promise<void>;
  tell(summary: string, data: Readonly<Record<string, unknown>>): void;
  /** Starts the program anew after a restart. Unset where nobody would. */
  readonly onRestart?: (() => void) | undefined;
}

/** The ways out of running: for good, or to be started anew. */
export interface WayOut {
  /** `given` seconds of drain in place of the configured ones. On the way out already: see `Kernel.stop`. */
  stop(given?: number): Promise<void>;
  /** As `Restarts.ask`. */
  restart(request: RestartRequest): number;
}

/** One departure. A stop on the way changes both flags: nothing gives up then, and nothing starts anew. */
interface Departure {
  /** Give up when work still runs after the drain. */
  idleOnly: boolean;
  startAnew: boolean;
  /** Ends the wait for running work. */
  readonly hurry: AbortController;
}

export function createWayOut(ground: WayOutGround): WayOut {
  let leaving: { readonly departure: Departure; readonly left: Promise<boolean> } | undefined;
  const begin = (request: RestartRequest) => void restart(request).catch((error) => ground.log.error({ err: error }, "the restart failed"));
  const restarts = createRestarts({ rules: ground.rules, now: ground.now, begin: ground.onRestart && begin });

  async function stop(given?: number): Promise<void> {
    restarts.cancel();
    if (leaving === undefined) {
      await leave({ idleOnly: false, startAnew: false, hurry: new AbortController() }, given);
      return;
    }
    const { departure, left } = leaving;
    Object.assign(departure, { idleOnly: false, startAnew: false });
    if (given === 0) departure.hurry.abort();
    // It may just have given up.
    if (!(await left)) await stop(given);
  }

  async function restart({ by = "someone", reason = "no reason given" }: RestartRequest): Promise<void> {
    if (leaving !== undefined) return;
    ground.log.info({ by, reason }, "a restart is asked for");
    ground.tell(`restart asked for by ${by}: ${reason}`, { restart: "begun", by, reason });
    const departure = { idleOnly: ground.rules().forbidOnTimeoutRestart, startAnew: true, hurry: new AbortController() };
    const left = await leave(departure);
    if (!left) ground.tell(`restart given up: ${ground.pipeline().running().length} tasks still run`, { restart: "given-up", by, reason });
    else if (departure.startAnew) ground.onRestart?.();
  }

  function leave(departure: Departure, given?: number): Promise<boolean> {
    const left = depart(departure, given).finally(() => {
      leaving = undefined;
    });
    leaving = { departure, left };
    return left;
  }

  /** Refuse, drain, interrupt, close; or, where that is wanted, false and back to work when something still runs after the drain. */
  async function depart(departure: Departure, given: number | undefined): Promise<boolean> {
    const pipeline = ground.pipeline();
    const schedule = ground.schedule();
    ground.enter("draining");
    // First: a job that fires now would claim its minute and be refused.
    const held = schedule.hold();
    pipeline.refuse();
    const waited = pipeline.running().length;
    ground.log.info({ running: waited, queued: pipeline.queued().length }, waited === 0 ? "stopping" : "stopping: running tasks may finish first");
    await drain(pipeline, (agent) => given ?? ground.drainSeconds(agent), departure.hurry.signal);
    if (departure.idleOnly && pipeline.running().length > 0) {
      pipeline.admit();
      schedule.resume();
      ground.enter("running");
      ground.log.warn({ running: pipeline.running().length }, "the restart is given up: tasks still run (shutdown.restart.forbidOnTimeoutRestart)");
      return false;
    }
    await held;
    const cut = pipeline.running();
    if (cut.length > 0) ground.tell(`${cut.length} running tasks are interrupted`, { state: "tasks-interrupted", tasks: cut.length });
    if (cut.length > 0)
      ground.log.warn({ tasks: cut.map(({ id }) => id) }, "running tasks are interrupted; the next start takes them up again, if they may be");
    else if (waited > 0) ground.log.info("running tasks have finished");
    await pipeline.interrupt();
    await ground.close();
    return true;
  }

  return { stop, restart: restarts.ask };
}
