import { useState } from "react";
import type { ApiError } from "../../data/api-error.ts";
import { request } from "../../data/request.ts";
import { reloadResource } from "../../data/resource.ts";
import { navigate } from "../../data/router.tsx";
import { Button } from "../../kit/button.tsx";
import { Dialog } from "../../kit/dialog.tsx";
import { Field, TextInput } from "../../kit/field.tsx";
import { toast } from "../../kit/toast.ts";
import { WORKFLOWS } from "../../words/workflows.ts";
import { type Head, titleOf } from "./workflow-types.ts";

/** Operations on a draft. */
export type DraftAct = "replay" | "promote" | "reject";

interface Fold {
  readonly same: boolean;
}

/** Asks for the inputs of an operation, and executes it. */
export function DraftDialog({ act, draft, onClose }: { readonly act: DraftAct; readonly draft: Head; onClose(): void }) {
  const sources = Array.isArray(draft.sourceTaskIds) ? draft.sourceTaskIds : [];
  const [text, setText] = useState(act === "promote" ? draft.id : act === "replay" ? String(sources[0] ?? "") : "");
  const [busy, setBusy] = useState(false);
  const [failed, setFailed] = useState<string>();
  const words = {
    replay: {
      title: WORKFLOWS.replayTitle,
      text: WORKFLOWS.replayText,
      label: WORKFLOWS.replayOf,
      hint: WORKFLOWS.replayHint,
      action: WORKFLOWS.replayAction,
      key: "taskId",
    },
    promote: {
      title: WORKFLOWS.promoteTitle,
      text: WORKFLOWS.promoteText,
      label: WORKFLOWS.promoteAs,
      hint: undefined,
      action: WORKFLOWS.promoteAction,
      key: "id",
    },
    reject: {
      title: WORKFLOWS.rejectTitle,
      text: WORKFLOWS.rejectText,
      label: WORKFLOWS.rejectReason,
      hint: undefined,
      action: WORKFLOWS.rejectAction,
      key: "reason",
    },
  }[act];
  const work = async () => {
    if (busy) return;
    setBusy(true);
    setFailed(undefined);
    try {
      const body = text.trim() === "" ? {} : { [words.key]: text.trim() };
      const answer = await request<{ runId?: string; name?: string; id?: string; folds?: readonly Fold[] }>(
        "POST",
        `/api/workflows/drafts/${encodeURIComponent(draft.id)}/${act}`,
        body,
      );
      reloadResource("/api/workflows", { prefix: true });
      say(act, draft, answer);
      onClose();
    } catch (error) {
      setFailed((error as ApiError).message);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog
      title={words.title(titleOf(draft))}
      open
      onClose={onClose}
      actions={
        <Button kind={act === "reject" ? "danger" : "primary"} busy={busy} onClick={() => void work()}>
          {words.action}
        </Button>
      }
    >
      <p className="workflows-note">{words.text}</p>
      <Field label={words.label} hint={words.hint} error={failed}>
        {(control) => (
          <TextInput {...control} className={act === "reject" ? undefined : "mono"} dir="auto" value={text} onChange={(event) => setText(event.target.value)} />
        )}
      </Field>
    </Dialog>
  );
}

function say(
  act: DraftAct,
  { id }: Head,
  { runId, name, id: promoted, folds = [] }: { runId?: string; name?: string; id?: string; folds?: readonly Fold[] },
): void {
  if (act === "replay" && runId !== undefined)
    toast({ text: WORKFLOWS.replayed(name ?? runId), action: { label: WORKFLOWS.open, run: () => navigate(`/processes?run=${encodeURIComponent(runId)}`) } });
  else if (act === "promote" && promoted !== undefined)
    toast({
      text: WORKFLOWS.promoted(promoted),
      cause: folds.length === 0 ? WORKFLOWS.noFolds : WORKFLOWS.folds(folds.filter(({ same }) => same).length, folds.length),
      action: { label: WORKFLOWS.open, run: () => navigate(`/workflows/editor?id=${encodeURIComponent(promoted)}`) },
    });
  else toast({ text: WORKFLOWS.rejected(id) });
}
