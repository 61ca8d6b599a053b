import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { codeOf, remove, type Store } from "@svc/sdk";
import { sweepTemporary } from "../base/atomic-file.ts";
import type { MaintenanceDeps } from "../core/boot/maintenance-port.ts";
import { MINUTES } from "../core/boot/schedule-port.ts";
import { MEDIA_FOLDER } from "../core/flow/media-port.ts";
import { createNodeAbout } from "./node-about.ts";
import { createRetention, readRetention } from "./retention.ts";
import { createSiblingEvents } from "./sibling-events.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const FIRST_MS = 5 * MINUTE_MS;
/** Delay of the first check of the size. */
const FIRST_SIZE_MS = 5_000;
/** As long as a sender may repeat itself, or a clock be wrong. */
const KEPT_MS = 7 * DAY_MS;
const CUTOFF = "forget";
/** Interval of the exchange of events with other daemons. */
const EXCHANGE_MS = 250;
/** Interval of comparing the clocks, and the smallest difference that is reported. */
const CLOCK_MS = 5_000;
const SKEW_MS = 2_000;

/** Starts the periodic maintenance jobs: they end with the schedule. */
export async function startMaintenance(deps: MaintenanceDeps): Promise<void> {
  const { workspaces, folder, dataFolder, log, bus, now, settings } = deps;
  const { store, core, schedule } = deps.runtime;
  // Of several daemons on the state one looks after the rows, as long as it lives; each looks after its own folder.
  const leads = async () => store.nodes === undefined || (await core.lease("retention", MINUTE_MS)).held;
  const retention = createRetention({
    store,
    core,
    leads,
    plugins: dataFolder === undefined ? undefined : join(dataFolder, "plugins"),
    media: dataFolder === undefined ? undefined : join(dataFolder, MEDIA_FOLDER),
    log,
    rules: () => readRetention(settings.value),
    tell: (summary, data) => bus.publish({ kind: "status", type: "status", summary, data }),
  });
  /** Never twice at once, and no trouble when the store closes meanwhile. */
  const alone = (what: string, work: () => Promise<void>) => {
    let busy = false;
    return async () => {
      if (busy) return;
      busy = true;
      try {
        await work();
      } catch (error) {
        if (codeOf(error) !== "SVC_STORE_CLOSED") log.warn({ err: error }, `${what}; tried again later`);
      } finally {
        busy = false;
      }
    };
  };
  const size = alone("what is kept was not brought under its bound", retention.bySize);
  schedule.every(MINUTE_MS, size);
  // A daemon that never runs for a minute is under the bound, too.
  schedule.after(FIRST_SIZE_MS, size);
  schedule.every(MINUTE_MS, workspaces.again);
  const old = alone(
    "what is old was not removed",
    createForgetting(
      core,
      now,
      store.steady,
      async (at) => {
        await retention.byAge(at);
        await size();
      },
      store.nodes && bus.node,
    ),
  );
  schedule.every(HOUR_MS, old);
  // A daemon that never runs for an hour looks, too.
  schedule.after(FIRST_MS, old);
  void alone("an index was not filled", retention.settle)();
  const { exchange, hints, time } = store;
  if (exchange !== undefined) {
    const look = createSiblingEvents({ exchange, ...(hints === undefined ? {} : { hints }), bus, log });
    // Events from here on are news for all daemons.
    await look();
    schedule.every(EXCHANGE_MS, look);
  }
  store.tell?.(createNodeAbout(deps));
  if (time !== undefined) schedule.every(CLOCK_MS, createClockWatch(time, log));
  if (folder !== undefined && dataFolder !== undefined)
    sweepLeftovers(folder, dataFolder).catch((error) => log.warn({ err: error }, "what killed writers left was not removed"));
}

/** Warns when the clock of this machine and that of the state begin to differ. The answer looks once. */
export function createClockWatch(time: () => number, log: Pick<MaintenanceDeps["log"], "warn" | "info">): () => void {
  let told = false;
  return () => {
    const skewMs = Math.round(Date.now() - time());
    const differs = Math.abs(skewMs) > (told ? SKEW_MS / 2 : SKEW_MS);
    if (differs !== told) {
      const way = skewMs > 0 ? "ahead of" : "behind";
      if (differs)
        log.warn(
          { skewMs },
          `the clock of this machine is ${(Math.abs(skewMs) / 1_000).toFixed(1)} s ${way} that of the store, by which jobs run; set it right`,
        );
      else log.info({ skewMs }, "the clock of this machine agrees with that of the store again");
    }
    told = differs;
  };
}

/** A moment by both clocks, in milliseconds. */
interface Moment {
  /** Unix time. */
  readonly at: number;
  readonly steady: number;
}

/**
 * Creates the daily job that deletes dedup keys and minute claims older than a week; it then calls `older` with the time. A wall clock that runs
 * ahead would make all of them old, and once it is corrected, work would be repeated: so each day's time is noted by both clocks, and only keys older
 * than a note made a week ago by the steady clock are deleted. Notes from a clock that was ahead are dropped when it is set back. `node`: of several
 * daemons on the state, each with notes of its own. The returned function runs the job once.
 */
export function createForgetting(
  store: Store,
  now: () => number,
  steady: () => number,
  older: (at: number) => Promise<void> = async () => undefined,
  node?: string,
): () => Promise<void> {
  const key = node === undefined ? CUTOFF : `${CUTOFF} ${node}`;
  const marks = store.collection<{ readonly noted?: readonly Moment[] }>("marks");
  return async () => {
    const here: Moment = { at: now(), steady: steady() };
    const stored = ((await marks.get(key)) ?? (await marks.get(CUTOFF)))?.value.noted ?? [];
    const noted = stored.filter(({ at, steady: then }) => at <= here.at && then <= here.steady);
    const past = noted.filter(({ steady: then }) => here.steady - then >= KEPT_MS);
    const before = past.at(-1)?.at;
    if (before !== undefined) {
      await forget(store, before);
      await older(before + KEPT_MS);
    }
    const last = noted.at(-1);
    const left = noted.slice(past.length);
    if (last === undefined || here.steady - last.steady >= DAY_MS) left.push(here);
    if (left.length !== stored.length || left.at(-1) !== last) await marks.put(key, { noted: left });
  };
}

/** A page at a time. */
async function forget(store: Store, before: number): Promise<void> {
  for (const collection of ["dedup", MINUTES]) {
    const keys = store.collection<{ at: number }>(collection, { indexes: ["at"] });
    for (;;) {
      const page = await keys.list({ by: "at", to: before, limit: 500 });
      await store.commit(page.map(({ key }) => remove(collection, key)));
      if (page.length < 500) break;
    }
  }
}

/** Removes temporary files of killed writers beside the configuration, in the data folder and in the folder of each plugin. */
async function sweepLeftovers(folder: string, dataFolder: string): Promise<void> {
  const plugins = join(dataFolder, "plugins");
  const found = await readdir(plugins, { withFileTypes: true }).catch(() => []);
  const own = found.filter((entry) => entry.isDirectory()).map(({ name }) => join(plugins, name));
  await Promise.all([folder, dataFolder, ...own].map(sweepTemporary));
}
