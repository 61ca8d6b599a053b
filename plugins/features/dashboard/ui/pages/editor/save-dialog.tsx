import { useEffect, useState } from "react";
import type { ApiError } from "../../data/api-error.ts";
import { request } from "../../data/request.ts";
import { Button } from "../../kit/button.tsx";
import { Dialog } from "../../kit/dialog.tsx";
import { Difference } from "../../kit/difference.tsx";
import { Field, TextInput } from "../../kit/field.tsx";
import { Icon } from "../../kit/icon.tsx";
import { useKeys } from "../../kit/keys.ts";
import { toast } from "../../kit/toast.ts";
import { EDITOR } from "../../words/editor.ts";
import type { EditorModel } from "./editor-model.ts";
import type { EditorState } from "./editor-state.ts";
import type { Checked, Subject } from "./editor-types.ts";
import { WORKFLOW_ID } from "./workflow-pane.tsx";

/** Preview of a save: the check, the changes as sentences, the text's difference, and the runs that keep the previous version. */
export function SaveDialog({
  model,
  state,
  onClose,
  onSaved,
  onConflict,
}: {
  readonly model: EditorModel;
  readonly state: EditorState;
  onClose(): void;
  onSaved(): void;
  /** Somebody else has written meanwhile. */
  onConflict(): void;
}) {
  const [before, setBefore] = useState<string>();
  const [runs, setRuns] = useState(0);
  const [busy, setBusy] = useState(false);
  const [failed, setFailed] = useState<string>();
  const { stored, subject, id, checkFailed } = state;
  // Check of the present state: a new id is checked once more.
  const checked = state.stale ? undefined : state.checked;
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is saved is what was there when the dialog opened
  useEffect(() => {
    if (state.stale) void model.check();
    if (stored === undefined) setBefore("");
    else if (stored.format === "yaml") setBefore(stored.text);
    else
      request<Checked>("POST", "/api/workflows/check", { id: subject.id, definition: stored.definition }).then(
        ({ text }) => setBefore(text),
        () => setBefore(""),
      );
    if (subject.kind === "workflow")
      request<{ runs: readonly unknown[]; next?: string }>(
        "GET",
        `/api/workflows/runs?summary=1&status=running&limit=50&workflow=${encodeURIComponent(subject.id)}`,
      ).then(
        ({ runs: found }) => setRuns(found.length),
        () => setRuns(0),
      );
  }, []);
  const errors = checked?.problems.filter(({ severity }) => severity === "error").length ?? 0;
  const changes = model.changes();
  const isDraft = subject.kind === "draft";
  const idWrong = stored === undefined && !WORKFLOW_ID.test(id) ? EDITOR.workflowIdForm : undefined;
  const save = async (as?: Subject) => {
    if (checked === undefined || busy) return;
    setBusy(true);
    setFailed(undefined);
    try {
      await model.save(checked, as);
      toast({ text: as?.kind === "draft" || isDraft ? EDITOR.draftSaved(`_drafts/${as?.id ?? id}.yaml`) : EDITOR.savedAs(id) });
      onSaved();
    } catch (error) {
      const { status, message } = error as ApiError;
      if ((status === 409 || status === 412) && as === undefined && stored !== undefined) onConflict();
      else setFailed(status === 412 ? EDITOR.idInUse(as?.id ?? id) : message);
    } finally {
      setBusy(false);
    }
  };
  const blocked =
    checked === undefined
      ? checkFailed === undefined
        ? EDITOR.checking
        : EDITOR.notChecked(checkFailed)
      : errors > 0 && !isDraft
        ? EDITOR.errorsKeep(errors)
        : idWrong;
  useKeys({ "Ctrl-Enter": () => (blocked === undefined ? void save() : undefined) }, { scope: "dialog" });
  const actions = (
    <>
      <Button onClick={onClose}>{EDITOR.goOn}</Button>
      {errors > 0 && !isDraft && (
        <Button busy={busy} disabledWhy={idWrong} onClick={() => void save({ kind: "draft", id })}>
          {EDITOR.saveAsDraft}
        </Button>
      )}
      <Button kind="primary" busy={busy} disabledWhy={blocked} onClick={() => void save()}>
        {EDITOR.saveAction}
      </Button>
    </>
  );
  return (
    <Dialog title={EDITOR.saveTitle(id === "" ? EDITOR.newWorkflow : id)} open wide onClose={onClose} actions={actions}>
      {stored === undefined && (
        <Field label={EDITOR.workflowId} hint={EDITOR.workflowIdHint} error={idWrong}>
          {(control) => (
            <TextInput
              {...control}
              className="mono"
              data-first-focus=""
              value={id}
              onFocus={(event) => event.target.select()}
              onChange={(event) => model.setId(event.target.value)}
            />
          )}
        </Field>
      )}
      {failed !== undefined && (
        <p className="editor-dialog-wrong" role="alert">
          <Icon name="warn" />
          <span>
            {EDITOR.couldNotSave}: {failed}
          </span>
        </p>
      )}
      {errors > 0 && !isDraft && (
        <p className="editor-dialog-wrong">
          <Icon name="warn" />
          <span>{EDITOR.errorsKeep(errors)}</span>
        </p>
      )}
      {stored !== undefined && (
        <ul className="editor-changes">
          {changes.map((change) => (
            <li key={`${change.what} ${change.name} ${change.how}`}>{EDITOR.change(change)}</li>
          ))}
          {changes.length === 0 && before === checked?.text && <li>{EDITOR.nothingChanged}</li>}
        </ul>
      )}
      {runs > 0 && stored !== undefined && <p className="meta">{EDITOR.runsKeep(runs, stored.hash.slice(0, 6))}</p>}
      {before !== undefined && checked !== undefined && <Difference before={before} after={checked.text} label={EDITOR.difference} />}
    </Dialog>
  );
}
