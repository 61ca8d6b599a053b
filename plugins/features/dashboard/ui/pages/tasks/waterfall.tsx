import { classes } from "../../kit/class-names.ts";
import { useNow } from "../../kit/clock.ts";
import { count, duration } from "../../kit/figures.ts";
import { Glyph } from "../../kit/glyph.tsx";
import { Icon } from "../../kit/icon.tsx";
import { TASKS } from "../../words/tasks.ts";
import type { TaskView } from "./task-types.ts";
import { axisOf, barOf, type StepRow, ticksOf, tickWords } from "./waterfall-rows.ts";
import "./waterfall.css";

/** The part of the time that is in sight: how many times larger, around which moment (0 to 1). */
export interface Zoom {
  readonly by: number;
  readonly at: number;
}

/** The steps of a task on one axis of time: a bar each, coloured by how it ended and filled by who did the work. */
export function Waterfall({
  view,
  rows,
  chosen,
  onChoose,
  folded,
  onFold,
  zoom,
  bars,
}: {
  readonly view: TaskView;
  readonly rows: readonly StepRow[];
  readonly chosen: string | undefined;
  onChoose(id: string): void;
  readonly folded: boolean;
  onFold(): void;
  readonly zoom: Zoom;
  /** False: a list without bars. */
  readonly bars: boolean;
}) {
  const { trace } = view;
  const now = useNow(trace.endedAt === undefined);
  const whole = axisOf(trace, now);
  const length = (whole.to - whole.from) / zoom.by;
  const from = Math.max(whole.from, Math.min(whole.to - length, whole.from + (whole.to - whole.from) * zoom.at - length / 2));
  const axis = { from, to: from + length };
  const ticks = ticksOf(axis.from, axis.to, trace.startedAt);
  const placeOf = (at: number) => `${((trace.startedAt + at - axis.from) / (axis.to - axis.from)) * 100}%`;
  return (
    <div className={`task-steps${bars ? "" : " task-steps-list"}`}>
      <div className="task-steps-head" aria-hidden="true">
        <span className="task-step-name">{TASKS.step}</span>
        {bars && (
          <span className="task-step-bar">
            {ticks.map((at) => (
              <span key={at} className="task-tick" style={{ left: placeOf(at) }}>
                {tickWords(at)}
              </span>
            ))}
          </span>
        )}
        <span className="task-step-took figure">{TASKS.took}</span>
        <span className="task-step-tokens figure">{TASKS.tokens}</span>
      </div>
      <ul className="task-steps-rows" aria-label={TASKS.steps}>
        {rows.map((row) => (
          <li key={row.id} className="task-step-line" data-chosen={row.id === chosen || undefined}>
            <button type="button" className="task-step" data-step={row.id} aria-current={row.id === chosen || undefined} onClick={() => onChoose(row.id)}>
              <span
                className={classes("task-step-name", `task-step-level-${row.level}`, row.folds && "task-step-folds")}
                title={[row.name, row.about].filter(Boolean).join("\n")}
              >
                {row.failed && row.step !== undefined && <Glyph state="failed" />}
                <bdi className="cut">
                  <span className="task-step-title">{row.name}</span>
                  {row.about !== undefined && <span className="task-step-about"> {row.about}</span>}
                </bdi>
              </span>
              {bars && (
                <span className="task-step-bar" aria-hidden="true">
                  <svg width="100%" height="28" aria-hidden="true">
                    {ticks.map((at) => (
                      <line key={at} x1={placeOf(at)} x2={placeOf(at)} y1="0" y2="28" />
                    ))}
                    <Bar row={row} axis={axis} now={now} />
                  </svg>
                </span>
              )}
              <span className={`task-step-took figure${row.failed && row.step !== undefined ? " task-failed" : ""}`}>{tookOf(row, now)}</span>
              <span className="task-step-tokens figure">{row.tokens !== undefined && count(row.tokens)}</span>
            </button>
            {row.folds === true && (
              <button type="button" className="task-fold" aria-expanded={!folded} aria-label={TASKS.fold} title={TASKS.fold} onClick={onFold}>
                <Icon name={folded ? "right" : "down"} size={12} />
              </button>
            )}
          </li>
        ))}
      </ul>
      {bars && <Legend />}
    </div>
  );
}

const tookOf = (row: StepRow, now: number): string =>
  row.step !== undefined && row.step.durationMs === undefined && row.to !== undefined ? "" : duration((row.to ?? now) - row.from);

/** Percent of the axis that can be seen. */
const LEAST = 0.6;

function Bar({ row, axis, now }: { readonly row: StepRow; readonly axis: { readonly from: number; readonly to: number }; readonly now: number }) {
  const place = barOf(row, axis, now);
  if (place === undefined) return null;
  const state = row.to === undefined ? "running" : row.failed && row.step !== undefined ? "failed" : "done";
  return (
    <g className={`task-bar task-bar-${row.kind} task-bar-${state}`}>
      <rect x={`${place.x}%`} y="9" width={`${place.width}%`} height="10" rx="1.5" />
      {/* No shorter than can be seen. */}
      {place.width < LEAST && <rect x={`${Math.min(100 - LEAST, place.x)}%`} y="9" width="2" height="10" />}
    </g>
  );
}

function Legend() {
  return (
    <p className="task-legend" aria-hidden="true">
      {(["engine", "tool", "svc", "waiting"] as const).map((kind) => (
        <span key={kind}>
          <svg width="18" height="12" aria-hidden="true">
            <g className={`task-bar task-bar-${kind} task-bar-done`}>
              <rect x="1" y="1" width="16" height="10" rx="1.5" />
            </g>
          </svg>
          {TASKS.legend[kind]}
        </span>
      ))}
    </p>
  );
}
