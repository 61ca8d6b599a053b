import type { Envelope } from "@svc/sdk";
import { useEffect, useMemo, useRef, useState } from "react";
import { isCancelled } from "../../data/api-error.ts";
import { useLive } from "../../data/live.ts";
import { useResource } from "../../data/resource.ts";
import { navigate } from "../../data/router.tsx";
import { Button } from "../../kit/button.tsx";
import { clock } from "../../kit/figures.ts";
import { Glyph, type State, stateOf } from "../../kit/glyph.tsx";
import { Icon } from "../../kit/icon.tsx";
import { useKeys } from "../../kit/keys.ts";
import { Menu } from "../../kit/menu.tsx";
import { Pane } from "../../kit/pane.tsx";
import { StateView } from "../../kit/state-view.tsx";
import { VirtualList, type VirtualListHandle } from "../../kit/virtual-list.tsx";
import { LIVE } from "../../words/live-words.ts";
import type { PastEvents } from "./live-types.ts";
import { useEntering } from "./steady.ts";

const ROW = 45;
const KEPT = 1_000;

interface Filter {
  readonly kind?: string;
  readonly agent?: string;
  readonly root?: string;
}

/** Events of the daemon, the newest first: filtered, paused, expanded. */
export function EventsPane() {
  const past = useResource<PastEvents>("/api/tasks/events");
  const [events, setEvents] = useState<readonly Envelope[]>();
  const [filter, setFilter] = useState<Filter>({});
  const [held, setHeld] = useState(false);
  const [selected, setSelected] = useState<number>();
  const list = useRef<VirtualListHandle>(null);
  useEffect(() => {
    if (past.data !== undefined) setEvents((now) => merged(past.data?.events ?? [], now ?? []));
  }, [past.data]);
  const arrived = useArrivals((fresh) => setEvents((now) => merged(fresh, now ?? [])));
  // Events from before the stream opened are in the loaded data.
  useLive(
    ({ name, data }) => {
      if (name === "event") arrived(data as Envelope);
      else if (!isCancelled(past.error)) past.reload();
    },
    { names: ["event", "snapshot"] },
  );
  const wanted = useMemo(() => events?.filter((event) => fits(event, filter)), [events, filter]);
  const { shown, waiting, enter } = useEntering(
    wanted,
    ({ id }) => id,
    () => list.current?.atRest() !== false,
    held,
  );
  // Another filter shows what it finds at once.
  // biome-ignore lint/correctness/useExhaustiveDependencies: only another filter, not each event
  useEffect(enter, [filter]);
  useKeys(
    { Space: { title: LIVE.hold, run: () => (document.activeElement === document.body || document.activeElement?.id === "page" ? setHeld(!held) : false) } },
    { scope: LIVE.events },
  );
  const kinds = useMemo(() => [...new Set((events ?? []).map(({ kind }) => kind))].sort(), [events]);
  const chosen = [filter.agent, filter.root === undefined ? undefined : LIVE.chosenRoot].filter((word) => word !== undefined).join(", ");
  return (
    <Pane
      title={LIVE.events}
      className="live-events"
      flush
      actions={
        <>
          {waiting > 0 && (held ? <span className="live-held">{LIVE.held(waiting)}</span> : <Button onClick={enter}>{LIVE.newEvents(waiting)}</Button>)}
          <Menu
            label={`${filter.kind ?? LIVE.allKinds}, ${LIVE.kinds}`}
            trigger={
              <>
                {filter.kind ?? LIVE.allKinds} <Icon name="down" />
              </>
            }
            items={[undefined, ...kinds].map((kind) => ({
              id: kind ?? "",
              label: kind ?? LIVE.allKinds,
              checked: filter.kind === kind,
              onSelect: () => setFilter(({ kind: _before, ...rest }) => (kind === undefined ? rest : { ...rest, kind })),
            }))}
          />
          <Button kind="plain" icon={held ? "play" : "pause"} aria-pressed={held} aria-label={held ? LIVE.goOn : LIVE.hold} onClick={() => setHeld(!held)} />
        </>
      }
    >
      {chosen !== "" && (
        <p className="live-events-filter">
          <span className="cut">
            {LIVE.eventsOf} <bdi>{chosen}</bdi>
          </span>
          <Button kind="plain" onClick={() => setFilter(filter.kind === undefined ? {} : { kind: filter.kind })}>
            {LIVE.clearFilter}
          </Button>
        </p>
      )}
      <StateView
        loading={events === undefined && past.loading}
        slow={past.slow}
        error={events === undefined ? past.error : undefined}
        what={LIVE.events}
        onRetry={past.reload}
        onCancel={past.cancel}
        empty={events?.length === 0 ? <p>{LIVE.noEvents}</p> : undefined}
        none={
          events !== undefined && events.length > 0 && shown.length === 0
            ? { filter: [filter.kind, chosen].filter(Boolean).join(", "), onClear: () => setFilter({}) }
            : undefined
        }
      >
        <VirtualList
          ref={list}
          label={LIVE.events}
          count={shown.length}
          rowHeight={ROW}
          keys={false}
          selected={selected}
          onSelect={setSelected}
          onOpen={(at) => open(shown[at])}
          keyOf={(at) => shown[at]?.id ?? at}
          render={(at) => shown[at] !== undefined && <EventRow event={shown[at]} onFilter={setFilter} />}
        />
      </StateView>
    </Pane>
  );
}

/** Hands over what has come once a frame, in the order in which it came. */
function useArrivals(take: (fresh: readonly Envelope[]) => void): (event: Envelope) => void {
  const waiting = useRef<Envelope[]>([]);
  const frame = useRef(0);
  const last = useRef(take);
  last.current = take;
  useEffect(() => () => cancelAnimationFrame(frame.current), []);
  return (event) => {
    waiting.current.unshift(event);
    if (waiting.current.length > 1) return;
    frame.current = requestAnimationFrame(() => last.current(waiting.current.splice(0)));
  };
}

/** Both together, the newest first, each once. */
function merged(newer: readonly Envelope[], older: readonly Envelope[]): readonly Envelope[] {
  const known = new Set(older.map(({ id }) => id));
  const fresh = newer.filter(({ id }) => !known.has(id));
  if (fresh.length === 0) return older;
  const all = [...fresh, ...older];
  const sorted =
    older[0] !== undefined && (fresh.at(-1) as Envelope).at < older[0].at
      ? all.sort((one, other) => (one.at < other.at ? 1 : one.at > other.at ? -1 : 0))
      : all;
  return sorted.slice(0, KEPT);
}

const fits = ({ kind, agentId, rootId }: Envelope, filter: Filter): boolean =>
  (filter.kind === undefined || kind === filter.kind) &&
  (filter.agent === undefined || agentId === filter.agent) &&
  (filter.root === undefined || rootId === filter.root);

const taskOf = ({ data, ref }: Envelope): string | undefined => {
  const id = typeof data?.taskId === "string" ? data.taskId : ref;
  return id?.startsWith("task_") === true ? id : undefined;
};

function open(event: Envelope | undefined): void {
  const task = event === undefined ? undefined : taskOf(event);
  if (task !== undefined) navigate(`/tasks/${task}`);
}

/** The state that an event tells of. */
function stateOfEvent({ type, data }: Envelope): State {
  if (type === "task:completed") return data?.errorKind === "cancelled" ? "cancelled" : stateOf(String(data?.status ?? "ok"));
  if (type === "task:step") return data?.phase === "end" ? "ok" : "running";
  if (type === "task:started") return "running";
  if (/queued|waiting|created|asked/.test(type)) return "waiting";
  if (/fail|error|down|broken|lost/.test(type)) return "failed";
  return /dropped|cancel|removed/.test(type) ? "cancelled" : "ok";
}

function EventRow({ event, onFilter }: { readonly event: Envelope; onFilter(change: (filter: Filter) => Filter): void }) {
  const { kind, type, summary, at, agentId, rootId } = event;
  const task = taskOf(event);
  return (
    <>
      <time role="gridcell" className="live-event-at mono" dateTime={at} title={at}>
        {clock(at)}
      </time>
      <span role="gridcell" className="live-event-state">
        <Glyph state={stateOfEvent(event)} />
      </span>
      <span role="gridcell" className="live-event-text">
        <span className="cut">
          <strong>{kind}</strong> {type}
        </span>
        <span className="cut live-event-summary" title={summary}>
          <bdi>{summary}</bdi>
        </span>
      </span>
      <span role="gridcell" className="live-event-menu">
        <Menu
          trigger="⋯"
          label={LIVE.eventMenu}
          inRow
          className="kit-button kit-button-plain kit-button-icon"
          items={[
            ...(task === undefined ? [] : [{ id: "open", label: LIVE.openTask, onSelect: () => open(event) }]),
            ...(agentId === undefined
              ? []
              : [{ id: "agent", label: LIVE.onlyAgent(agentId), onSelect: () => onFilter((now) => ({ ...now, agent: agentId })) }]),
            { id: "root", label: LIVE.onlyRoot, onSelect: () => onFilter((now) => ({ ...now, root: rootId })) },
          ]}
        />
      </span>
    </>
  );
}
