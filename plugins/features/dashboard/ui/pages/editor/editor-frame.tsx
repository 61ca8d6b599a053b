import { useEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";
import { useConnection } from "../../data/live.ts";
import { useMe, useWriting } from "../../data/me.ts";
import { guardLeaving, navigate } from "../../data/router.tsx";
import { graphAt } from "../../graph/graph-types.ts";
import { nameOf } from "../../graph/node-facts.ts";
import { Button } from "../../kit/button.tsx";
import { useCommand } from "../../kit/commands.ts";
import { PageHead } from "../../kit/page-head.tsx";
import { Ago } from "../../kit/values.tsx";
import { EDITOR } from "../../words/editor.ts";
import { RunDialog } from "../workflows/run-dialog.tsx";
import { ConflictDialog } from "./conflict-dialog.tsx";
import { ConnectDialog } from "./connect-dialog.tsx";
import { EditorDesktop, type View } from "./editor-desktop.tsx";
import type { EditorModel } from "./editor-model.ts";
import { EditorNarrow } from "./editor-narrow.tsx";
import type { Desk } from "./editor-types.ts";
import { LeaveDialog } from "./leave-dialog.tsx";
import { localCopies } from "./local-copy.ts";
import { findingsByNode } from "./pointer.ts";
import { SaveDialog } from "./save-dialog.tsx";
import { useEditorKeys } from "./use-editor-keys.ts";
import { useNarrow } from "./use-narrow.ts";

type Asked =
  | { readonly what: "save" | "run" | "conflict" }
  | { readonly what: "leave"; readonly to: string }
  | { readonly what: "connect"; readonly port?: string };

/** One workflow with everything that is done to it: the panes, the dialogs, the way out. */
export function EditorFrame({ model, desk }: { readonly model: EditorModel; readonly desk: Desk }) {
  const state = useSyncExternalStore(model.subscribe, () => model.state);
  const narrow = useNarrow();
  const writing = useWriting();
  const { data: me } = useMe();
  const { state: connection } = useConnection();
  const [asked, setAsked] = useState<Asked>();
  // A text that the graph cannot be changed for is shown beside it.
  const [view, setView] = useState<View>(() => (model.closed() === undefined ? "graph" : "both"));
  const [after, setAfter] = useState<{ readonly id: string; readonly port: string }>();
  const [fit, setFit] = useState(0);
  const [paletteOpen, setPaletteOpen] = useState(false);
  const [copy, setCopy] = useState(() => localCopies.read(state.subject));
  const find = useRef<HTMLInputElement>(null);
  const left = useRef(false);
  const graph = graphAt(model.definition, state.scope);
  const [first] = state.selected;
  const node = state.selected.length === 1 ? graph?.nodes.find(({ id }) => id === first) : undefined;
  const closed = model.closed();
  const unsaved = model.unsaved();
  const findings = useMemo(() => findingsByNode(state.history.now.definition, state.checked?.problems ?? []), [state.history.now.definition, state.checked]);

  useEffect(
    () =>
      guardLeaving((to) => {
        if (left.current || !model.unsaved()) return true;
        setAsked({ what: "leave", to });
        return false;
      }),
    [model],
  );
  useEffect(() => {
    const onUnload = (event: BeforeUnloadEvent) => {
      if (model.unsaved()) event.preventDefault();
    };
    addEventListener("beforeunload", onUnload);
    return () => {
      removeEventListener("beforeunload", onUnload);
      // Back, or another workflow: without a confirmation, so keep the unsaved work.
      if (!left.current && model.unsaved()) model.keepLocally();
      model.close();
    };
  }, [model]);

  // Retry a failed check when the daemon answers again.
  useEffect(() => {
    if (connection === "connected" && model.state.checkFailed !== undefined) void model.check();
  }, [connection, model]);

  const leave = (to: string) => {
    left.current = true;
    navigate(to);
  };
  const saved = () => {
    const { subject } = model.state;
    setAsked(undefined);
    navigate(`/workflows/editor?${subject.kind === "draft" ? "draft" : "id"}=${encodeURIComponent(subject.id)}`, { replace: true });
  };
  const showPalette = (port?: string) => {
    setPaletteOpen(true);
    if (port !== undefined && node !== undefined) setAfter({ id: node.id, port });
    requestAnimationFrame(() => find.current?.focus());
  };
  const save = () => {
    if (writing.allowed && !narrow) setAsked({ what: "save" });
  };
  useEditorKeys(model, {
    find: () => showPalette(),
    connect: () => (node === undefined || closed !== undefined ? undefined : setAsked({ what: "connect" })),
    fit: () => setFit((now) => now + 1),
    save,
  });
  useCommand({ id: "editor.save", title: `${EDITOR.save} ${state.id}`, key: "Ctrl-S", run: save });

  const title =
    typeof model.definition["name"] === "string" && model.definition["name"] !== "" ? (model.definition["name"] as string) : state.id || EDITOR.newWorkflow;
  const parts = {
    model,
    state,
    desk,
    view,
    onView: setView,
    fit,
    find,
    after,
    findings,
    paletteOpen,
    // Without a connection it can still be edited, but not saved.
    readOnly: me?.may.write === false,
    onPalette: setPaletteOpen,
    onAfter: setAfter,
    onConnect: (port?: string) => setAsked({ what: "connect", ...(port === undefined ? {} : { port }) }),
    onAddAfter: showPalette,
  };
  return (
    <>
      <PageHead
        title={title}
        crumbs={[{ label: EDITOR.workflows, to: "/workflows" }]}
        note={state.subject.kind === "draft" ? EDITOR.draft : state.stored === undefined ? EDITOR.notSaved : <span className="mono">{state.id}</span>}
      >
        {state.subject.kind === "workflow" && (
          <Button disabledWhy={writing.why} onClick={() => setAsked({ what: "run" })}>
            {EDITOR.run}
          </Button>
        )}
        {!narrow && (
          <Button kind="primary" disabledWhy={writing.why ?? (unsaved || state.stored === undefined ? undefined : EDITOR.nothingChanged)} onClick={save}>
            {EDITOR.save}
          </Button>
        )}
      </PageHead>
      {copy !== undefined && (
        <div className="editor-local" role="status">
          <span className="grow">
            {EDITOR.localFound} <Ago at={copy.at} clock />
          </span>
          <Button
            onClick={() => {
              model.takeUp(copy);
              setCopy(undefined);
            }}
          >
            {EDITOR.takeUp}
          </Button>
          <Button
            onClick={() => {
              localCopies.remove(state.subject);
              setCopy(undefined);
            }}
          >
            {EDITOR.discard}
          </Button>
        </div>
      )}
      {narrow ? <EditorNarrow {...parts} /> : <EditorDesktop {...parts} />}
      {asked?.what === "save" && (
        <SaveDialog model={model} state={state} onClose={() => setAsked(undefined)} onSaved={saved} onConflict={() => setAsked({ what: "conflict" })} />
      )}
      {asked?.what === "conflict" && <ConflictDialog model={model} onClose={() => setAsked(undefined)} />}
      {asked?.what === "leave" && (
        <LeaveDialog model={model} onStay={() => setAsked(undefined)} onSave={() => setAsked({ what: "save" })} onLeave={() => leave(asked.to)} />
      )}
      {asked?.what === "connect" && node !== undefined && graph !== undefined && (
        <ConnectDialog
          node={node}
          graph={graph}
          onClose={() => setAsked(undefined)}
          onConnect={(port, to) => {
            model.connect(node.id, port, to);
            setAsked(undefined);
          }}
          {...(asked.port === undefined ? {} : { port: asked.port })}
        />
      )}
      {asked?.what === "run" && (
        <RunDialog id={state.id} name={nameOf({ id: state.id, kind: "", label: title })} stale={unsaved} onClose={() => setAsked(undefined)} />
      )}
    </>
  );
}
