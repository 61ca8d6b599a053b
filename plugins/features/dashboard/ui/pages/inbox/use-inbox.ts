import type { Envelope } from "@svc/sdk";
import { useMemo, useRef } from "react";
import type { ApiError } from "../../data/api-error.ts";
import { useMe } from "../../data/me.ts";
import { endedOf, type Item, itemsOf, keepPlaces } from "./inbox-items.ts";
import type { Draft, Question, UserTask } from "./inbox-types.ts";
import { type Pages, usePages } from "./use-pages.ts";

/** Filter of requests. */
export type View = "me" | "all" | "done";

/** The requests of a view. */
export interface InboxList {
  readonly items: readonly Item[];
  readonly open: number;
  readonly loading: boolean;
  readonly slow: boolean;
  /** There are more than are listed. */
  readonly more: boolean;
  /** Reads on, where there are more. */
  next(): void;
  /** Of what could not be read, where nothing else is there to show. */
  readonly error?: ApiError;
  reload(): void;
  /** Stops the first reading. */
  cancel(): void;
}

const LISTED = 200;
const isTask = ({ kind, type }: Envelope) => kind === "task" && type !== "queued";
const isAsked = ({ kind }: Envelope) => kind === "approval";

/** Where the open tasks of an actor, or of all, are read. */
export const tasksPath = (actor: string | undefined, state = "open"): string =>
  `/api/workflows/tasks?limit=${LISTED}&state=${state}${actor === undefined ? "" : `&actor=${encodeURIComponent(actor)}`}`;
/** Where the drafts are read. */
export const DRAFTS_PATH = `/api/workflows/drafts?limit=${LISTED}`;
/** Where the open questions are read. */
export const QUESTIONS_PATH = `/api/approvals?order=oldest&limit=${LISTED}`;

const tasksIn = (page: { readonly tasks: readonly UserTask[] }) => page.tasks;
const questionsIn = (page: { readonly approvals: readonly Question[] }) => page.approvals;
const draftsIn = (page: { readonly drafts: readonly Draft[] }) => page.drafts;
const idOf = ({ id }: { readonly id: string }) => id;
const draftId = ({ definition }: Draft) => definition.id;

/** Open requests of a person, or of all. Rows keep their places while the view stays. */
export function useOpen(actor: string | undefined, wanted: boolean): InboxList {
  const { data: me } = useMe();
  const workflows = wanted && me?.has.workflows === true;
  const tasks = usePages(workflows ? tasksPath(actor) : undefined, tasksIn, idOf, isTask);
  const questions = usePages(wanted ? QUESTIONS_PATH : undefined, questionsIn, idOf, (event) => isAsked(event) || isTask(event));
  const drafts = usePages(workflows ? DRAFTS_PATH : undefined, draftsIn, draftId);
  const parts = [...(workflows ? [tasks, drafts] : []), questions];
  const ready = wanted && me !== undefined && parts.every(({ rows, error }) => rows !== undefined || error !== undefined);
  const now = useMemo(
    () => itemsOf({ tasks: tasks.rows ?? [], questions: questions.rows ?? [], drafts: drafts.rows ?? [] }),
    [tasks.rows, questions.rows, drafts.rows],
  );
  const shown = useRef<{ readonly of: string; readonly items: readonly Item[] }>(undefined);
  const of = actor ?? "";
  const items = useMemo(() => {
    if (!ready) return shown.current?.of === of ? shown.current.items : [];
    const next = shown.current?.of === of ? keepPlaces(shown.current.items, now) : now;
    shown.current = { of, items: next };
    return next;
  }, [ready, now, of]);
  return { items, open: now.filter(({ open }) => open).length, ...stateOf(parts, wanted && !ready && items.length === 0, items.length === 0) };
}

/** Answered or ended requests, newest first. */
export function useEnded(wanted: boolean): InboxList {
  const { data: me } = useMe();
  const workflows = wanted && me?.has.workflows === true;
  const completed = usePages(workflows ? tasksPath(undefined, "completed") : undefined, tasksIn, idOf, isTask);
  const canceled = usePages(workflows ? tasksPath(undefined, "canceled") : undefined, tasksIn, idOf, isTask);
  const questions = usePages(wanted ? `/api/approvals?open=false&limit=${LISTED}` : undefined, questionsIn, idOf, isAsked);
  const parts = [...(workflows ? [completed, canceled] : []), questions];
  const items = useMemo(
    () => endedOf({ tasks: [...(completed.rows ?? []), ...(canceled.rows ?? [])], questions: questions.rows ?? [], drafts: [] }),
    [completed.rows, canceled.rows, questions.rows],
  );
  const ready = me !== undefined && parts.every(({ rows, error }) => rows !== undefined || error !== undefined);
  return { items, open: 0, ...stateOf(parts, wanted && !ready && items.length === 0, items.length === 0) };
}

function stateOf(parts: readonly Pages<unknown>[], loading: boolean, nothing: boolean): Omit<InboxList, "items" | "open"> {
  const error = nothing ? parts.find((part) => part.error !== undefined && part.rows === undefined)?.error : undefined;
  return {
    loading,
    slow: parts.some(({ slow }) => slow),
    more: parts.some(({ more }) => more),
    next() {
      for (const part of parts) part.next();
    },
    ...(error === undefined ? {} : { error }),
    reload() {
      for (const part of parts) part.reload();
    },
    cancel() {
      for (const part of parts) part.cancel();
    },
  };
}
