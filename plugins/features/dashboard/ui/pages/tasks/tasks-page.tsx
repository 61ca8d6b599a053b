import { useEffect, useRef, useState, useSyncExternalStore } from "react";
import { useResource } from "../../data/resource.ts";
import { Link, navigate, useRoute } from "../../data/router.tsx";
import { AgentMark } from "../../kit/agent-mark.tsx";
import { Button } from "../../kit/button.tsx";
import { SearchBox } from "../../kit/field.tsx";
import { count, when } from "../../kit/figures.ts";
import { Glyph } from "../../kit/glyph.tsx";
import { Icon } from "../../kit/icon.tsx";
import { useKeys } from "../../kit/keys.ts";
import { Menu } from "../../kit/menu.tsx";
import { PageHead } from "../../kit/page-head.tsx";
import { StateView } from "../../kit/state-view.tsx";
import { Ago, Cost, Duration } from "../../kit/values.tsx";
import { VirtualList, type VirtualListHandle } from "../../kit/virtual-list.tsx";
import { STATES } from "../../words/states.ts";
import { TASKS } from "../../words/tasks.ts";
import { filterLine, filterOf, type ListFilter, readFilterLine } from "./filter-words.ts";
import { useListRows } from "./list-rows.ts";
import type { TaskRow } from "./task-types.ts";
import "./tasks.css";

const ROW = 32;
const NARROW_ROW = 52;
const TYPING_MS = 250;
const STATE_WORDS = ["running", "queued", "ok", "failed", "timed-out", "cancelled"] as const;

/** Where the reader was, for the way back from a task. */
let place: { readonly line: string; readonly selected: number | undefined } = { line: "", selected: undefined };

/** The page `/tasks`: every task that is kept, narrowed by what stands in the address. */
export default function TasksPage() {
  const { query } = useRoute();
  const filter = filterOf(query);
  const line = filterLine(filter);
  const [typed, setTyped] = useState(line);
  const [wrong, setWrong] = useState<string>();
  const [selected, setSelected] = useState<number | undefined>(place.line === line ? place.selected : undefined);
  const list = useRef<VirtualListHandle>(null);
  const search = useRef<HTMLInputElement>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const narrow = useNarrow();
  const agents = useResource<{ readonly agents: readonly { readonly id: string; readonly name: string }[] }>("/api/agents");
  const rows = useListRows(filter, () => list.current?.atRest() !== false);
  const nameOf = (id: string) => (id === "" ? TASKS.noAgent : (agents.data?.agents.find((agent) => agent.id === id)?.name ?? id));
  place = { line, selected };
  // The address may change by itself: a link, the way back.
  const last = useRef(line);
  useEffect(() => {
    if (last.current === line) return;
    last.current = line;
    if (filterLine(readFilterLine(typed).filter) !== line) setTyped(line);
    setSelected(undefined);
  }, [line, typed]);
  const narrowTo = (next: ListFilter) => {
    const text = new URLSearchParams(Object.entries(next)).toString();
    navigate(`/tasks${text === "" ? "" : `?${text}`}`, { replace: true });
  };
  const type = (value: string) => {
    setTyped(value);
    clearTimeout(timer.current);
    const apply = () => {
      const { filter: next, wrong: why } = readFilterLine(value);
      setWrong(why);
      if (why === undefined) narrowTo(next);
    };
    if (value === "") apply();
    else timer.current = setTimeout(apply, TYPING_MS);
  };
  const choose = (next: ListFilter) => {
    setWrong(undefined);
    setTyped(filterLine(next));
    narrowTo(next);
  };
  useKeys({ "/": { title: TASKS.filter, run: () => search.current?.focus() } }, { scope: TASKS.title });
  const none = rows.count === 0 && line !== "" && !rows.loading && rows.reached === undefined;
  return (
    <>
      <PageHead
        title={TASKS.title}
        note={rows.count === undefined ? undefined : rows.exact ? TASKS.total(count(rows.count)) : TASKS.found(count(rows.count))}
      />
      <div className="tasks">
        <div className="tasks-filter">
          <SearchBox ref={search} value={typed} onChange={type} label={TASKS.filter} placeholder={TASKS.filterHint} />
          <Picker
            label={TASKS.state}
            any={TASKS.anyState}
            chosen={filter.state}
            options={STATE_WORDS.map((id) => ({ id, label: STATES[id] }))}
            onChoose={(state) => choose(without(filter, "state", state))}
          />
          <Picker
            label={TASKS.agent}
            any={TASKS.anyAgent}
            chosen={filter.agent}
            options={(agents.data?.agents ?? []).map(({ id, name }) => ({ id, label: name }))}
            onChoose={(agent) => choose(without(filter, "agent", agent))}
          />
          {rows.newer > 0 && <Button onClick={rows.reload}>{TASKS.newTasks(rows.newer)}</Button>}
        </div>
        {wrong !== undefined && (
          <p className="tasks-wrong" role="status">
            {wrong}
          </p>
        )}
        {!narrow && <Heads />}
        <StateView
          loading={rows.count === undefined && rows.loading}
          error={rows.count === undefined ? rows.error : undefined}
          what={TASKS.what}
          onRetry={rows.reload}
          onCancel={rows.cancel}
          rows={12}
          none={none ? { filter: line, onClear: () => choose({}) } : undefined}
          empty={
            rows.count === 0 && line === "" ? (
              <>
                <p>{TASKS.empty}</p>
                <Link to="/live" className="kit-button">
                  {TASKS.sayHello}
                </Link>
              </>
            ) : undefined
          }
        >
          {(rows.count ?? 0) > 0 && (
            <VirtualList
              ref={list}
              label={TASKS.list}
              className="tasks-list"
              count={rows.count ?? 0}
              rowHeight={narrow ? NARROW_ROW : ROW}
              selected={selected}
              onSelect={setSelected}
              onOpen={(at) => rows.row(at) !== undefined && navigate(`/tasks/${rows.row(at)?.id}`)}
              onEnd={rows.more}
              keyOf={(at) => rows.row(at)?.id ?? at}
              render={(at) => <Row row={rows.row(at)} nameOf={nameOf} narrow={narrow} />}
            />
          )}
          {!rows.exact && rows.reached !== undefined && (
            <p className="tasks-searched" role="status">
              <span>{rows.loading ? TASKS.searching : TASKS.searchedBack(when(rows.reached))}</span>
              <Button busy={rows.loading} onClick={rows.more}>
                {TASKS.goOn}
              </Button>
            </p>
          )}
        </StateView>
      </div>
    </>
  );
}

const without = (filter: ListFilter, name: "agent" | "state", value: string | undefined): ListFilter => {
  const { [name]: _before, ...rest } = filter;
  return value === undefined ? rest : { ...rest, [name]: value };
};

const NARROW = "(max-width: 40em)";
const narrowQuery = matchMedia(NARROW);
function useNarrow(): boolean {
  return useSyncExternalStore(
    (listener) => {
      narrowQuery.addEventListener("change", listener);
      return () => narrowQuery.removeEventListener("change", listener);
    },
    () => narrowQuery.matches,
  );
}

function Picker({
  label,
  any,
  chosen,
  options,
  onChoose,
}: {
  readonly label: string;
  readonly any: string;
  readonly chosen: string | undefined;
  readonly options: readonly { readonly id: string; readonly label: string }[];
  onChoose(id: string | undefined): void;
}) {
  return (
    <Menu
      label={`${chosen === undefined ? any : (options.find(({ id }) => id === chosen)?.label ?? chosen)}, ${label}`}
      className="kit-button tasks-picker"
      trigger={
        <>
          <bdi className="cut">{chosen === undefined ? any : (options.find(({ id }) => id === chosen)?.label ?? chosen)}</bdi> <Icon name="down" />
        </>
      }
      items={[
        { id: "", label: any, checked: chosen === undefined, onSelect: () => onChoose(undefined) },
        ...options.map((option) => ({ ...option, checked: option.id === chosen, onSelect: () => onChoose(option.id) })),
      ]}
    />
  );
}

function Heads() {
  return (
    <div className="tasks-heads" aria-hidden="true">
      <span className="tasks-state" />
      <span className="tasks-agent kit-marked">{TASKS.agent}</span>
      <span className="tasks-text">{TASKS.text}</span>
      <span className="tasks-from">{TASKS.from}</span>
      <span className="tasks-took figure">{TASKS.took}</span>
      <span className="tasks-tokens figure">{TASKS.tokens}</span>
      <span className="tasks-cost figure">{TASKS.cost}</span>
      <span className="tasks-at figure">{TASKS.at}</span>
    </div>
  );
}

function Row({ row, nameOf, narrow }: { readonly row: TaskRow | undefined; nameOf(agent: string): string; readonly narrow: boolean }) {
  if (row === undefined)
    return (
      <span role="gridcell" className="tasks-blank">
        <span />
      </span>
    );
  const { state, agent, text, channel, chat, sender, startedAt, durationMs, tokens, cost, error } = row;
  const name = nameOf(agent);
  const from = [channel, sender ?? chat].filter((part) => part !== "").join(" · ");
  const took = state === "running" || state === "waiting" || state === "queued" ? <Duration from={startedAt} /> : <Duration ms={durationMs} />;
  const wrong = state === "failed" || state === "timed-out";
  const words = wrong && error !== undefined ? error : text;
  if (narrow)
    return (
      <>
        <span role="gridcell" className="tasks-state">
          <Glyph state={state} />
        </span>
        <span role="gridcell" className="tasks-both">
          <span className="tasks-both-head">
            <span className="tasks-name kit-marked">
              <AgentMark agent={agent} />
              <bdi className="cut">{name}</bdi>
            </span>
            <span className="meta">{took}</span>
            <span className="meta figure">
              <Ago at={startedAt} clock />
            </span>
          </span>
          <span className={`cut${wrong ? " tasks-failed" : ""}`}>
            <bdi>{words}</bdi>
          </span>
        </span>
      </>
    );
  return (
    <>
      <span role="gridcell" className="tasks-state">
        <Glyph state={state} />
      </span>
      <span role="gridcell" className="tasks-agent" title={name}>
        <AgentMark agent={agent} />
        <bdi className="cut">{name}</bdi>
      </span>
      <span role="gridcell" className={`tasks-text cut${wrong ? " tasks-failed" : ""}`} title={error === undefined ? text : `${text}\n${error}`}>
        <bdi>{words}</bdi>
      </span>
      <span role="gridcell" className="tasks-from cut" title={from}>
        <bdi>{from}</bdi>
      </span>
      <span role="gridcell" className="tasks-took figure">
        {took}
      </span>
      <span role="gridcell" className="tasks-tokens figure">
        {tokens !== undefined && count(tokens, true)}
      </span>
      <span role="gridcell" className="tasks-cost figure">
        {cost !== undefined && <Cost usd={cost} />}
      </span>
      <span role="gridcell" className="tasks-at figure">
        <Ago at={startedAt} clock />
      </span>
    </>
  );
}
