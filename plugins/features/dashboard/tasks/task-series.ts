import type { PluginContext, Trace } from "@svc/sdk";
import { stateOf, type TaskState, tokensOf } from "./task-row.ts";

/** Time range of the plots. */
export type SeriesRange = "1h" | "24h" | "7d";

/** A piece of an agent's lane: one task, or several that would be one mark. Times in Unix milliseconds. */
export interface LaneSpan {
  readonly from: number;
  readonly to: number;
  readonly state: TaskState;
  readonly count: number;
  /** The newest of them. */
  readonly id: string;
}

/** Activity of an agent in the shown time. */
export interface Lane {
  readonly agent: string;
  readonly tasks: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly spans: readonly LaneSpan[];
}

/** The plots of the live page: one value for each step of time, the newest last. */
export interface SeriesView {
  readonly range: SeriesRange;
  readonly from: number;
  readonly to: number;
  readonly stepMs: number;
  readonly tasks: readonly number[];
  readonly tokens: readonly number[];
  /** Median milliseconds to the answer of tasks that began then and have ended; null without any. */
  readonly answer: readonly (number | null)[];
  readonly errors: readonly number[];
  readonly total: { readonly tasks: number; readonly tokens: number; readonly errors: number; readonly median?: number; readonly p95?: number };
  /** The busiest first. */
  readonly lanes: readonly Lane[];
  /** Time back to which traces were read so far, if that is not all: the part before it is still unknown. */
  readonly knownFrom?: number;
}

interface Seen {
  readonly id: string;
  readonly agent: string;
  readonly at: number;
  readonly end: number | undefined;
  readonly state: TaskState;
  readonly tokens: number;
}

const MINUTE = 60_000;
const HOUR = 3_600_000;
/** Length and step of each range: 60, 96 and 168 points. */
const RANGES: Readonly<Record<SeriesRange, readonly [length: number, step: number]>> = {
  "1h": [HOUR, MINUTE],
  "24h": [24 * HOUR, 15 * MINUTE],
  "7d": [168 * HOUR, HOUR],
};
const PAGE = 500;
/** Time that one answer waits for traces that are still unread; the rest is read in the background. */
const PATIENCE_MS = 150;
/** More is not kept: the plots then begin later. */
const MOST = 250_000;
/** Idle time after which the cached series is dropped. */
const IDLE_MS = 10 * MINUTE;
const MOST_LANES = 40;
/** Two tasks closer together than this part of the range are one mark. */
const GAP = 1 / 500;

/**
 * Activity of tasks over time, counted from their traces: each trace is read once, the newest first, and from then on only new ones. Reads and caches
 * nothing without a viewer.
 */
export class TaskSeries {
  readonly #traces: PluginContext["traces"];
  readonly #signal: AbortSignal;
  /** The newest first. */
  #seen: Seen[] = [];
  /** Tasks in flight when they were read, to be read again. */
  readonly #open = new Set<string>();
  /** Everything that is stored is known. */
  #whole = false;
  #reading: Promise<void> = Promise.resolve();
  #wanted = Number.POSITIVE_INFINITY;
  #idle: NodeJS.Timeout | undefined;

  constructor({ traces, signal }: Pick<PluginContext, "traces" | "signal">) {
    this.#traces = traces;
    this.#signal = signal;
    signal.addEventListener("abort", () => clearTimeout(this.#idle), { once: true });
  }

  /** The plots as they are now. */
  async look(range: SeriesRange, now = Date.now()): Promise<SeriesView> {
    this.#rest();
    const [length, step] = RANGES[range];
    const to = Math.floor(now / step) * step + step;
    const from = to - length;
    this.#wanted = Math.min(this.#wanted, from);
    // One after the other: two readers would read the same.
    this.#reading = this.#reading.then(() => this.#read());
    const reading = this.#reading;
    let timer: NodeJS.Timeout | undefined;
    await Promise.race([reading, new Promise((resolve) => (timer = setTimeout(resolve, PATIENCE_MS)))]).finally(() => clearTimeout(timer));
    return this.#view(range, from, to, step, now);
  }

  #rest(): void {
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => {
      this.#seen = [];
      this.#open.clear();
      this.#whole = false;
      this.#wanted = Number.POSITIVE_INFINITY;
    }, IDLE_MS).unref();
  }

  async #read(): Promise<void> {
    try {
      await this.#readNewer();
      await this.#readOpen();
      await this.#readOlder();
    } catch {
      // The next poll retries; the known part is shown meanwhile.
    }
  }

  async #readNewer(): Promise<void> {
    const newest = this.#seen[0];
    if (newest === undefined) return;
    const found: Seen[] = [];
    for (let below: string | undefined; ; ) {
      const page = await this.#traces.list({ since: newest.at, limit: PAGE, ...(below === undefined ? {} : { below }) });
      const fresh = page.filter(({ id }) => id > newest.id);
      found.push(...fresh.map((trace) => this.#seenOf(trace)));
      if (fresh.length < PAGE) break;
      below = page.at(-1)?.id;
    }
    if (found.length > 0) this.#seen = [...found, ...this.#seen].slice(0, MOST);
  }

  async #readOpen(): Promise<void> {
    for (const id of [...this.#open]) {
      const trace = await this.#traces.get(id);
      if (trace?.status === "in-flight") continue;
      this.#open.delete(id);
      const at = this.#seen.findIndex((seen) => seen.id === id);
      if (at === -1) continue;
      if (trace === undefined) this.#seen.splice(at, 1);
      else this.#seen[at] = this.#seenOf(trace);
    }
  }

  async #readOlder(): Promise<void> {
    while (
      !this.#whole &&
      !this.#signal.aborted &&
      this.#wanted !== Number.POSITIVE_INFINITY &&
      (this.#seen.at(-1)?.at ?? Number.POSITIVE_INFINITY) >= this.#wanted
    ) {
      const below = this.#seen.at(-1)?.id;
      const page = await this.#traces.list({ limit: PAGE, ...(below === undefined ? {} : { below }) });
      for (const trace of page) this.#seen.push(this.#seenOf(trace));
      this.#whole = page.length < PAGE || this.#seen.length >= MOST;
    }
  }

  #seenOf(trace: Trace): Seen {
    const { id, agent, startedAt, endedAt, usage } = trace;
    if (trace.status === "in-flight") this.#open.add(id);
    return { id, agent, at: startedAt, end: endedAt, state: stateOf(trace, "running"), tokens: usage === undefined ? 0 : tokensOf(usage) };
  }

  #view(range: SeriesRange, from: number, to: number, stepMs: number, now: number): SeriesView {
    const count = Math.round((to - from) / stepMs);
    const zeros = () => new Array<number>(count).fill(0);
    const [tasks, tokens, errors] = [zeros(), zeros(), zeros()];
    const took: number[][] = Array.from({ length: count }, () => []);
    const lanes = new Map<
      string,
      { tasks: number; failed: number; cancelled: number; spans: { from: number; to: number; state: TaskState; count: number; id: string }[] }
    >();
    const total = { tasks: 0, tokens: 0, errors: 0 };
    for (const { id, agent, at, end, state, tokens: used } of this.#seen) {
      if (at < from) break;
      const point = Math.min(count - 1, Math.floor((at - from) / stepMs));
      const failed = state === "failed" || state === "timed-out";
      tasks[point] = (tasks[point] as number) + 1;
      tokens[point] = (tokens[point] as number) + used;
      if (failed) errors[point] = (errors[point] as number) + 1;
      if (end !== undefined && state !== "cancelled") (took[point] as number[]).push(end - at);
      total.tasks += 1;
      total.tokens += used;
      total.errors += failed ? 1 : 0;
      let lane = lanes.get(agent);
      if (lane === undefined) lanes.set(agent, (lane = { tasks: 0, failed: 0, cancelled: 0, spans: [] }));
      lane.tasks += 1;
      if (failed) lane.failed += 1;
      if (state === "cancelled") lane.cancelled += 1;
      // The newest come first: a task joins the mark after it.
      const next = lane.spans.at(-1);
      const stop = end ?? now;
      if (next !== undefined && next.state === state && next.from - stop < (to - from) * GAP) {
        next.from = Math.min(next.from, at);
        next.to = Math.max(next.to, stop);
        next.count += 1;
      } else lane.spans.push({ from: at, to: stop, state, count: 1, id });
    }
    const all = took.flat().sort((one, other) => one - other);
    const oldest = this.#seen.at(-1)?.at;
    return {
      range,
      from,
      to,
      stepMs,
      tasks,
      tokens,
      errors,
      answer: took.map(
        (point) =>
          quantile(
            point.sort((one, other) => one - other),
            0.5,
          ) ?? null,
      ),
      total: { ...total, ...(all.length === 0 ? {} : { median: quantile(all, 0.5) as number, p95: quantile(all, 0.95) as number }) },
      lanes: [...lanes]
        .map(([agent, lane]) => ({ agent, ...lane, spans: lane.spans.reverse() }))
        .sort((one, other) => other.tasks - one.tasks || (one.agent < other.agent ? -1 : 1))
        .slice(0, MOST_LANES),
      ...(this.#whole || (oldest !== undefined && oldest < from) ? {} : { knownFrom: oldest ?? to }),
    };
  }
}

function quantile(sorted: readonly number[], part: number): number | undefined {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
}
