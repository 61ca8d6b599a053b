import { AsyncResource } from "node:async_hooks";
import { type Capability, type Confined, codeOf, type Message, onAbort, type PluginContext, type Publication, reasonOf, sleep } from "@svc/sdk";
import { type Args, type Origin, writeError } from "./frames.ts";
import { HOST_API, writeLog } from "./host-api.ts";
import type { IsolationLimits } from "./isolation-limits.ts";
import { createOwnFiles } from "./own-files.ts";
import type { RpcPeer } from "./peer.ts";
import { refused } from "./refused.ts";
import { createSocketApi } from "./socket-api.ts";

/** The daemon's API for one process of an isolated plugin: members of its context, each as guarded as for any plugin. */
export interface ProcessApi {
  serve(on: string, args: Args, signal: AbortSignal, of: Origin | undefined): Promise<unknown>;
  onNotify(on: string, args: Args, of: Origin | undefined): void;
  /** The process is up: ends cron jobs of an earlier process that it has not registered again. */
  settle(): void;
  /** The process has ended: removes its listeners and timers. Cron jobs stay: a minute between two processes is recorded as failed. */
  close(): void;
}

/** Cron jobs of a plugin over all its processes, by id. */
export type CronJobs = Map<string, { readonly key: string; readonly stop: () => void; n: number; instance: object }>;

/** Dependencies of the calls of one process. */
export interface ProcessApiDeps {
  readonly ctx: PluginContext<never>;
  readonly capabilities: readonly Capability[];
  readonly limits: IsolationLimits;
  readonly peer: () => RpcPeer;
  readonly cronJobs: CronJobs;
  /** Calls the current process; fails at once while there is none. */
  call(on: string, args: Args): Promise<unknown>;
  channel(n: number, state: "ready" | "down", reason: string): void;
  withdraw(n: number): void;
  stray(error: unknown): void;
  dropped(what: "lines" | "frames", count: number): void;
}

/** Timers and listeners that it may have; roots that it began, of which older ones are forgotten. */
const MOST_KEPT = 1_024;
/** A timer that found its process busy is tried again after so long. */
const BUSY_MS = 250;

type FileArgs = { readonly roots?: readonly string[]; readonly path: string; readonly maxBytes: number; readonly data: string | Uint8Array };

const FILES: Readonly<Record<string, (files: Confined, args: FileArgs) => unknown>> = {
  "files.read": (files, { path, maxBytes }) => files.read(path, maxBytes),
  "files.write": (files, { path, data }) => files.write(path, data),
  "files.append": (files, { path, data }) => files.append(path, String(data)),
  "files.list": (files, { path }) => files.list(path),
  "files.resolve": (files, { path }) => files.resolve(path),
  "files.remove": (files, { path }) => files.remove(path),
};

/** Serves the calls and notifications of one process. */
export function createProcessApi(deps: ProcessApiDeps): ProcessApi {
  const { ctx } = deps;
  const files = createOwnFiles(ctx, deps.capabilities);
  const cronJobs = createCronJobs(deps);
  const log = createLogQuota(deps);
  const surroundings = createSurroundings(deps);
  const ends = new Map<number, () => unknown>();
  const sockets = createSocketApi(ctx);
  let closed = false;

  /** Its deduplication keys are prefixed with its id: otherwise another plugin's message with the same key would count as a duplicate. */
  async function incoming(message: Message): Promise<Message> {
    const { dedupKey } = await files.media(message);
    return dedupKey === undefined ? message : { ...message, dedupKey: `${ctx.id}:${dedupKey}` };
  }

  async function serve(on: string, args: Args, signal: AbortSignal): Promise<unknown> {
    const call = Object.hasOwn(HOST_API, on) ? HOST_API[on] : undefined;
    if (call !== undefined) return call(ctx, args as never, signal);
    const socket = Object.hasOwn(sockets, on) ? sockets[on] : undefined;
    if (socket !== undefined) return socket(args as never, signal);
    const file = Object.hasOwn(FILES, on) ? FILES[on] : undefined;
    if (file !== undefined) return file(files.under((args as FileArgs).roots), args as FileArgs);
    switch (on) {
      case "files.change": {
        const { path, maxBytes, n } = args as FileArgs & { readonly n: number };
        return files
          .under((args as FileArgs).roots)
          .change(path, maxBytes, async (before) => (await deps.peer().call("function", { n, value: before }, signal)) as string | undefined);
      }
      case "tasks.run": {
        const { message, n } = args as { readonly message: Message; readonly n?: number };
        return ctx.tasks.run(await incoming(message), n === undefined ? undefined : (event) => hand(n, event), signal);
      }
      case "tasks.accept":
        return ctx.tasks.accept(await incoming(args.message as Message));
      case "tasks.deliver": {
        const n = args.n as number;
        const { id, sent } = await ctx.tasks.deliver(await files.media(args.delivery as never));
        // Told when it comes, which may be in hours: a call that waits would take one of the few that are served at once.
        sent.then(
          (receipt) => hand(n, { receipt }),
          (error) => hand(n, { error: writeError(error) }),
        );
        return { id };
      }
      case "store.lease":
        return leased(ctx, args as never, keep, hand);
      case "store.release":
        return end(args.n as number);
      default:
        throw refused(ctx.id, `'${on.slice(0, 40)}'`);
    }
  }

  const notifications: Readonly<Record<string, (n: number, args: Args) => void>> = {
    log: (_n, args) => log(args),
    channel: (n, { state, reason }) => deps.channel(n, state === "ready" ? "ready" : "down", String(reason ?? "").slice(0, 500)),
    withdraw: (n) => deps.withdraw(n),
    stray: (_n, { error }) => deps.stray(error),
    "events.publish": (_n, { event }) => void ctx.events.publish(event as Publication),
    "events.subscribe": (n, { type, siblings }) =>
      keep(
        n,
        ctx.events.subscribe((value) => hand(n, value), type as string | undefined, { siblings: siblings === true }),
      ),
    "events.unsubscribe": (n) => end(n),
    "jobs.cron": (_n, args) => cronJobs.keep(args as never),
    "jobs.after": (n, { ms }) =>
      keep(
        n,
        ctx.jobs.after(Number(ms), () => once(n) as never),
      ),
    "jobs.at": (n, { time }) =>
      keep(
        n,
        ctx.jobs.at(Number(time), () => once(n)),
      ),
    "jobs.every": (n, { ms }) =>
      keep(
        n,
        ctx.jobs.every(Number(ms), () => run(n)),
      ),
    "jobs.end"(n, { id }) {
      end(n);
      cronJobs.end(id as string, n);
    },
  };

  const run = async (n: number): Promise<void> => void (await deps.peer().call("function", { n }));

  const once = (n: number): Promise<void> =>
    whenFree(
      () => run(n),
      () => !closed && ends.has(n),
    );

  function hand(n: number, value: unknown): void {
    if (!closed && !deps.peer().notify("heard", { n, value })) deps.dropped("frames", 1);
  }

  function onNotify(on: string, args: Args): void {
    const notification = Object.hasOwn(notifications, on) ? notifications[on] : undefined;
    if (notification === undefined) throw refused(ctx.id, `'${on.slice(0, 40)}'`);
    notification(args.n as number, args);
  }

  function keep(n: number, stop: () => unknown): void {
    ends.get(n)?.();
    ends.set(n, stop);
    if (ends.size <= MOST_KEPT) return;
    end(n);
    throw refused(ctx.id, `more than ${MOST_KEPT} timers and listeners`);
  }

  function end(n: number): unknown {
    const stop = ends.get(n);
    ends.delete(n);
    return stop?.();
  }

  return {
    serve: (on, args, signal, of) => surroundings.run(of, () => serve(on, args, signal)),
    onNotify(on, args, of) {
      try {
        surroundings.run(of, () => onNotify(on, args));
      } catch (error) {
        deps.stray(error);
      }
    },
    settle: () => cronJobs.settle(),
    close() {
      closed = true;
      for (const stop of ends.values()) stop();
      ends.clear();
      surroundings.clear();
    },
  };
}

/** A timer falls due once: where its process has as many calls as it may have, it runs when there is room, if it is still `wanted`. */
async function whenFree(run: () => Promise<void>, wanted: () => boolean): Promise<void> {
  while (wanted()) {
    try {
      return await run();
    } catch (error) {
      if (codeOf(error) !== "SVC_ISOLATION_BUSY") throw error;
    }
    await sleep(BUSY_MS);
  }
}

/** Takes a lease that ends with the process, which is notified when it is lost. */
async function leased(
  ctx: PluginContext<never>,
  { n, name, ms }: { readonly n: number; readonly name: string; readonly ms: number },
  keep: (n: number, stop: () => unknown) => void,
  tell: (n: number, reason: string) => void,
): Promise<{ readonly held: boolean; readonly holder?: string; readonly reason?: string }> {
  const { held, holder, signal, release } = await ctx.store.lease(name, ms);
  if (!held) return { held, ...(holder === undefined ? {} : { holder }), reason: reasonOf(signal.reason) };
  keep(n, release);
  onAbort(signal, (reason) => tell(n, reasonOf(reason)));
  return { held };
}

/** Writes the log lines of one process, and drops those over its quota. */
function createLogQuota({ ctx, limits, dropped }: ProcessApiDeps): (args: Args) => void {
  let [windowBegan, lines] = [0, 0];
  return (args) => {
    const now = performance.now();
    if (now - windowBegan > limits.outputWindowMs) [windowBegan, lines] = [now, 0];
    lines += 1;
    if (lines > limits.outputLines) dropped("lines", 1);
    else writeLog(ctx, args);
  };
}

/** The cron jobs that one process registers. A job that an earlier process registered identically continues. */
function createCronJobs({ ctx, cronJobs, call }: ProcessApiDeps) {
  const instance = {};

  function endCron(id: string): void {
    cronJobs.get(id)?.stop();
    cronJobs.delete(id);
  }

  return {
    keep({ n, id, expression, timezone }: { n: number; id: string; expression: string; timezone?: string }): void {
      const key = JSON.stringify([expression, timezone]);
      const known = cronJobs.get(id);
      if (known?.key === key) {
        known.n = n;
        known.instance = instance;
        return;
      }
      if (known !== undefined) endCron(id);
      const stop = ctx.jobs.cron(id, expression, timezone, async (minute) => {
        await call("function", { n: cronJobs.get(id)?.n, value: minute.getTime() });
      });
      cronJobs.set(id, { key, n, stop, instance });
    },
    /** Ends a job, unless it has been replaced since the function `n` was registered for it. */
    end(id: string, n: number): void {
      if (cronJobs.get(id)?.n === n) endCron(id);
    },
    /** Ends the jobs that this process has not registered. */
    settle(): void {
      for (const [id, job] of cronJobs) if (job.instance !== instance) endCron(id);
    },
  };
}

/** Where the work of one process belongs: to a call that it serves, to a root that it named, or to one that it began. */
function createSurroundings({ ctx, capabilities, peer }: ProcessApiDeps) {
  const begun = new Map<string, AsyncResource>();

  function inCall<T>(id: number, work: () => T): T {
    let answer: { value: T } | undefined;
    peer().inCall(id, () => {
      answer = { value: work() };
    });
    return answer === undefined ? work() : answer.value;
  }

  return {
    run<T>(of: Origin | undefined, work: () => T): T {
      if (typeof of === "number") return inCall(of, work);
      if (of === undefined || !capabilities.includes("events")) return work();
      if (!("begun" in of)) return ctx.events.within(of, work);
      let origin = begun.get(of.begun);
      if (origin === undefined) {
        origin = ctx.events.root(() => new AsyncResource("svc.isolation"));
        remember(begun, of.begun, origin);
      }
      return origin.runInAsyncScope(work);
    },
    clear: () => begun.clear(),
  };
}

function remember<K, V>(map: Map<K, V>, key: K, value: V): void {
  map.set(key, value);
  if (map.size > MOST_KEPT) map.delete(map.keys().next().value as K);
}
