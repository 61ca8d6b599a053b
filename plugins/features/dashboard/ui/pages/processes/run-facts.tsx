import type { ReactNode } from "react";
import { useResource } from "../../data/resource.ts";
import { Link } from "../../data/router.tsx";
import { Glyph } from "../../kit/glyph.tsx";
import { Ago, Duration } from "../../kit/values.tsx";
import { PROCESSES } from "../../words/processes.ts";
import { labelOf, type PlacedNode } from "./graph-nodes.ts";
import type { Executed, RunDetail, RunPage } from "./run-types.ts";
import { glyphOf, runGlyph, shortHash, standsAt } from "./run-words.ts";

/** Facts of a run: state and place, version, origin, parent. */
export function RunFacts({
  run,
  executed,
  nodes,
}: {
  readonly run: RunDetail;
  readonly executed: Executed | undefined;
  readonly nodes: ReadonlyMap<string, PlacedNode>;
}) {
  // Restarts and sub-processes share the root.
  const family = useResource<RunPage>(`/api/workflows/runs?summary=1&limit=200&root=${encodeURIComponent(run.rootId)}`, {
    refreshOn: ({ kind, type, data }) => kind === "run" && type === "created" && data?.["workflowId"] === run.workflowId,
  });
  const restarts = (family.data?.runs ?? []).filter(({ restartOf }) => restartOf === run.id);
  const place = standsAt(run);
  const named = run.error?.node === undefined ? place : labelOf(nodes.get(run.error.node)?.node, run.error.node);
  const current = executed?.current;
  return (
    <dl className="processes-facts">
      <Fact title={PROCESSES.state}>
        <Glyph state={runGlyph(run)} word={run.status !== "failed" || named === undefined} label={undefined} />
        {run.status === "failed" && named !== undefined ? (
          <bdi className="processes-failed-at">{PROCESSES.failedAt(named)}</bdi>
        ) : (
          place !== undefined && <bdi className="meta">{place}</bdi>
        )}
      </Fact>
      {run.status === "failed" && run.error !== undefined && (
        <Fact title={PROCESSES.reason}>
          <bdi title={run.error.message} className="processes-why">
            {run.error.message}
          </bdi>
        </Fact>
      )}
      <Fact title={PROCESSES.version}>
        <span className="mono" title={run.hash}>
          {shortHash(run.hash)}
        </span>
        {executed !== undefined && current !== run.hash && (
          <span className="meta">{current === undefined ? `(${PROCESSES.versionGone})` : `(${PROCESSES.versionNow(shortHash(current))})`}</span>
        )}
      </Fact>
      <Fact title={PROCESSES.startedBy}>
        <bdi>{PROCESSES.entry(run.entry.kind, run.entry.ref)}</bdi>
      </Fact>
      <Fact title={PROCESSES.started}>
        <Ago at={run.createdAt} clock />
      </Fact>
      <Fact title={PROCESSES.took}>
        <Duration from={run.createdAt} to={run.endedAt} />
      </Fact>
      {run.parentRunId !== undefined && (
        <Fact title={PROCESSES.parent}>
          <RunLink id={run.parentRunId} step={run.parentStep} />
        </Fact>
      )}
      {run.restartOf !== undefined && (
        <Fact title={PROCESSES.restartOf}>
          <RunLink id={run.restartOf} />
        </Fact>
      )}
      {restarts.length > 0 && (
        <Fact title={PROCESSES.restarts}>
          {restarts.map(({ id, status }) => (
            <span key={id} className="processes-relative">
              <Glyph state={glyphOf(status)} />
              <RunLink id={id} />
            </span>
          ))}
        </Fact>
      )}
      {run.children.length > 0 && (
        <Fact title={PROCESSES.children}>
          {run.children.slice(0, 6).map(({ id, status, workflowId }) => (
            <span key={id} className="processes-relative">
              <Glyph state={glyphOf(status)} />
              <RunLink id={id} title={workflowId} />
            </span>
          ))}
          {run.children.length > 6 && <span className="meta">+{run.children.length - 6}</span>}
        </Fact>
      )}
    </dl>
  );
}

function RunLink({ id, step, title }: { readonly id: string; readonly step?: string | undefined; readonly title?: string }) {
  return (
    <Link to={`/processes?run=${encodeURIComponent(id)}${step === undefined ? "" : `&step=${encodeURIComponent(step)}`}`} className="mono" title={title}>
      {id}
    </Link>
  );
}

function Fact({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <div className="processes-fact">
      <dt>{title}</dt>
      <dd>{children}</dd>
    </div>
  );
}
