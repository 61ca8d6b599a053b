import { setTimeout as pause } from "node:timers/promises";
import type { Log } from "@svc/sdk";
import type { ScopedStore, StateStore } from "../base/state-store.ts";
import { firstTaskIdAt, TRACES } from "../core/flow/record.ts";
import { STARTS } from "../core/flow/starts.ts";
import { dropDays, type Kept, keepDays } from "./day-files.ts";
import { dropMedia, keepMedia, type TaskState } from "./media-folders.ts";

/** `retention` of svc.json. */
export interface RetentionRules {
  readonly traceDays: number;
  readonly historyDays: number;
  readonly maxMegabytes: number;
}

/** The section `retention` with its defaults. */
export function readRetention(config: Readonly<Record<string, unknown>>): RetentionRules {
  const { traceDays = 90, historyDays = 365, maxMegabytes = 2_048 } = (config.retention ?? {}) as Partial<RetentionRules>;
  return { traceDays, historyDays, maxMegabytes };
}

/** Dependencies of retention. */
export interface RetentionDeps {
  readonly store: Pick<StateStore, "size" | "shrink">;
  readonly core: Pick<ScopedStore, "prune" | "keyBefore" | "fill" | "journal" | "collection">;
  /** The folders of plugins; undefined where nothing is kept on disk. */
  readonly plugins: string | undefined;
  /** The folder of the files attached to messages; undefined if nothing is stored on disk. */
  readonly media: string | undefined;
  readonly log: Log;
  /** Whether this daemon prunes the rows, and not another one on the same state. Default: it does. */
  leads?(): Promise<boolean>;
  rules(): RetentionRules;
  /** Reports deletions for lack of space. */
  tell(summary: string, data: Readonly<Record<string, unknown>>): void;
}

/** Deletes rows that are old enough, and the oldest ones when there are too many. Always in steps of a few milliseconds. */
export interface Retention {
  /** Deletes rows older than the rules permit, as seen from `at`, in Unix milliseconds. */
  byAge(at: number): Promise<void>;
  /** Deletes the oldest traces and histories while their size exceeds the limits, but not the newest traces; then frees space on disk. */
  bySize(): Promise<void>;
  /** Completes the remaining work of an upgrade. Resolves when all is done. */
  settle(): Promise<void>;
}

const DAY_MS = 86_400_000;
const MEGABYTE = 1_048_576;
const STEP_ROWS = 100;
const FILLED_ROWS = 200;
const PAUSE_MS = 15;
/** The newest traces stay, whatever a clock says of their age. */
const NEWEST = 1_000;
/** Number of rows that stay even if the database is full: foreign data that fills it must not cost all records of the work. */
const NEWEST_FULL = 100;
/** Number of size checks between two scans of the history folders. */
const LOOKS_TRUSTED = 60;
const STARTS_KEPT = 200;
/** Pruned to this part of the bound, so that it is not reached again at once. */
const ROOM = 0.95;
/** Free space that stays in the file for new rows. */
const FREE_BYTES = 4 * MEGABYTE;
/** The first key of the current form: older rows have keys without a time. */
const FIRST = "task_0";
const SPARED = { field: "status", value: "in-flight" } as const;

/** Makes the retention of a store and of the plugins' folders. */
export function createRetention({ store, core, plugins, media, log, leads = async () => true, rules, tell }: RetentionDeps): Retention {
  let histories: Kept = { bytes: 0, files: 0 };
  let mediaBytes = 0;
  /** Looks left until the histories are measured again. */
  let trusted = 0;
  let toldFull = false;

  /** One after the other, and not while the loop has something else to do. */
  async function prune(more: { readonly from?: string; readonly below?: string }, enough: () => boolean): Promise<number> {
    for (let traces = 0; ; ) {
      if (enough()) return traces;
      const gone = await core.prune(TRACES, { ...more, spare: SPARED, rows: STEP_ROWS });
      traces += gone;
      if (gone === 0) return traces;
      await rest();
    }
  }

  const records = core.collection<{ readonly status?: string }>(TRACES);
  async function stateOf(task: string): Promise<TaskState> {
    const found = await records.get(task);
    return found === undefined ? "gone" : found.value.status === "in-flight" ? "in-flight" : "ended";
  }

  async function shrink(): Promise<void> {
    const spare = () => store.size().free - Math.max(FREE_BYTES, store.size().used / 4);
    if (spare() <= 0) return;
    while (store.size().free > FREE_BYTES && store.shrink()) await rest();
  }

  return {
    async byAge(at) {
      const { traceDays, historyDays } = rules();
      const own = await leads();
      const newest = own ? await core.keyBefore(TRACES, NEWEST) : undefined;
      const limit = firstTaskIdAt(at - traceDays * DAY_MS);
      const traces = newest === undefined ? 0 : await prune({ from: FIRST, below: newest < limit ? newest : limit }, () => false);
      if (own) await core.journal(STARTS).trim(STARTS_KEPT);
      const files = plugins === undefined ? 0 : await dropDays(plugins, at - historyDays * DAY_MS);
      const withMedia = media === undefined ? 0 : await dropMedia(media, stateOf);
      if (traces + files + withMedia > 0) log.info({ traces, histories: files, media: withMedia, traceDays, historyDays }, "what was kept long enough is gone");
    },
    async bySize() {
      const { maxMegabytes } = rules();
      if (plugins !== undefined && --trusted < 0) {
        trusted = LOOKS_TRUSTED;
        histories = await keepDays(plugins, (maxMegabytes * MEGABYTE) / 2);
        if (media !== undefined) mediaBytes = await keepMedia(media, (maxMegabytes * MEGABYTE) / 4, stateOf);
      }
      if (!(await leads())) return;
      const limit = maxMegabytes * MEGABYTE - histories.bytes - mediaBytes;
      const { used } = store.size();
      if (used > limit) {
        const newest = await core.keyBefore(TRACES, NEWEST_FULL);
        const traces = newest === undefined ? 0 : await prune({ below: newest }, () => store.size().used <= limit * ROOM);
        const left = store.size().used;
        if (traces > 0) {
          const summary = `${traces} of the oldest traces are gone: what is kept was more than retention.maxMegabytes (${maxMegabytes})`;
          log.warn({ traces, maxMegabytes }, summary);
          tell(summary, { state: "retention", traces, maxMegabytes });
        }
        if (left > limit && !toldFull) {
          toldFull = true;
          const summary = `the database holds ${Math.ceil(left / MEGABYTE)} MB that are not old traces of finished work: more than retention.maxMegabytes (${maxMegabytes}) allows`;
          log.warn({ maxMegabytes }, summary);
          tell(summary, { state: "retention", traces: 0, maxMegabytes });
        }
      } else toldFull = false;
      await shrink();
    },
    async settle() {
      while ((await core.fill(TRACES, FILLED_ROWS)) > 0) await rest();
    },
  };
}

const rest = (): Promise<void> => pause(PAUSE_MS, undefined, { ref: false });
