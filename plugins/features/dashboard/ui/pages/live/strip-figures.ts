import { clock, count, duration, when } from "../../kit/figures.ts";
import { LIVE } from "../../words/live-words.ts";
import type { Lane, LaneSpan, SeriesView } from "./live-types.ts";

/** A plot of the strip: its values from 0 to 1, and a text for each. */
export interface Plot {
  readonly id: "tasks" | "tokens" | "answer" | "errors";
  readonly title: string;
  /** Null where nothing is known. */
  readonly bars: readonly (number | null)[];
  readonly value: string;
  readonly note: string;
  at(point: number): string;
}

const scaled = (values: readonly (number | null)[]): readonly (number | null)[] => {
  const most = Math.max(1e-9, ...values.map((value) => value ?? 0));
  return values.map((value) => (value === null ? null : value / most));
};
const known = (view: SeriesView, values: readonly (number | null)[]): readonly (number | null)[] =>
  values.map((value, at) => (view.knownFrom !== undefined && view.from + (at + 1) * view.stepMs <= view.knownFrom ? null : value));
const orNone = (value: number | null | undefined): string => (value === null || value === undefined ? LIVE.none : duration(value));

/** The four plots below the lanes. */
export function plotsOf(view: SeriesView): readonly Plot[] {
  const { tasks, tokens, answer, errors, total, range } = view;
  const { plots } = LIVE;
  return [
    {
      id: "tasks",
      title: plots.tasks,
      bars: scaled(known(view, tasks)),
      value: count(total.tasks),
      note: LIVE.tasksIn[range],
      at: (point) => count(tasks[point] ?? 0),
    },
    {
      id: "tokens",
      title: plots.tokens,
      bars: scaled(known(view, tokens)),
      value: count(total.tokens, true),
      note: "",
      at: (point) => count(tokens[point] ?? 0, true),
    },
    {
      id: "answer",
      title: plots.answer,
      bars: scaled(known(view, answer)),
      value: orNone(total.median),
      note: total.median === undefined ? "" : `${LIVE.median} · ${LIVE.p95(orNone(total.p95))}`,
      at: (point) => orNone(answer[point]),
    },
    {
      id: "errors",
      title: plots.errors,
      bars: scaled(known(view, errors)),
      value: count(total.errors),
      note: total.tasks === 0 ? "" : LIVE.of("", count(total.tasks)).trim(),
      at: (point) => count(errors[point] ?? 0),
    },
  ];
}

const day = new Intl.DateTimeFormat("en", { day: "numeric", month: "short" });
/** The moment of a point, as the axis writes it. */
export const tickOf = ({ range, from, stepMs }: SeriesView, point: number): string =>
  range === "7d" ? day.format(from + point * stepMs) : clock(from + point * stepMs, false);

/** The moment of a point, whole. */
export const momentOf = ({ from, stepMs }: SeriesView, point: number): string => when(from + point * stepMs);

/** About six points with a label, so that the last label does not hang over the edge. */
export function ticksOf(view: SeriesView): readonly number[] {
  const every = { "1h": 10, "24h": 16, "7d": 24 }[view.range];
  const count = view.tasks.length;
  return Array.from({ length: Math.ceil(count / every) }, (_, at) => at * every).filter((point) => point <= count - every / 2);
}

/** Text at the right of a lane. */
export function laneWords({ tasks, failed, cancelled, spans }: Lane): { readonly text: string; readonly state: "running" | "failed" | "idle" | "" } {
  if (tasks === 0) return { text: LIVE.laneIdle, state: "idle" };
  const running = spans.filter(({ state }) => state === "running" || state === "queued" || state === "waiting").reduce((sum, span) => sum + span.count, 0);
  if (running > 0) return { text: LIVE.laneRunning(running), state: "running" };
  if (failed > 0) return { text: LIVE.laneFailed(failed), state: "failed" };
  return { text: cancelled === tasks ? LIVE.laneCancelled(cancelled) : LIVE.laneTasks(tasks), state: "" };
}

/** Where a span stands in its lane, in percent; never thinner than can be seen. */
export function placeOf({ from, to }: SeriesView, span: LaneSpan, least = 0.45): { readonly x: number; readonly width: number } {
  const length = to - from;
  const x = Math.max(0, ((span.from - from) / length) * 100);
  const width = Math.max(least, ((Math.min(to, span.to) - Math.max(from, span.from)) / length) * 100);
  return { x: Math.min(x, 100 - width), width };
}

/** The span of a lane at a moment, or the nearest one to it. */
export function spanAt({ from, to }: SeriesView, { spans }: Lane, at: number): LaneSpan | undefined {
  const far = (span: LaneSpan) => (at < span.from ? span.from - at : at > span.to ? at - span.to : 0);
  let best: LaneSpan | undefined;
  for (const span of spans) if (best === undefined || far(span) < far(best)) best = span;
  return best !== undefined && far(best) < (to - from) / 50 ? best : undefined;
}

/** The plots as lines of a table, for people and as CSV. */
export function tableOf(view: SeriesView): readonly (readonly string[])[] {
  const { plots } = LIVE;
  const rows = view.tasks.map((tasks, point) => [
    new Date(view.from + point * view.stepMs).toISOString(),
    String(tasks),
    String(view.tokens[point] ?? 0),
    view.answer[point] === null ? "" : ((view.answer[point] ?? 0) / 1000).toFixed(1),
    String(view.errors[point] ?? 0),
  ]);
  return [[LIVE.time, plots.tasks, plots.tokens, `${plots.answer} (s)`, plots.errors], ...rows];
}
