import { Component, lazy, type ReactNode, Suspense, useMemo, useRef, useState } from "react";
import { useResource } from "../../data/resource.ts";
import { useQuery } from "../../data/router.tsx";
import { Button } from "../../kit/button.tsx";
import { useKeys } from "../../kit/keys.ts";
import { PageHead } from "../../kit/page-head.tsx";
import { Pane } from "../../kit/pane.tsx";
import { StateView } from "../../kit/state-view.tsx";
import { Segmented } from "../../kit/tabs.tsx";
import { Duration } from "../../kit/values.tsx";
import { PROCESSES } from "../../words/processes.ts";
import type { UserTask } from "../inbox/inbox-types.ts";
import { nodesOf } from "./graph-nodes.ts";
import { useMedia } from "./media-query.ts";
import { RunActions } from "./run-actions.tsx";
import { RunFacts } from "./run-facts.tsx";
import type { Executed, RunDetail } from "./run-types.ts";
import { StepPane } from "./step-pane.tsx";
import { Timeline } from "./timeline.tsx";
import { opensOn, timelineOf } from "./timeline-rows.ts";

const RunGraph = lazy(() => import("./run-graph.tsx"));
const NO_NODES = nodesOf({ id: "", nodes: [], edges: [] });
const GRAPH_OFF = "svc.processes.graph";

/** One run: facts, the run on its graph, timeline and step, with one selection across them. */
export function RunView({ id }: { readonly id: string }) {
  const ofRun = (data: Readonly<Record<string, unknown>> | undefined) => data?.["runId"] === id || data?.["parentRunId"] === id;
  const run = useResource<RunDetail>(`/api/workflows/runs/${encodeURIComponent(id)}?brief=1`, {
    refreshOn: ({ kind, data }) => (kind === "run" || kind === "task") && ofRun(data),
  });
  const executed = useResource<Executed>(`/api/workflows/runs/${encodeURIComponent(id)}/definition`);
  const tasks = useResource<{ readonly tasks: readonly UserTask[] }>(`/api/workflows/tasks?limit=200&run=${encodeURIComponent(id)}`, {
    refreshOn: ({ kind, data }) => kind === "task" && ofRun(data),
  });
  const [wanted, choose] = useQuery("step");
  const [graph, setGraph] = useState(() => localStorage.getItem(GRAPH_OFF) !== "off");
  const [tab, setTab] = useState<"timeline" | "step">("step");
  const narrow = useMedia("(max-width: 40em)");
  const tabbed = useMedia("(max-width: 73.6875em)") && !narrow;
  const detail = run.data;
  const nodes = useMemo(() => (executed.data === undefined ? NO_NODES : nodesOf(executed.data.definition)), [executed.data]);
  const rows = useMemo(() => (detail === undefined ? [] : timelineOf(detail, nodes)), [detail, nodes]);
  // The first choice stays: a continuing run must not take the step away that is being read.
  const first = useRef<string>(undefined);
  const opening = detail === undefined ? undefined : opensOn(detail, rows);
  if (first.current === undefined || !rows.some(({ id: row }) => row === first.current)) first.current = opening;
  const row = rows.find((one) => one.id === wanted) ?? rows.find((one) => one.id === first.current);
  const select = (step: string | undefined) => {
    choose(step);
    if (step !== undefined) setTab("step");
  };
  const showGraph = () => {
    localStorage.setItem(GRAPH_OFF, graph ? "off" : "on");
    setGraph(!graph);
  };
  useKeys(
    {
      f: { title: PROCESSES.keys.failed, run: () => (detail?.status === "failed" && opening !== undefined ? select(opening) : false) },
      v: { title: PROCESSES.keys.graph, run: showGraph },
    },
    { scope: PROCESSES.keys.scope },
  );
  if (detail === undefined)
    return (
      <div className="processes-one">
        <PageHead title={id} crumbs={[{ label: PROCESSES.title, to: "/processes" }]} />
        <StateView what={PROCESSES.oneRun} loading={run.loading} slow={run.slow} error={run.error} onRetry={run.reload} onCancel={run.cancel} />
      </div>
    );
  const whoOf = (taskId: string) => tasks.data?.tasks.find((task) => task.id === taskId)?.assignee;
  const shown = row !== undefined && row.step !== undefined ? nodes.get(row.node)?.node : undefined;
  const title = `${detail.name ?? detail.workflowId} · ${detail.id}`;
  const most = shown?.retry?.attempts;
  const timeline = (
    <Pane
      className="processes-timeline"
      flush
      title={tabbed ? <TabBar tab={tab} onTab={setTab} /> : PROCESSES.timeline}
      label={PROCESSES.timeline}
      count={
        tabbed ? undefined : (
          <>
            {PROCESSES.steps(detail.steps.length)}, <Duration from={detail.createdAt} to={detail.endedAt} />
          </>
        )
      }
      actions={
        <Button kind="plain" aria-pressed={graph} title={graph ? PROCESSES.hideGraph : PROCESSES.showGraph} onClick={showGraph}>
          {PROCESSES.graph} <kbd>v</kbd>
        </Button>
      }
    >
      <Timeline rows={rows} selected={row?.id} whoOf={whoOf} onSelect={select} />
    </Pane>
  );
  const step = (
    <Pane
      className="processes-detail"
      title={tabbed ? <TabBar tab={tab} onTab={setTab} /> : (row?.label ?? PROCESSES.step)}
      label={row?.label ?? PROCESSES.step}
      count={tabbed ? <bdi className="cut">{row?.label}</bdi> : undefined}
      actions={row?.step !== undefined && row.step.attempt > 0 ? <span className="meta">{PROCESSES.tryOf(row.step.attempt, most)}</span> : undefined}
    >
      {row === undefined ? (
        <p className="processes-note">{PROCESSES.noStep}</p>
      ) : (
        <StepPane key={row.id} run={detail} row={row} node={nodes.get(row.node)?.node} who={whoOf(row.wait?.for ?? "")} />
      )}
    </Pane>
  );
  return (
    <div className="processes-one" data-run={detail.id} data-status={detail.status}>
      <PageHead title={title} crumbs={[{ label: PROCESSES.title, to: "/processes" }]}>
        <RunActions run={detail} row={row} executed={executed.data} />
      </PageHead>
      <RunFacts run={detail} executed={executed.data} nodes={nodes} />
      {graph && executed.data !== undefined && (
        <div className="processes-graph">
          <Quiet>
            <Suspense fallback={null}>
              <RunGraph
                executed={executed.data}
                rows={rows}
                selected={row?.node}
                onSelect={(node) => select(rows.findLast((one) => one.node === node)?.id ?? wanted)}
              />
            </Suspense>
          </Quiet>
        </div>
      )}
      <div className="processes-two">
        {(!tabbed || tab === "timeline") && timeline}
        {(!tabbed || tab === "step") && step}
      </div>
    </div>
  );
}

function TabBar({ tab, onTab }: { readonly tab: "timeline" | "step"; onTab(tab: "timeline" | "step"): void }) {
  return (
    <Segmented<"timeline" | "step">
      label={PROCESSES.timeline}
      selected={tab}
      onSelect={onTab}
      choices={[
        { id: "timeline", label: PROCESSES.timeline },
        { id: "step", label: PROCESSES.step },
      ]}
    />
  );
}

/** The graph is a help: where it cannot be drawn, the timeline still tells everything. */
class Quiet extends Component<{ readonly children: ReactNode }, { readonly failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError() {
    return { failed: true };
  }

  override render() {
    return this.state.failed ? null : this.props.children;
  }
}
