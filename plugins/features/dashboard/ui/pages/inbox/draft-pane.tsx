import { useState } from "react";
import type { ApiError } from "../../data/api-error.ts";
import { useWriting } from "../../data/me.ts";
import { request } from "../../data/request.ts";
import { reloadResource, useResource } from "../../data/resource.ts";
import { Link } from "../../data/router.tsx";
import { Button } from "../../kit/button.tsx";
import { Code } from "../../kit/code.tsx";
import { ConfirmDialog } from "../../kit/dialog.tsx";
import { Field, TextInput } from "../../kit/field.tsx";
import { when } from "../../kit/figures.ts";
import { StateView } from "../../kit/state-view.tsx";
import { toast } from "../../kit/toast.ts";
import { INBOX } from "../../words/inbox.ts";
import { DraftDialog } from "../workflows/draft-dialog.tsx";
import type { Draft } from "./inbox-types.ts";
import { DRAFTS_PATH } from "./use-inbox.ts";

/** A draft that waits for a decision: what it says, what the check finds, promote or reject. */
export function DraftPane({ draft }: { readonly draft: Draft }) {
  const { id, name, confidence } = draft.definition;
  const path = `/api/workflows/drafts/${encodeURIComponent(id)}`;
  const detail = useResource<{ readonly text: string; readonly problems: Draft["problems"] }>(path);
  const { why } = useWriting();
  const [busy, setBusy] = useState<"promote" | "reject">();
  const [asks, setAsks] = useState(false);
  const [replays, setReplays] = useState(false);
  const [reason, setReason] = useState("");
  const [done, setDone] = useState<string>();
  const work = async (what: "promote" | "reject", body: object, text: string) => {
    setBusy(what);
    try {
      await request("POST", `${path}/${what}`, body);
      setDone(text);
      setAsks(false);
      toast({ text });
      reloadResource(DRAFTS_PATH);
    } catch (error) {
      toast({ kind: "error", text: INBOX.notSent, cause: (error as ApiError).message });
    }
    setBusy(undefined);
  };
  const problems = detail.data?.problems ?? draft.problems;
  return (
    <div className="inbox-request" data-item={`draft:${id}`} data-open={done === undefined}>
      <p className="inbox-origin">
        <span className="inbox-kind">{INBOX.kinds.draft}</span>
        <span className="mono">{draft.file}</span>
        <Link to="/workflows">{INBOX.workflows}</Link>
      </p>
      <h2 className="inbox-title" dir="auto">
        {name ?? id}
      </h2>
      <p className="inbox-times">
        {INBOX.waitsSince(when(draft.updatedAt))} {confidence !== undefined && INBOX.confidence(confidence)}
      </p>
      {done !== undefined && (
        <p className="inbox-ended" role="status">
          {done}
        </p>
      )}
      {problems.length > 0 && (
        <ul className="inbox-findings" aria-label={INBOX.problems(problems.length)}>
          {problems.map(({ message, severity }) => (
            <li key={message} className={severity === "error" ? "inbox-late" : undefined}>
              {severity}: {message}
            </li>
          ))}
        </ul>
      )}
      {done === undefined && (
        <StateView
          what={INBOX.draftText}
          loading={detail.loading && detail.data === undefined}
          error={detail.data === undefined ? detail.error : undefined}
          onRetry={detail.reload}
          onCancel={detail.cancel}
        >
          <Code text={detail.data?.text ?? ""} label={INBOX.draftText} lines={400} />
        </StateView>
      )}
      {done === undefined && (
        <div className="inbox-answers">
          <Button kind="primary" busy={busy === "promote"} disabledWhy={why} onClick={() => void work("promote", {}, INBOX.promoted(id))}>
            {INBOX.promote}
          </Button>
          <Button disabledWhy={why ?? (problems.some(({ severity }) => severity === "error") ? INBOX.replayWrong : undefined)} onClick={() => setReplays(true)}>
            {INBOX.replay}
          </Button>
          <Button kind="danger" busy={busy === "reject"} disabledWhy={why} onClick={() => setAsks(true)}>
            {INBOX.reject}
          </Button>
        </div>
      )}
      {replays && <DraftDialog act="replay" draft={draft.definition} onClose={() => setReplays(false)} />}
      <ConfirmDialog
        title={INBOX.rejectTitle(id)}
        action={INBOX.reject}
        danger
        busy={busy === "reject"}
        open={asks}
        onClose={() => setAsks(false)}
        onConfirm={() => void work("reject", reason === "" ? {} : { reason }, INBOX.rejected(id))}
      >
        <p>{INBOX.rejectText}</p>
        <Field label={INBOX.rejectWhy}>
          {(control) => <TextInput {...control} maxLength={1000} value={reason} onChange={(event) => setReason(event.target.value)} />}
        </Field>
      </ConfirmDialog>
    </div>
  );
}
