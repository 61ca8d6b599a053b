import { useState } from "react";
import type { ApiError } from "../../data/api-error.ts";
import { useWriting } from "../../data/me.ts";
import { request } from "../../data/request.ts";
import { navigate } from "../../data/router.tsx";
import { Button } from "../../kit/button.tsx";
import { Combobox } from "../../kit/combobox.tsx";
import { Dialog } from "../../kit/dialog.tsx";
import { Field, TextInput } from "../../kit/field.tsx";
import { Icon } from "../../kit/icon.tsx";
import { KIT } from "../../words/kit.ts";
import { TASKS } from "../../words/tasks.ts";
import type { TaskView } from "./task-types.ts";

/** Runs the message once more, as it was or changed; says before that effects happen again. */
export function ReplayDialog({
  view,
  agents,
  open,
  onClose,
}: {
  readonly view: TaskView;
  readonly agents: readonly { readonly id: string; readonly name: string }[];
  readonly open: boolean;
  onClose(): void;
}) {
  const { trace } = view;
  const original = trace.message ?? trace.messagePreview ?? "";
  const [message, setMessage] = useState(original);
  const [agent, setAgent] = useState(trace.agent);
  const [strategy, setStrategy] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError>();
  const writing = useWriting();
  const replay = async () => {
    setBusy(true);
    setError(undefined);
    try {
      const change = {
        ...(message === original && trace.message !== undefined ? {} : { message }),
        ...(agent === trace.agent ? {} : { agent }),
        ...(strategy === "" ? {} : { strategy }),
      };
      const { taskId } = await request<{ taskId: string }>("POST", `/api/tasks/${trace.id}/replay`, change);
      onClose();
      navigate(`/tasks/${taskId}?of=${trace.id}`);
    } catch (failure) {
      setError(failure as ApiError);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog
      title={TASKS.replayTitle}
      open={open}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{KIT.cancel}</Button>
          <Button kind="primary" busy={busy} disabledWhy={writing.why} onClick={replay}>
            {TASKS.replay}
          </Button>
        </>
      }
    >
      <div className="task-replay">
        <p className="task-replay-warn">
          <Icon name="warn" /> <strong>{TASKS.effects}</strong>
        </p>
        <Field label={TASKS.replayMessage}>
          {(control) => (
            <textarea {...control} className="kit-input" rows={5} dir="auto" value={message} onChange={(event) => setMessage(event.target.value)} />
          )}
        </Field>
        <Field label={TASKS.replayAgent} {...(error?.code === "SVC_DASHBOARD_AGENT_UNKNOWN" ? { error: error.message } : {})}>
          {(control) => (
            <Combobox
              control={control}
              label={TASKS.replayAgent}
              options={agents.map(({ id, name }) => ({ id, label: name, note: id }))}
              value={agent}
              onChange={(id) => setAgent(id ?? trace.agent)}
            />
          )}
        </Field>
        <Field label={TASKS.replayStrategy} hint={TASKS.strategyHint}>
          {(control) => <TextInput {...control} value={strategy} onChange={(event) => setStrategy(event.target.value)} />}
        </Field>
        <p className="meta">{TASKS.replayOpens}</p>
        {error !== undefined && error.code !== "SVC_DASHBOARD_AGENT_UNKNOWN" && (
          <p className="task-failed" role="alert">
            {TASKS.notReplayed} {error.message}
          </p>
        )}
      </div>
    </Dialog>
  );
}
