import type { Trace, TraceStep } from "@svc/sdk";
import { TASKS } from "../../words/tasks.ts";
import type { StoredContext } from "./task-types.ts";

/** Fill of a bar: by what does the work. */
export type BarKind = "engine" | "tool" | "svc" | "waiting";

/** One row of the waterfall. */
export interface StepRow {
  readonly id: string;
  readonly name: string;
  /** Summary of its input. */
  readonly about?: string;
  readonly level: 0 | 1;
  readonly kind: BarKind;
  readonly from: number;
  /** Undefined while it goes on. */
  readonly to?: number;
  readonly tokens?: number;
  readonly failed: boolean;
  /** The stored step; absent for rows derived from the times of the task alone. */
  readonly step?: TraceStep;
  /** The row of the engine's run folds the others away. */
  readonly folds?: true;
}

const NOTEWORTHY_MS = 20;
const KINDS: Readonly<Record<string, BarKind>> = { tool: "tool", action: "tool", tier: "engine", prepare: "svc", deliver: "svc" };

/** Returns the trace as rows: the wait, the preparation, the engine's run with its steps below it, the delivery. */
export function rowsOf(trace: Trace, tier: string, context?: StoredContext): readonly StepRow[] {
  const { startedAt, endedAt, steps, usage, model, status } = trace;
  const begun = context?.at ?? steps[0]?.at ?? startedAt;
  const rows: StepRow[] = [];
  if (begun - startedAt >= NOTEWORTHY_MS) rows.push({ id: "wait", name: TASKS.waited, level: 0, kind: "waiting", from: startedAt, to: begun, failed: false });
  const before = steps.filter(({ kind }) => kind === "prepare");
  const after = steps.filter(({ kind }) => kind === "deliver");
  const inside = steps.filter(({ kind }) => kind !== "prepare" && kind !== "deliver");
  for (const step of before) rows.push(rowOf(step, steps.indexOf(step), 0, trace));
  const tokens = usage === undefined ? undefined : usage.input + usage.output + (usage.cacheRead ?? 0) + (usage.cacheCreate ?? 0);
  rows.push({
    id: "engine",
    name: TASKS.engine([tier, model].filter(Boolean).join(" · ")),
    level: 0,
    kind: "engine",
    from: begun,
    ...(endedAt === undefined ? {} : { to: endedAt }),
    ...(tokens === undefined ? {} : { tokens }),
    failed: status === "error" || status === "timeout",
    ...(inside.length > 0 ? { folds: true as const } : {}),
  });
  for (const step of inside) rows.push(rowOf(step, steps.indexOf(step), 1, trace));
  for (const step of after) rows.push(rowOf(step, steps.indexOf(step), 0, trace));
  return rows;
}

function rowOf(step: TraceStep, index: number, level: 0 | 1, { endedAt }: Trace): StepRow {
  const { name, at, durationMs, input, error, kind } = step;
  const to = durationMs === undefined ? (error === undefined && kind !== "prepare" ? endedAt : at) : at + durationMs;
  return {
    id: `step-${index}`,
    name,
    ...(input === undefined ? {} : { about: input.replace(/\s+/g, " ").slice(0, 200) }),
    level,
    kind: name === "waiting" ? "waiting" : (KINDS[kind] ?? "svc"),
    from: at,
    ...(to === undefined ? {} : { to }),
    failed: error !== undefined,
    step,
  };
}

/** The end of the axis: of a task that goes on it grows in steps, so that nothing creeps. */
export function axisOf({ startedAt, endedAt }: Trace, now: number): { readonly from: number; readonly to: number } {
  if (endedAt !== undefined) return { from: startedAt, to: Math.max(endedAt, startedAt + 1) };
  const took = now - startedAt;
  const step = took < 60_000 ? 10_000 : took < 300_000 ? 30_000 : 60_000;
  return { from: startedAt, to: startedAt + (Math.floor(took / step) + 1) * step };
}

const NICE = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 30_000, 60_000, 120_000, 300_000, 600_000, 1_200_000, 1_800_000, 3_600_000,
  7_200_000, 21_600_000,
];

/** Moments with a label, about five of them, in ms from the beginning of the task. */
export function ticksOf(from: number, to: number, begin: number): readonly number[] {
  const step = NICE.find((size) => (to - from) / size <= 5) ?? 86_400_000;
  const ticks: number[] = [];
  for (let at = Math.ceil((from - begin) / step) * step; begin + at < to - step / 4; at += step) ticks.push(at);
  return ticks;
}

/** `0 s`, `20 s`, `200 ms`, `5 min`. */
export function tickWords(ms: number): string {
  if (ms === 0) return "0 s";
  if (ms % 3_600_000 === 0) return `${ms / 3_600_000} h`;
  if (ms % 60_000 === 0) return `${ms / 60_000} min`;
  return ms % 1_000 === 0 ? `${ms / 1_000} s` : ms < 1_000 ? `${ms} ms` : `${ms / 1_000} s`;
}

/** Where a bar stands on the axis that is in sight, in percent; undefined where it is out of it. */
export function barOf(
  { from, to }: StepRow,
  axis: { readonly from: number; readonly to: number },
  now: number,
): { readonly x: number; readonly width: number } | undefined {
  const length = axis.to - axis.from;
  const [begin, end] = [Math.max(axis.from, from), Math.min(axis.to, to ?? now)];
  if (end < begin) return undefined;
  return { x: ((begin - axis.from) / length) * 100, width: ((end - begin) / length) * 100 };
}
