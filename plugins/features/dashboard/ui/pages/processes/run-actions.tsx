import { useState } from "react";
import type { ApiError } from "../../data/api-error.ts";
import { useWriting } from "../../data/me.ts";
import { request } from "../../data/request.ts";
import { reloadResource } from "../../data/resource.ts";
import { navigate } from "../../data/router.tsx";
import { Button } from "../../kit/button.tsx";
import { useCommand } from "../../kit/commands.ts";
import { ConfirmDialog } from "../../kit/dialog.tsx";
import { Field, TextInput } from "../../kit/field.tsx";
import { useKeys } from "../../kit/keys.ts";
import { Segmented } from "../../kit/tabs.tsx";
import { toast } from "../../kit/toast.ts";
import { nth, PROCESSES } from "../../words/processes.ts";
import type { Executed, RunDetail } from "./run-types.ts";
import { shortHash } from "./run-words.ts";
import type { TimelineRow } from "./timeline-rows.ts";

type Change = "pause" | "resume" | "cancel";

/** Actions on a run: restart it where it failed, pause, resume, cancel. */
export function RunActions({
  run,
  row,
  executed,
}: {
  readonly run: RunDetail;
  readonly row: TimelineRow | undefined;
  readonly executed: Executed | undefined;
}) {
  const { why } = useWriting();
  const [asks, setAsks] = useState<"cancel" | "restart">();
  const [busy, setBusy] = useState<string>();
  const [reason, setReason] = useState("");
  const [version, setVersion] = useState<"pinned" | "current">("pinned");
  const live = run.status === "running" || run.status === "paused";
  const step = row?.step;
  const newer = executed?.current !== undefined && executed.current !== run.hash;

  const work = async (what: string, path: string, body: object, done: (answer: { readonly runId?: string }) => void) => {
    if (busy !== undefined) return;
    setBusy(what);
    try {
      done(await request("POST", `/api/workflows/runs/${run.id}/${path}`, body));
      setAsks(undefined);
    } catch (error) {
      toast({ kind: "error", text: PROCESSES.notDone, cause: (error as ApiError).message });
    }
    setBusy(undefined);
    reloadResource(`/api/workflows/runs/${run.id}?brief=1`);
  };
  const change = (action: Change, why?: string) =>
    work(action, "status", { action, ...(why === undefined || why === "" ? {} : { reason: why }) }, () => {
      if (action === "pause") toast({ text: PROCESSES.paused, action: { label: PROCESSES.resume, run: () => void change("resume") } });
      else toast({ text: action === "resume" ? PROCESSES.resumed : PROCESSES.cancelled });
    });
  const restart = () =>
    work("restart", "restart", { ...(step === undefined ? {} : { step: step.id }), ...(newer ? { definition: version } : {}) }, ({ runId }) => {
      toast({ text: PROCESSES.restarted });
      if (runId !== undefined) navigate(`/processes?run=${encodeURIComponent(runId)}`);
    });
  const canRestart = !live && step !== undefined;
  const ask = () => (canRestart && why === undefined ? setAsks("restart") : false);
  useKeys({ r: { title: PROCESSES.keys.restart, run: ask } }, { scope: PROCESSES.keys.scope, active: canRestart });
  useCommand({ id: "processes.restart", title: `${PROCESSES.restartHere}...`, key: "r", run: () => void ask() });

  return (
    <>
      {live && (
        <Button busy={busy === "cancel"} disabledWhy={why} onClick={() => setAsks("cancel")}>
          {`${PROCESSES.cancelRun}...`}
        </Button>
      )}
      {run.status === "running" && (
        <Button kind="primary" icon="pause" busy={busy === "pause"} disabledWhy={why} onClick={() => change("pause")}>
          {PROCESSES.pause}
        </Button>
      )}
      {run.status === "paused" && (
        <Button kind="primary" icon="play" busy={busy === "resume"} disabledWhy={why} onClick={() => change("resume")}>
          {PROCESSES.resume}
        </Button>
      )}
      {canRestart && (
        <Button kind={run.status === "failed" ? "primary" : undefined} icon="refresh" disabledWhy={why} onClick={() => setAsks("restart")}>
          {`${PROCESSES.restartHere}...`}
        </Button>
      )}
      <ConfirmDialog
        title={PROCESSES.cancelTitle}
        action={PROCESSES.cancelRun}
        danger
        busy={busy === "cancel"}
        open={asks === "cancel"}
        onClose={() => setAsks(undefined)}
        onConfirm={() => void change("cancel", reason)}
      >
        <p>{PROCESSES.cancelText}</p>
        <Field label={PROCESSES.cancelReason}>
          {(control) => <TextInput {...control} maxLength={1000} value={reason} onChange={(event) => setReason(event.target.value)} />}
        </Field>
      </ConfirmDialog>
      <ConfirmDialog
        title={PROCESSES.restartTitle(row?.label ?? "")}
        action={PROCESSES.restart}
        busy={busy === "restart"}
        open={asks === "restart"}
        onClose={() => setAsks(undefined)}
        onConfirm={() => void restart()}
      >
        <p>{PROCESSES.restartText(row?.label ?? "", nth((step?.attempt ?? 0) + 1))}</p>
        <p>{PROCESSES.restartNew}</p>
        {newer && (
          <Segmented<"pinned" | "current">
            label={PROCESSES.restartVersion}
            selected={version}
            onSelect={setVersion}
            choices={[
              { id: "pinned", label: PROCESSES.restartPinned(shortHash(run.hash)) },
              { id: "current", label: PROCESSES.restartCurrent(shortHash(executed?.current ?? "")) },
            ]}
          />
        )}
      </ConfirmDialog>
    </>
  );
}
