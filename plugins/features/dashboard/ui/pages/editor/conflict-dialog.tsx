import { useEffect, useMemo, useState } from "react";
import type { ApiError } from "../../data/api-error.ts";
import { request } from "../../data/request.ts";
import { readGraph } from "../../graph/graph-types.ts";
import { Button } from "../../kit/button.tsx";
import { Dialog } from "../../kit/dialog.tsx";
import { Segmented } from "../../kit/tabs.tsx";
import { EDITOR } from "../../words/editor.ts";
import { type Change, changesOf } from "./changes.ts";
import type { EditorModel } from "./editor-model.ts";
import type { Source } from "./editor-types.ts";
import { type Choices, merge } from "./merge.ts";

/** Two have changed the same workflow: what each has changed, and a choice where both changed the same. Nothing is lost. */
export function ConflictDialog({ model, onClose }: { readonly model: EditorModel; onClose(): void }) {
  const { subject, stored } = model.state;
  const [theirs, setTheirs] = useState<Source>();
  const [gone, setGone] = useState(false);
  const [failed, setFailed] = useState<string>();
  const [choices, setChoices] = useState<Choices>(new Map());
  const path =
    subject.kind === "draft" ? `/api/workflows/drafts/${encodeURIComponent(subject.id)}/text` : `/api/workflows/${encodeURIComponent(subject.id)}/text`;
  useEffect(() => {
    request<Source>("GET", path).then(setTheirs, (error: ApiError) => (error.status === 404 ? setGone(true) : setFailed(error.message)));
  }, [path]);
  const base = stored?.definition ?? { nodes: [], edges: [] };
  const found = useMemo(() => (theirs === undefined ? undefined : readGraph(theirs.definition).definition), [theirs]);
  const both = useMemo(() => (found === undefined ? undefined : merge(base, found, model.definition, choices)), [found, choices, base, model]);
  if (gone)
    return (
      <Dialog
        title={EDITOR.goneTitle}
        open
        onClose={onClose}
        actions={
          <Button
            kind="primary"
            onClick={() => {
              model.unstore();
              onClose();
            }}
          >
            {EDITOR.goOn}
          </Button>
        }
      >
        <p>{EDITOR.goneText}</p>
      </Dialog>
    );
  const take = () => {
    if (theirs === undefined || both === undefined) return;
    model.rebase(theirs, both.merged);
    onClose();
  };
  const actions = (
    <>
      <Button onClick={onClose}>{EDITOR.stay}</Button>
      <Button kind="primary" disabledWhy={both === undefined ? (failed ?? EDITOR.checking) : undefined} onClick={take}>
        {EDITOR.keepBoth}
      </Button>
    </>
  );
  return (
    <Dialog title={EDITOR.conflictTitle} open wide onClose={onClose} actions={actions}>
      <p className="editor-conflict-note">{EDITOR.conflictIntro}</p>
      {failed !== undefined && <p role="alert">{failed}</p>}
      {found !== undefined && both !== undefined && (
        <>
          <div className="editor-conflict-sides">
            <Side title={EDITOR.theyChanged} changes={changesOf(base, found)} />
            <Side title={EDITOR.youChanged} changes={changesOf(base, model.definition)} />
          </div>
          {both.conflicts.map(({ key, base: was, theirs: his, yours: mine }) => (
            <section key={key} className="editor-conflict">
              <header>
                <h3>{EDITOR.bothChanged(key)}</h3>
                <Segmented
                  label={EDITOR.bothChanged(key)}
                  choices={[
                    { id: "yours", label: EDITOR.yours },
                    { id: "theirs", label: EDITOR.theirs },
                  ]}
                  selected={choices.get(key) ?? "yours"}
                  onSelect={(side) => setChoices(new Map(choices).set(key, side))}
                />
              </header>
              <dl>
                <Value name={EDITOR.yours} value={mine} />
                <Value name={EDITOR.theirs} value={his} />
                <Value name={EDITOR.base} value={was} />
              </dl>
            </section>
          ))}
        </>
      )}
    </Dialog>
  );
}

function Side({ title, changes }: { readonly title: string; readonly changes: readonly Change[] }) {
  return (
    <section>
      <h3>{title}</h3>
      <ul className="editor-changes">
        {changes.map((change) => (
          <li key={`${change.what} ${change.name} ${change.how}`}>{EDITOR.change(change)}</li>
        ))}
        {changes.length === 0 && <li className="meta">{EDITOR.nothingChanged}</li>}
      </ul>
    </section>
  );
}

function Value({ name, value }: { readonly name: string; readonly value: unknown }) {
  return (
    <>
      <dt>{name}</dt>
      <dd className="mono">{value === undefined ? EDITOR.notThere : typeof value === "string" ? value : JSON.stringify(value)}</dd>
    </>
  );
}
