import { useState } from "react";
import type { ApiError } from "../../data/api-error.ts";
import { request } from "../../data/request.ts";
import { reloadResource } from "../../data/resource.ts";
import { Button } from "../../kit/button.tsx";
import { Field } from "../../kit/field.tsx";
import { when } from "../../kit/figures.ts";
import { toast } from "../../kit/toast.ts";
import { INBOX } from "../../words/inbox.ts";
import type { Question, UserTask } from "./inbox-types.ts";
import { endedText } from "./item-words.ts";

/** History of a request, and a comment field if it takes comments. */
export function RequestHistory({
  task,
  question,
  comment,
  onComment,
  writable,
  why,
}: {
  readonly task: UserTask | undefined;
  readonly question: Question | undefined;
  readonly comment: string;
  onComment(text: string): void;
  readonly writable: boolean;
  readonly why: string | undefined;
}) {
  const [busy, setBusy] = useState(false);
  const send = async () => {
    if (task === undefined || comment.trim() === "") return;
    setBusy(true);
    try {
      await request("POST", `/api/workflows/tasks/${task.id}/comment`, { text: comment });
      onComment("");
      toast({ text: INBOX.commented });
      reloadResource(`/api/workflows/tasks/${task.id}`);
    } catch (error) {
      toast({ kind: "error", text: INBOX.notSent, cause: (error as ApiError).message });
    }
    setBusy(false);
  };
  const lines =
    task !== undefined
      ? task.history.map(({ at, by, type, text }, index) => ({ key: `${index}`, at, by: by?.replace(/^token:/, ""), what: INBOX.events[type] ?? type, text }))
      : question === undefined
        ? []
        : [
            { key: "asked", at: question.askedAt, by: undefined, what: INBOX.asked(question.requestedBy), text: undefined },
            ...(question.decision === undefined
              ? []
              : [{ key: "ended", at: question.decision.at, by: undefined, what: endedText(undefined, question) ?? "", text: question.decision.reason }]),
          ];
  return (
    <section className="inbox-history" aria-label={INBOX.history}>
      <h3>{INBOX.history}</h3>
      <ol>
        {lines.map(({ key, at, by, what, text }) => (
          <li key={key} className="meta">
            <time dateTime={new Date(at).toISOString()}>{when(at)}</time>{" "}
            <bdi>
              {by} {what} {text !== undefined && text !== "" && `“${text}”`}
            </bdi>
          </li>
        ))}
      </ol>
      {task !== undefined && writable && (
        <form
          className="inbox-comment"
          onSubmit={(event) => {
            event.preventDefault();
            void send();
          }}
        >
          <Field label={INBOX.comment} hint={INBOX.commentHint}>
            {(control) => (
              <textarea
                {...control}
                className="kit-input"
                rows={2}
                maxLength={4000}
                dir="auto"
                value={comment}
                onChange={(event) => onComment(event.target.value)}
              />
            )}
          </Field>
          <Button submit busy={busy} disabledWhy={why}>
            {INBOX.addComment}
          </Button>
        </form>
      )}
    </section>
  );
}
