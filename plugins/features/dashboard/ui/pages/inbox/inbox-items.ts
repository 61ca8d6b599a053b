import type { Draft, Question, UserTask } from "./inbox-types.ts";

/** Kind of a request, in people's terms. */
export type ItemKind = "task" | "approval" | "question" | "draft";

/** One request to a person, from wherever it comes. Times in Unix milliseconds. */
export interface Item {
  /** `task:<id>`, `question:<id>`, `draft:<id>`: stands in the address of the page. */
  readonly key: string;
  readonly kind: ItemKind;
  readonly title: string;
  /** Asker: a workflow, an agent. */
  readonly from: string;
  readonly since: number;
  /** From then on it is overdue. */
  readonly dueAt?: number;
  /** From then on it goes on without an answer. */
  readonly endsAt?: number;
  /** Put off until then. */
  readonly laterAt?: number;
  /** Whether a run, or the engine of an agent, stands still for it. */
  readonly blocks: boolean;
  readonly open: boolean;
  readonly endedAt?: number;
  readonly task?: UserTask;
  readonly question?: Question;
  readonly draft?: Draft;
}

/** The kind under which tasks of workflows are asked on chats: the task itself stands in the list. */
const MIRRORED = "workflow-task";

/** The task that a question asks about on the chats. */
export const mirroredTask = ({ kind, key }: Pick<Question, "kind" | "key">): string | undefined => (kind === MIRRORED ? key?.split("@")[0] : undefined);

/** Returns the requests by urgency: those with a due date, by that; then those that block work, the oldest first; then the rest. */
export function itemsOf({ tasks, questions, drafts }: Sources): readonly Item[] {
  const asked = new Map(questions.flatMap((question) => [[mirroredTask(question), question] as const]).filter(([task]) => task !== undefined));
  return [
    ...tasks.map((task) => taskItem(task, asked.get(task.id))),
    ...questions.filter((question) => mirroredTask(question) === undefined).map(questionItem),
    ...drafts.map(draftItem),
  ].sort(byNeed);
}

/** Requests of the server. */
export interface Sources {
  readonly tasks: readonly UserTask[];
  readonly questions: readonly Question[];
  readonly drafts: readonly Draft[];
}

/** Ended ones, the last ended first. */
export const endedOf = (sources: Sources): readonly Item[] =>
  [...itemsOf(sources)].filter(({ open }) => !open).sort((one, other) => (other.endedAt ?? 0) - (one.endedAt ?? 0));

function taskItem(task: UserTask, asked: Question | undefined): Item {
  const { id, kind, title, workflowId, assignedAt, dueAt, expiresAt, state, completedAt } = task;
  return {
    key: `task:${id}`,
    kind: kind === "userTask" ? "task" : kind === "incident" ? "question" : "approval",
    title,
    from: workflowId,
    since: Date.parse(assignedAt),
    ...timeOf("dueAt", dueAt),
    ...timeOf("endsAt", expiresAt),
    ...timeOf("endedAt", completedAt),
    ...(asked?.laterAt === undefined ? {} : { laterAt: asked.laterAt }),
    blocks: true,
    open: state === "open",
    task,
    ...(asked === undefined ? {} : { question: asked }),
  };
}

function questionItem(question: Question): Item {
  const { id, title, requestedBy, askedAt, expiresAt, laterAt, state, taskId, decision } = question;
  return {
    key: `question:${id}`,
    kind: taskId === undefined ? "approval" : "question",
    title,
    from: requestedBy,
    since: askedAt,
    endsAt: expiresAt,
    ...(laterAt === undefined ? {} : { laterAt }),
    ...(decision === undefined ? {} : { endedAt: decision.at }),
    blocks: taskId !== undefined,
    open: state === "open",
    question,
  };
}

const draftItem = (draft: Draft): Item => ({
  key: `draft:${draft.definition.id}`,
  kind: "draft",
  title: draft.definition.name ?? draft.definition.id,
  from: draft.file,
  since: Date.parse(draft.updatedAt),
  blocks: false,
  open: true,
  draft,
});

const timeOf = <K extends string>(key: K, iso: string | undefined) =>
  iso === undefined ? {} : ({ [key]: Date.parse(iso) } as { readonly [One in K]: number });

/** A postponed request counts as due at its new time. */
const pressing = ({ dueAt, laterAt, blocks, since }: Item): readonly [number, number] =>
  laterAt !== undefined ? [3, laterAt] : dueAt !== undefined ? [0, dueAt] : blocks ? [1, since] : [2, since];

function byNeed(one: Item, other: Item): number {
  const [[group, at], [otherGroup, otherAt]] = [pressing(one), pressing(other)];
  return group - otherGroup || at - otherAt || (one.key < other.key ? -1 : 1);
}

/**
 * The list as it is shown after a further look: rows that are there keep their places, also those that are over, so that nothing moves
 * under the hand; new ones come behind them.
 */
export function keepPlaces(shown: readonly Item[], now: readonly Item[]): readonly Item[] {
  const by = new Map(now.map((item) => [item.key, item]));
  const known = new Set(shown.map(({ key }) => key));
  return [...shown.map((item) => by.get(item.key) ?? { ...item, open: false }), ...now.filter(({ key }) => !known.has(key))];
}
