import { useState } from "react";
import type { ApiError } from "../../data/api-error.ts";
import { useResource } from "../../data/resource.ts";
import { Button } from "../../kit/button.tsx";
import { Combobox } from "../../kit/combobox.tsx";
import { Dialog } from "../../kit/dialog.tsx";
import { Field } from "../../kit/field.tsx";
import { WORKFLOWS } from "../../words/workflows.ts";
import { draftOfTask } from "./task-draft.ts";

interface Task {
  readonly id: string;
  readonly text: string;
  readonly agent: string;
}

/** Asks which task a new draft is made of: one of the newest that have ended well, or any by its id. */
export function TaskDraftDialog({ onClose }: { onClose(): void }) {
  const { data } = useResource<{ readonly tasks: readonly Task[] }>("/api/tasks?state=ok");
  const [task, setTask] = useState<string>();
  const [busy, setBusy] = useState(false);
  const [failed, setFailed] = useState<string>();
  const make = async () => {
    if (busy || task === undefined) return;
    setBusy(true);
    setFailed(undefined);
    try {
      await draftOfTask(task.trim());
    } catch (error) {
      setFailed((error as ApiError).message);
      setBusy(false);
    }
  };
  return (
    <Dialog
      title={WORKFLOWS.fromTaskTitle}
      open
      onClose={onClose}
      actions={
        <Button kind="primary" busy={busy} disabledWhy={task === undefined ? WORKFLOWS.whichTask : undefined} onClick={() => void make()}>
          {WORKFLOWS.makeDraft}
        </Button>
      }
    >
      <p className="workflows-note">{WORKFLOWS.fromTaskText}</p>
      <Field label={WORKFLOWS.task} hint={WORKFLOWS.taskHint} error={failed}>
        {(control) => (
          <Combobox
            control={control}
            label={WORKFLOWS.task}
            free
            options={(data?.tasks ?? []).map(({ id, text, agent }) => ({ id, label: text === "" ? id : text, note: agent }))}
            value={task}
            onChange={setTask}
          />
        )}
      </Field>
    </Dialog>
  );
}
