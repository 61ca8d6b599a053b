import { useEffect, useRef, useState } from "react";
import { useLive } from "../../data/live.ts";
import { navigate, useQuery, useRoute } from "../../data/router.tsx";
import { Button } from "../../kit/button.tsx";
import { PageHead } from "../../kit/page-head.tsx";
import { Pane, Panes } from "../../kit/pane.tsx";
import type { VirtualListHandle } from "../../kit/virtual-list.tsx";
import { PROCESSES } from "../../words/processes.ts";
import { markSeen } from "./failed-count.ts";
import { useMedia } from "./media-query.ts";
import { RunList } from "./run-list.tsx";
import { RunView } from "./run-view.tsx";
import { type RunFilter, useRuns } from "./use-runs.ts";
import "./processes.css";

const TYPING_MS = 250;
const FILTERS: readonly string[] = ["open", "failed"];

/** The runs of workflows: where one is, and why it stands there. */
export default function ProcessesPage() {
  const { query } = useRoute();
  const [status, setStatus] = useQuery("status");
  const [text = "", setText] = useQuery("text");
  const [selected] = useQuery("run");
  const narrow = useMedia("(max-width: 40em)");
  const handle = useRef<VirtualListHandle>(null);
  const settled = useSettled(text, TYPING_MS);
  const filter = FILTERS.includes(status ?? "") ? (status as RunFilter["status"]) : undefined;
  const list = useRuns(
    { ...(filter === undefined ? {} : { status: filter }), ...(settled === "" ? {} : { text: settled }) },
    () => handle.current?.atRest() ?? true,
  );
  const open = (id: string, replace = false) => {
    const next = new URLSearchParams(query);
    next.set("run", id);
    next.delete("step");
    navigate(`/processes?${next}`, { replace });
  };
  // With room for both, a run is open from the start: the first of the list, and the address says so.
  const first = list.runs[0]?.id;
  // biome-ignore lint/correctness/useExhaustiveDependencies: only the first run of a list that has just come opens by itself
  useEffect(() => {
    if (selected === undefined && first !== undefined && !narrow) open(first, true);
  }, [selected, first, narrow]);
  useEffect(markSeen, []);
  useLive(({ name, data }) => {
    const { kind, type } = (data ?? {}) as { kind?: string; type?: string };
    if (name === "event" && kind === "run" && type === "failed" && document.visibilityState === "visible") markSeen();
  });
  const back = new URLSearchParams(query);
  back.delete("run");
  back.delete("step");
  return (
    <Panes className="processes" shown={selected === undefined ? 0 : 1}>
      <Pane className="processes-list" label={PROCESSES.runs} flush>
        {selected === undefined && <PageHead title={PROCESSES.title} />}
        <RunList
          list={list}
          filter={filter}
          text={text}
          selected={selected}
          handle={handle}
          onFilter={setStatus}
          onText={setText}
          onOpen={(id) => open(id, !narrow)}
        />
      </Pane>
      <Pane className="processes-run-pane" label={PROCESSES.oneRun} flush>
        {narrow && selected !== undefined && (
          <Button kind="plain" icon="left" className="processes-back" onClick={() => navigate(`/processes?${back}`)}>
            {PROCESSES.runs}
          </Button>
        )}
        {selected === undefined ? list.runs.length > 0 && <p className="processes-note">{PROCESSES.choose}</p> : <RunView key={selected} id={selected} />}
      </Pane>
    </Panes>
  );
}

/** The value once it has not changed for so long. */
function useSettled<T>(value: T, ms: number): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return settled;
}
