import { useEffect, useMemo, useRef, useState } from "react";
import type { ApiError } from "../../data/api-error.ts";
import { useWriting } from "../../data/me.ts";
import { request } from "../../data/request.ts";
import { useResource } from "../../data/resource.ts";
import { Link } from "../../data/router.tsx";
import { FieldForm, initialValues } from "../../forms/field-form.tsx";
import { Button } from "../../kit/button.tsx";
import { useNow } from "../../kit/clock.ts";
import { Code } from "../../kit/code.tsx";
import { when } from "../../kit/figures.ts";
import { Icon } from "../../kit/icon.tsx";
import { useKeys } from "../../kit/keys.ts";
import { Menu } from "../../kit/menu.tsx";
import { toast } from "../../kit/toast.ts";
import { INBOX } from "../../words/inbox.ts";
import type { Executed } from "../processes/run-types.ts";
import type { Item } from "./inbox-items.ts";
import type { Question, UserTask } from "./inbox-types.ts";
import { endedText, graphWith, isOverdue, nobodyText } from "./item-words.ts";
import { useKeptForm } from "./kept-form.ts";
import { RequestHistory } from "./request-history.tsx";
import { choicesOf, type Transition, transitionsOf } from "./transitions.ts";

/** One request: what it asks, its material, the form, the answers by their names, what happened. */
export function RequestPane({ item, actor }: { readonly item: Item; readonly actor: string | undefined }) {
  const { task: listed, question: asked } = item;
  const ofTask = (data: Readonly<Record<string, unknown>> | undefined) => data?.["taskId"] === listed?.id;
  // Reload only its state; the filled-in form stays.
  const task =
    useResource<UserTask>(listed === undefined ? undefined : `/api/workflows/tasks/${listed.id}`, {
      refreshOn: ({ kind, data }) => kind === "task" && ofTask(data),
    }).data ?? listed;
  const alone = listed === undefined ? asked : undefined;
  const question =
    useResource<{ readonly approval: Question }>(alone === undefined ? undefined : `/api/approvals/${alone.id}`, {
      refreshOn: ({ kind, ref }) => kind === "approval" && ref === alone?.id,
    }).data?.approval ?? alone;
  const executed = useResource<Executed>(task === undefined ? undefined : `/api/workflows/runs/${task.runId}/definition`).data;
  const { buttons, fields } = useMemo(() => {
    if (task === undefined) return { buttons: question === undefined ? [] : choicesOf(question), fields: [] };
    const node = task.step.slice(0, task.step.lastIndexOf("/"));
    return transitionsOf(task, (executed === undefined ? undefined : graphWith(executed.definition, node))?.edges ?? []);
  }, [task, question, executed]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: what a form begins with does not change while it is filled in
  const initial = useMemo(() => initialValues(task?.form.fields ?? []), [task?.id]);
  const [form, change, forget] = useKeptForm(item.key, initial);
  const [errors, setErrors] = useState<readonly { readonly path: string; readonly message: string }[]>([]);
  const [busy, setBusy] = useState<string>();
  const [sent, setSent] = useState(false);
  // A request that was closed when it was opened was not overtaken.
  const [wasOpen] = useState(item.open);
  const { why } = useWriting();
  const first = useRef<HTMLButtonElement>(null);
  const pane = useRef<HTMLDivElement>(null);
  const now = useNow();
  const ended = endedText(task, question);
  const open = ended === undefined && (task?.state ?? question?.state) === "open";
  const live: Item = { ...item, open, ...(task === undefined ? {} : { task }), ...(question === undefined ? {} : { question }) };
  const typed = Object.values(form.values).some((value) => value !== undefined && value !== "") && JSON.stringify(form.values) !== JSON.stringify(initial);

  const answer = async (button: Transition) => {
    if (busy !== undefined || why !== undefined || !open) return;
    setBusy(button.id);
    setErrors([]);
    try {
      if (task !== undefined)
        await request("POST", `/api/workflows/tasks/${task.id}/submit`, {
          values: { ...form.values, ...button.values },
          ...(actor === undefined ? {} : { actor }),
          ...(button.transition === undefined ? {} : { transition: button.transition }),
        });
      else if (question !== undefined) await request("POST", `/api/approvals/${question.id}/${button.rejects ? "reject" : "approve"}`, { choice: button.id });
      setSent(true);
      forget();
      toast({ text: INBOX.sent(button.label) });
    } catch (error) {
      const { status, field, message } = error as ApiError;
      if (status === 400 && field !== undefined && fields.some(({ name }) => name === field)) {
        setErrors([{ path: field, message }]);
        requestAnimationFrame(() => pane.current?.querySelector<HTMLElement>(`[data-path="${CSS.escape(field)}"] :is(input,textarea,select,button)`)?.focus());
      } else if (status !== 409 && status !== 410) toast({ kind: "error", text: INBOX.notSent, cause: message });
      else if (ended === undefined) setErrors([{ path: "", message }]);
    }
    setBusy(undefined);
  };
  const later = async (hours: number) => {
    const id = item.question?.id;
    if (id === undefined) return;
    try {
      const { approval } = await request<{ approval: Question }>("POST", `/api/approvals/${id}/later`, { hours });
      toast({ text: INBOX.laterDone(when(approval.laterAt ?? Date.now())) });
    } catch (error) {
      toast({ kind: "error", text: INBOX.notSent, cause: (error as ApiError).message });
    }
  };
  const canLater = open && item.question !== undefined && item.question.state === "open" && item.question.taskId === undefined;
  useKeys(
    {
      a: { title: INBOX.keys.answer, run: () => (first.current === null ? false : first.current.focus()) },
      h: { title: INBOX.keys.later, run: () => (canLater ? pane.current?.querySelector<HTMLElement>("[data-later] button")?.click() : false) },
      "Ctrl-Enter": () => (buttons[0] !== undefined && open ? void answer(buttons[0]) : false),
    },
    { scope: INBOX.keys.scope },
  );
  // Another request begins at its top.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key is when
  useEffect(() => {
    pane.current?.parentElement?.scrollTo(0, 0);
  }, [item.key]);

  return (
    <div ref={pane} className="inbox-request" data-item={item.key} data-open={open}>
      <Origin item={live} />
      <h2 className="inbox-title" dir="auto">
        {item.title}
      </h2>
      {open && (
        <p className={isOverdue(live, now) ? "inbox-times inbox-late" : "inbox-times"}>
          {[
            INBOX.waitsSince(when(item.since)),
            item.dueAt !== undefined && (isOverdue(live, now) ? INBOX.overdueSince(when(item.dueAt)) : INBOX.dueAt(when(item.dueAt))),
            item.laterAt !== undefined && `${INBOX.later(when(item.laterAt)).replace(/^p/, "P")}.`,
            nobodyText(live, executed),
          ]
            .filter(Boolean)
            .join(" ")}
        </p>
      )}
      {ended !== undefined && (
        <p className={sent || !wasOpen ? "inbox-ended" : "inbox-ended inbox-too-late"} role="status">
          {ended} {!sent && typed && INBOX.kept}
        </p>
      )}
      {errors.some(({ path }) => path === "") && (
        <p className="inbox-ended inbox-too-late" role="alert">
          {errors.find(({ path }) => path === "")?.message} {typed && INBOX.kept}
        </p>
      )}
      <Material text={task?.detail ?? question?.detail} />
      {(open || (typed && !sent)) && fields.length > 0 && (
        <FieldForm
          label={INBOX.answer}
          fields={fields}
          values={form.values}
          onChange={(values) => change({ values })}
          errors={errors.filter(({ path }) => path !== "")}
        />
      )}
      {open && (
        <div className="inbox-answers">
          {buttons.map((button, at) => (
            <Button
              key={button.id}
              ref={at === 0 ? first : undefined}
              kind={button.rejects ? "danger" : at === 0 ? "primary" : undefined}
              busy={busy === button.id}
              disabledWhy={why}
              onClick={() => void answer(button)}
              data-answer={button.id}
            >
              <bdi>{button.label}</bdi>
              {at === 0 && <kbd>a</kbd>}
            </Button>
          ))}
          <span className="grow" />
          {canLater && (
            <span data-later>
              <Menu
                trigger={
                  <>
                    {INBOX.laterButton} <kbd>h</kbd>
                  </>
                }
                items={[1, 4, 24, 72].map((hours) => ({
                  id: String(hours),
                  label: INBOX.laterIn[String(hours)],
                  disabledWhy: why,
                  onSelect: () => void later(hours),
                }))}
              />
            </span>
          )}
        </div>
      )}
      {!open && task?.values !== undefined && Object.keys(task.values).length > 0 && <Code json={task.values} label={INBOX.answers} />}
      <RequestHistory task={task} question={question} comment={form.comment} onComment={(comment) => change({ comment })} writable={open} why={why} />
    </div>
  );
}

function Origin({ item: { kind, task, question } }: { readonly item: Item }) {
  return (
    <p className="inbox-origin">
      <span className="inbox-kind">{INBOX.kinds[kind]}</span>
      {task !== undefined && (
        <>
          <Link to={`/processes?run=${encodeURIComponent(task.runId)}&step=${encodeURIComponent(task.step)}`}>
            <bdi>{task.workflowId}</bdi> · <span className="mono">{task.runId}</span>
          </Link>
          <bdi>{INBOX.for(task.assignee)}</bdi>
        </>
      )}
      {task === undefined && question !== undefined && (
        <>
          <bdi>{INBOX.by(question.requestedBy)}</bdi>
          {question.taskId !== undefined && <Link to={`/tasks/${encodeURIComponent(question.taskId)}`}>{INBOX.task}</Link>}
        </>
      )}
    </p>
  );
}

/** Material for the decision: plain text without markup; addresses are not links. */
function Material({ text }: { readonly text: string | undefined }) {
  if (text === undefined || text === "")
    return (
      <p className="meta inbox-bare">
        <Icon name="chat" size={14} /> {INBOX.noMaterial}
      </p>
    );
  return (
    <div className="inbox-material" dir="auto" tabIndex={0} role="region" aria-label={INBOX.material}>
      {text}
    </div>
  );
}
