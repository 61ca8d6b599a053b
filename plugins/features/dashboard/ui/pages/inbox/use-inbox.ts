import type { Envelope } from "@svc/sdk";
import { useMemo, useRef } from "react";
import type { ApiError } from "../../data/api-error.ts";
import { useMe } from "../../data/me.ts";
import { type Resource, useResource } from "../../data/resource.ts";
import { endedOf, type Item, itemsOf, keepPlaces } from "./inbox-items.ts";
import type { Draft, Question, UserTask } from "./inbox-types.ts";

/** Which requests are listed. */
export type View = "me" | "all" | "done";

/** The requests of a view. */
export interface InboxList {
  readonly items: readonly Item[];
  readonly open: number;
  readonly loading: boolean;
  readonly slow: boolean;
  /** There may be more than is listed: no more than so many of a kind are read. */
  readonly cut?: number;
  /** Of what could not be read, where nothing else is there to show. */
  readonly error?: ApiError;
  reload(): void;
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
export const QUESTIONS_PATH = `/api/approvals?limit=${LISTED}`;

type Tasks = { readonly tasks: readonly UserTask[] };
type Questions = { readonly approvals: readonly Question[] };

/** What is open for a person, or for all. Rows keep their places as long as the view stays. */
export function useOpen(actor: string | undefined, wanted: boolean): InboxList {
  const { data: me } = useMe();
  const workflows = wanted && me?.has.workflows === true;
  const tasks = useResource<Tasks>(workflows ? tasksPath(actor) : undefined, { refreshOn: isTask });
  const questions = useResource<Questions>(wanted ? QUESTIONS_PATH : undefined, { refreshOn: (event) => isAsked(event) || isTask(event) });
  const drafts = useResource<{ readonly drafts: readonly Draft[] }>(workflows ? DRAFTS_PATH : undefined);
  const parts = [...(workflows ? [tasks, drafts] : []), questions];
  const ready = wanted && me !== undefined && parts.every(({ data, error }) => data !== undefined || error !== undefined);
  const now = useMemo(
    () => itemsOf({ tasks: tasks.data?.tasks ?? [], questions: questions.data?.approvals ?? [], drafts: drafts.data?.drafts ?? [] }),
    [tasks.data, questions.data, drafts.data],
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

/** What is answered, or over, newest first. */
export function useEnded(wanted: boolean): InboxList {
  const { data: me } = useMe();
  const workflows = wanted && me?.has.workflows === true;
  const completed = useResource<Tasks>(workflows ? tasksPath(undefined, "completed") : undefined, { refreshOn: isTask });
  const canceled = useResource<Tasks>(workflows ? tasksPath(undefined, "canceled") : undefined, { refreshOn: isTask });
  const questions = useResource<Questions>(wanted ? `/api/approvals?open=false&limit=${LISTED}` : undefined, { refreshOn: isAsked });
  const parts = [...(workflows ? [completed, canceled] : []), questions];
  const items = useMemo(
    () => endedOf({ tasks: [...(completed.data?.tasks ?? []), ...(canceled.data?.tasks ?? [])], questions: questions.data?.approvals ?? [], drafts: [] }),
    [completed.data, canceled.data, questions.data],
  );
  const ready = me !== undefined && parts.every(({ data, error }) => data !== undefined || error !== undefined);
  return { items, open: 0, ...stateOf(parts, wanted && !ready && items.length === 0, items.length === 0) };
}

function stateOf(parts: readonly Resource<unknown>[], loading: boolean, nothing: boolean): Omit<InboxList, "items" | "open"> {
  const error = nothing ? parts.find((part) => part.error !== undefined && part.data === undefined)?.error : undefined;
  return {
    loading,
    slow: parts.some(({ slow }) => slow),
    ...(parts.some(({ data }) => Object.values(data ?? {}).some((rows) => Array.isArray(rows) && rows.length >= LISTED)) ? { cut: LISTED } : {}),
    ...(error === undefined ? {} : { error }),
    reload: () => {
      for (const part of parts) part.reload();
    },
  };
}
