import type { Schema } from "@svc/sdk";
import { useState } from "react";
import type { ApiError } from "../../data/api-error.ts";
import { useWriting } from "../../data/me.ts";
import { request } from "../../data/request.ts";
import { reloadResource, useResource } from "../../data/resource.ts";
import { navigate } from "../../data/router.tsx";
import { SchemaForm } from "../../forms/schema-form.tsx";
import { Button } from "../../kit/button.tsx";
import { Dialog } from "../../kit/dialog.tsx";
import { useKeys } from "../../kit/keys.ts";
import { StateView } from "../../kit/state-view.tsx";
import { toast } from "../../kit/toast.ts";
import { WORKFLOWS } from "../../words/workflows.ts";
import { type InputFields, inputForm } from "./input-form.ts";

/** Starts a run with what its fields ask for. */
export function RunDialog({ id, name, stale = false, onClose }: { readonly id: string; readonly name: string; readonly stale?: boolean; onClose(): void }) {
  const found = useResource<{ readonly definition: { readonly nodes?: readonly { readonly kind: string; readonly inputSchema?: InputFields }[] } }>(
    `/api/workflows/${encodeURIComponent(id)}`,
  );
  const writing = useWriting();
  const [values, setValues] = useState<unknown>({});
  const [busy, setBusy] = useState(false);
  const [failed, setFailed] = useState<ApiError>();
  const schema: Schema = inputForm(found.data?.definition.nodes?.find(({ kind }) => kind === "trigger")?.inputSchema ?? {});
  // Do not run before the fields were shown.
  const blocked = writing.why ?? (found.data !== undefined ? undefined : found.loading ? WORKFLOWS.stillReading : WORKFLOWS.notRead);
  const run = async () => {
    if (busy || blocked !== undefined) return;
    setBusy(true);
    setFailed(undefined);
    try {
      const { runId } = await request<{ runId: string }>("POST", `/workflows/${encodeURIComponent(id)}/run`, { payload: values });
      reloadResource("/api/workflows", { prefix: true });
      toast({ text: WORKFLOWS.started(runId), action: { label: WORKFLOWS.open, run: () => navigate(`/processes?run=${encodeURIComponent(runId)}`) } });
      onClose();
    } catch (error) {
      setFailed(error as ApiError);
    } finally {
      setBusy(false);
    }
  };
  useKeys({ "Ctrl-Enter": () => void run() }, { scope: "dialog" });
  const errors = failed?.field === undefined || failed.field === "payload" ? [] : [{ path: failed.field, message: failed.message }];
  return (
    <Dialog
      title={WORKFLOWS.runTitle(name)}
      open
      onClose={onClose}
      actions={
        <Button kind="primary" busy={busy} disabledWhy={blocked} onClick={() => void run()}>
          {WORKFLOWS.runAction}
        </Button>
      }
    >
      <StateView
        loading={found.loading && found.data === undefined}
        slow={found.slow}
        error={found.error}
        what={name}
        onRetry={found.reload}
        onCancel={found.cancel}
        rows={2}
      >
        {stale && <p className="workflows-note">{WORKFLOWS.runStale}</p>}
        {failed !== undefined && errors.length === 0 && (
          <p className="workflows-wrong" role="alert">
            {failed.message}
          </p>
        )}
        {Object.keys(schema.properties ?? {}).length === 0 ? (
          <p className="meta">{WORKFLOWS.noInput}</p>
        ) : (
          <SchemaForm schema={schema} value={values} onChange={setValues} errors={errors} label={WORKFLOWS.runTitle(name)} compact />
        )}
      </StateView>
    </Dialog>
  );
}
