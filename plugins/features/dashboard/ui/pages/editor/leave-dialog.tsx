import { Button } from "../../kit/button.tsx";
import { Dialog } from "../../kit/dialog.tsx";
import { toast } from "../../kit/toast.ts";
import { EDITOR } from "../../words/editor.ts";
import type { EditorModel } from "./editor-model.ts";

/** Asks what becomes of unsaved changes before the page is left. */
export function LeaveDialog({ model, onStay, onSave, onLeave }: { readonly model: EditorModel; onStay(): void; onSave(): void; onLeave(): void }) {
  const count = model.changes().length;
  const keep = () => {
    if (model.keepLocally()) onLeave();
    else toast({ text: EDITOR.notKept, kind: "error" });
  };
  const actions = (
    <>
      <Button kind="danger" onClick={onLeave}>
        {EDITOR.discard}
      </Button>
      <Button onClick={keep}>{EDITOR.keepLocal}</Button>
      <Button kind="primary" onClick={onSave}>
        {EDITOR.save}
      </Button>
    </>
  );
  return (
    <Dialog title={EDITOR.leaveTitle} open onClose={onStay} actions={actions}>
      <p>{count === 0 ? EDITOR.leaveTyped : EDITOR.leaveText(count)}</p>
    </Dialog>
  );
}
