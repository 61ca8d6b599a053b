import { type KeyboardEvent, type PointerEvent, useRef, useState } from "react";
import type { Resource } from "../../data/resource.ts";
import { navigate } from "../../data/router.tsx";
import { AgentMark } from "../../kit/agent-mark.tsx";
import { Button } from "../../kit/button.tsx";
import { Dialog } from "../../kit/dialog.tsx";
import { clock, when } from "../../kit/figures.ts";
import { useTextScale } from "../../kit/root-font.ts";
import { StateView } from "../../kit/state-view.tsx";
import { Segmented } from "../../kit/tabs.tsx";
import { copyText } from "../../kit/values.tsx";
import { KIT } from "../../words/kit.ts";
import { LIVE } from "../../words/live-words.ts";
import type { Lane, SeriesRange, SeriesView } from "./live-types.ts";
import { laneWords, momentOf, type Plot, placeOf, plotsOf, spanAt, tableOf, tickOf, ticksOf } from "./strip-figures.ts";
import { lanePlaces } from "./strip-lanes.ts";
import "./strip.css";

const RANGES = ["1h", "24h", "7d"] as const;

/** Activity over time: a lane for each busy agent and four plots, on one axis with one cursor. */
export function Strip({
  series,
  range,
  onRange,
  nameOf,
  agents,
  folded,
  onFold,
}: {
  readonly series: Resource<SeriesView>;
  readonly range: SeriesRange;
  onRange(range: SeriesRange): void;
  nameOf(agent: string): string;
  /** The ids of all agents; undefined while they are read. */
  readonly agents: readonly string[] | undefined;
  readonly folded: boolean;
  onFold(): void;
}) {
  const [table, setTable] = useState(false);
  const { data: view } = series;
  return (
    <section className="live-strip" aria-label={LIVE.last[range]}>
      <header className="kit-pane-head">
        <Button
          kind="plain"
          icon={folded ? "right" : "down"}
          aria-expanded={!folded}
          aria-label={folded ? LIVE.unfoldStrip : LIVE.foldStrip}
          onClick={onFold}
        />
        <h2 className="cut">{LIVE.last[range]}</h2>
        <span className="kit-pane-count live-strip-now">{view !== undefined && LIVE.nowAt(clock(series.at ?? view.to, false))}</span>
        <span className="grow" />
        <Button
          kind="plain"
          onClick={() => setTable(true)}
          disabledWhy={view !== undefined ? undefined : series.error === undefined ? KIT.loading : KIT.couldNotRead(LIVE.last[range])}
        >
          {LIVE.asTable}
        </Button>
        <Segmented label={LIVE.range} selected={range} onSelect={onRange} choices={RANGES.map((id) => ({ id, label: LIVE.ranges[id] }))} />
      </header>
      {!folded && (
        <StateView
          loading={(series.loading && view === undefined) || agents === undefined}
          slow={series.slow}
          error={view === undefined ? series.error : undefined}
          what={LIVE.last[range]}
          onRetry={series.reload}
          {...(view === undefined ? { onCancel: series.cancel } : {})}
        >
          {view !== undefined && agents !== undefined && <Charts key={view.range} view={view} nameOf={nameOf} agents={agents} />}
        </StateView>
      )}
      {view !== undefined && <SeriesTable view={view} open={table} onClose={() => setTable(false)} />}
    </section>
  );
}

function Charts({ view, nameOf, agents }: { readonly view: SeriesView; nameOf(agent: string): string; readonly agents: readonly string[] }) {
  const [cursor, setCursor] = useState<number>();
  const area = useRef<HTMLDivElement>(null);
  const places = useRef<readonly string[]>([]);
  places.current = lanePlaces(
    places.current,
    view.lanes.map(({ agent }) => agent),
    agents,
  );
  const lanes = places.current.map((agent) => view.lanes.find((lane) => lane.agent === agent) ?? { ...IDLE, agent });
  const plots = plotsOf(view);
  const points = view.tasks.length;
  const scale = useTextScale();
  const busy = view.lanes.filter(({ agent }) => !places.current.includes(agent)).length;
  const idle = agents.filter((agent) => !places.current.includes(agent)).length - busy;
  const pointOf = (event: PointerEvent) => {
    const { left, width } = (area.current as HTMLDivElement).getBoundingClientRect();
    return Math.max(0, Math.min(points - 1, Math.floor(((event.clientX - left) / width) * points)));
  };
  const open = (event: PointerEvent<HTMLDivElement>) => {
    const { left, top, width } = event.currentTarget.getBoundingClientRect();
    const lane = lanes[Math.floor((event.clientY - top) / (LANE_PX * scale))];
    const span = lane && spanAt(view, lane, view.from + ((event.clientX - left) / width) * (view.to - view.from));
    if (span !== undefined) navigate(`/tasks/${span.id}`);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const at = cursor ?? points - 1;
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, PageUp: at + 10, PageDown: at - 10, Home: 0, End: points - 1 }[event.key];
    if (to !== undefined) setCursor(Math.max(0, Math.min(points - 1, to)));
    else if (event.key === "Escape") setCursor(undefined);
    else if (event.key === "Enter") navigate(`/tasks?since=${new Date(view.from + at * view.stepMs).toISOString().slice(0, 16)}Z`);
    else return;
    event.preventDefault();
  };
  const at = cursor ?? points - 1;
  return (
    <div className="live-charts">
      <div className="live-charts-names">
        {lanes.map(({ agent, tasks }) => (
          <span key={agent} className={`live-lane-name kit-marked${tasks === 0 ? " live-lane-idle" : ""}`} title={nameOf(agent)}>
            <AgentMark agent={agent} size={12} />
            <bdi className="cut">{nameOf(agent)}</bdi>
          </span>
        ))}
        {plots.map(({ id, title }) => (
          <span key={id} className="live-plot-name cut" title={title}>
            {title}
          </span>
        ))}
        <span className="live-axis-name">{busy > 0 ? LIVE.moreBusy(busy) : idle > 0 && LIVE.moreIdle(idle)}</span>
      </div>
      <div
        ref={area}
        className="live-charts-area"
        role="slider"
        tabIndex={0}
        aria-label={LIVE.cursor}
        aria-orientation="horizontal"
        aria-valuemin={0}
        aria-valuemax={points - 1}
        aria-valuenow={at}
        aria-valuetext={LIVE.pointWords(momentOf(view, at), view.tasks[at] ?? 0, plots[1]?.at(at) ?? "", plots[2]?.at(at) ?? "", view.errors[at] ?? 0)}
        onPointerMove={(event) => setCursor(pointOf(event))}
        onPointerLeave={() => setCursor(undefined)}
        onBlur={() => setCursor(undefined)}
        onPointerUp={open}
        onKeyDown={onKeyDown}
      >
        <svg className="live-grid" width="100%" height="100%" aria-hidden="true">
          {ticksOf(view).map((point) => (
            <line key={point} x1={`${(point / points) * 100}%`} x2={`${(point / points) * 100}%`} y1="0" y2="100%" />
          ))}
          {cursor !== undefined && (
            <line className="live-cursor" x1={`${((cursor + 0.5) / points) * 100}%`} x2={`${((cursor + 0.5) / points) * 100}%`} y1="0" y2="100%" />
          )}
        </svg>
        {lanes.map((lane) => (
          <LaneMarks key={lane.agent} view={view} lane={lane} />
        ))}
        {plots.map((plot) => (
          <Bars key={plot.id} plot={plot} points={points} />
        ))}
        <div className="live-axis" aria-hidden="true">
          {ticksOf(view).map((point) => (
            <span key={point} style={{ left: `${(point / points) * 100}%` }}>
              {tickOf(view, point)}
            </span>
          ))}
        </div>
      </div>
      <div className="live-charts-values">
        {lanes.map((lane) => {
          const { text, state } = laneWords(lane);
          return (
            <span key={lane.agent} className={`live-lane-value cut${state === "" ? "" : ` live-${state}`}`}>
              {text}
            </span>
          );
        })}
        {plots.map(({ id, value, note, at: valueAt }) => (
          <span key={id} className="live-plot-value cut">
            <strong>{cursor === undefined ? value : valueAt(cursor)}</strong> <span className="live-plot-note">{cursor === undefined ? note : ""}</span>
          </span>
        ))}
        <span className="live-axis-value">{cursor === undefined ? "" : momentOf(view, cursor)}</span>
      </div>
      {view.knownFrom !== undefined && <p className="live-charts-note meta">{LIVE.notYetRead(when(view.knownFrom))}</p>}
    </div>
  );
}

const LANE_PX = 18;
const IDLE: Omit<Lane, "agent"> = { tasks: 0, failed: 0, cancelled: 0, spans: [] };

function LaneMarks({ view, lane }: { readonly view: SeriesView; readonly lane: Lane }) {
  return (
    <svg className="live-lane" width="100%" height="1.125rem" aria-hidden="true">
      {lane.spans.map((span) => {
        const { x, width } = placeOf(view, span);
        return <rect key={span.id} className={`live-span live-span-${span.state}`} x={`${x}%`} width={`${width}%`} y="0.25rem" height="0.625rem" rx="1.5" />;
      })}
    </svg>
  );
}

function Bars({ plot: { id, bars }, points }: { readonly plot: Plot; readonly points: number }) {
  return (
    <svg className={`live-plot live-plot-${id}`} width="100%" height="1.75rem" aria-hidden="true">
      {bars.map((value, point) =>
        value === null || value === 0 ? null : (
          <rect
            // biome-ignore lint/suspicious/noArrayIndexKey: a point in time is its place
            key={point}
            x={`${((point + 0.12) / points) * 100}%`}
            width={`${(0.76 / points) * 100}%`}
            y={`${(27 - Math.max(2, value * 21)) / 16}rem`}
            height={`${Math.max(2, value * 21) / 16}rem`}
          />
        ),
      )}
    </svg>
  );
}

function SeriesTable({ view, open, onClose }: { readonly view: SeriesView; readonly open: boolean; onClose(): void }) {
  const [copied, setCopied] = useState(false);
  const [head = [], ...rows] = open ? tableOf(view) : [];
  const copy = async () => {
    await copyText([head, ...rows].map((row) => row.join(",")).join("\n"));
    setCopied(true);
  };
  return (
    <Dialog title={LIVE.tableTitle} open={open} onClose={onClose} wide actions={<Button onClick={copy}>{copied ? KIT.copied : LIVE.copyCsv}</Button>}>
      <div className="live-table" tabIndex={0} role="region" aria-label={LIVE.tableTitle}>
        <table>
          <thead>
            <tr>
              {head.map((title) => (
                <th key={title} scope="col">
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(([time = "", ...values]) => (
              <tr key={time}>
                <th scope="row">{when(time)}</th>
                {values.map((value, at) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: a column is its place
                  <td key={at}>{value}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Dialog>
  );
}
