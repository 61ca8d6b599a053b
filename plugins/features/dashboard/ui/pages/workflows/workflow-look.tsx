import { useMemo, useState } from "react";
import { useWriting } from "../../data/me.ts";
import { useResource } from "../../data/resource.ts";
import { allNodes, readGraph } from "../../graph/graph-types.ts";
import { factsOf, nameOf } from "../../graph/node-facts.ts";
import { WorkflowGraph } from "../../graph/workflow-graph.tsx";
import { Button } from "../../kit/button.tsx";
import { Code } from "../../kit/code.tsx";
import { PageHead } from "../../kit/page-head.tsx";
import { Pane, Panes } from "../../kit/pane.tsx";
import { StateView } from "../../kit/state-view.tsx";
import { WORKFLOWS } from "../../words/workflows.ts";
import { StepsList } from "../editor/steps-list.tsx";
import { useNarrow } from "../editor/use-narrow.ts";
import { RunDialog } from "./run-dialog.tsx";

/** One workflow to look at: where it may not, or need not, be edited. */
export function WorkflowLook({ id }: { readonly id: string }) {
  const found = useResource<{ readonly definition: unknown; readonly layout: unknown }>(`/api/workflows/${encodeURIComponent(id)}`);
  const writing = useWriting();
  const narrow = useNarrow();
  const [selected, setSelected] = useState<string>();
  const [runs, setRuns] = useState(false);
  const definition = useMemo(() => readGraph(found.data?.definition).definition, [found.data]);
  const node = allNodes(definition).find((one) => one.id === selected);
  const title = typeof definition["name"] === "string" ? definition["name"] : id;
  return (
    <>
      <PageHead title={title} crumbs={[{ label: WORKFLOWS.page, to: "/workflows" }]} note={<span className="mono">{id}</span>}>
        <Button kind="primary" disabledWhy={writing.why} onClick={() => setRuns(true)}>
          {WORKFLOWS.run}
        </Button>
      </PageHead>
      <StateView
        loading={found.loading && found.data === undefined}
        slow={found.slow}
        error={found.data === undefined ? found.error : undefined}
        what={id}
        onRetry={found.reload}
        onCancel={found.cancel}
      >
        <Panes shown={node === undefined ? 0 : 1} className="workflows-look">
          <Pane label={WORKFLOWS.graph(title)} flush>
            {narrow ? (
              <StepsList definition={definition} findings={new Map()} selected={selected} onSelect={setSelected} />
            ) : (
              <WorkflowGraph definition={definition} layout={found.data?.layout} selected={selected} onSelect={setSelected} label={WORKFLOWS.graph(title)} />
            )}
          </Pane>
          {node !== undefined && (
            <Pane
              className="workflows-look-node"
              title={nameOf(node)}
              actions={<Button kind="plain" icon="close" aria-label={WORKFLOWS.back} onClick={() => setSelected(undefined)} />}
            >
              <p className="workflows-note">{factsOf(node)}</p>
              <Code json={Object.fromEntries(Object.entries(node).filter(([key]) => key !== "do"))} label={WORKFLOWS.fields} />
            </Pane>
          )}
        </Panes>
      </StateView>
      {runs && <RunDialog id={id} name={title} onClose={() => setRuns(false)} />}
    </>
  );
}
