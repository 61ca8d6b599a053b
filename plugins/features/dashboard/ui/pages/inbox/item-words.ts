import { ago, clock, when } from "../../kit/figures.ts";
import type { State } from "../../kit/glyph.tsx";
import { INBOX } from "../../words/inbox.ts";
import type { Executed } from "../processes/run-types.ts";
import type { Item } from "./inbox-items.ts";
import type { Question, UserTask } from "./inbox-types.ts";

/** Whether it should have been answered by now. */
export const isOverdue = ({ open, dueAt, task }: Item, now: number): boolean => open && (task?.overdue === true || (dueAt !== undefined && dueAt < now));

/** Glyph of a request in the list. */
export function itemGlyph(item: Item, now: number): State {
  const { open, task, question } = item;
  if (open) return isOverdue(item, now) ? "failed" : "waiting";
  const state = task?.state ?? question?.state;
  return state === "completed" || state === "approved" || state === "rejected" ? "ok" : "cancelled";
}

/** The second line of a row: kind, who asks, how it stands with time. */
export function itemLine(item: Item, now: number): { readonly text: string; readonly late: boolean } {
  const { kind, from, since, dueAt, laterAt, open, endedAt } = item;
  const late = isOverdue(item, now);
  const time = !open
    ? endedAt === undefined
      ? INBOX.gone
      : when(endedAt, now)
    : laterAt !== undefined
      ? INBOX.later(when(laterAt, now))
      : dueAt !== undefined
        ? late
          ? INBOX.overdue(spell(now - dueAt))
          : INBOX.due(when(dueAt, now))
        : INBOX.since(when(since, now));
  return { text: [INBOX.kinds[kind], from, time].join(" · "), late };
}

/** `2 h` of what has been going on so long. */
const spell = (ms: number): string => ago(0, Math.max(ms, 60_000)).replace(/ ago$/, "");

/** Describes the consequence of a missing answer. */
export function nobodyText({ endsAt, task, question, open }: Item, executed: Executed | undefined): string | undefined {
  if (!open) return undefined;
  if (task === undefined) {
    if (question === undefined || endsAt === undefined) return undefined;
    return question.taskId === undefined ? INBOX.nobody.refused(when(endsAt)) : INBOX.nobody.agent(when(endsAt));
  }
  if (endsAt === undefined) return INBOX.nobody.ever;
  if (executed === undefined) return undefined;
  const node = task.step.slice(0, task.step.lastIndexOf("/"));
  const { nodes, edges } = graphWith(executed.definition, node) ?? executed.definition;
  const way = ["timeout", "error"].map((port) => edges.find(({ from, fromPort }) => from === node && fromPort === port)).find((edge) => edge !== undefined);
  if (way === undefined) return INBOX.nobody.fails(when(endsAt));
  return INBOX.nobody.goesOn(when(endsAt), nodes.find(({ id }) => id === way.to)?.label ?? way.to);
}

type Graph = Pick<Executed["definition"], "nodes" | "edges">;

/** The graph, or body, in which a node stands. */
export function graphWith(graph: Graph, id: string): Graph | undefined {
  if (graph.nodes.some((node) => node.id === id)) return graph;
  for (const { do: body } of graph.nodes) {
    const found = body === undefined ? undefined : graphWith({ nodes: body.nodes, edges: body.edges ?? [] }, id);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Describes the end of a request, by whom and when; undefined while it is open. */
export function endedText(task: UserTask | undefined, question: Question | undefined): string | undefined {
  if (task !== undefined) {
    if (task.state === "open") return undefined;
    const time = clock(task.completedAt ?? Date.now(), false);
    if (task.state === "canceled") return INBOX.canceledAt(time);
    const said = task.values?.["decision"] ?? task.history.findLast(({ type }) => type === "submitted")?.text ?? "";
    const who = whoOf(task.completedBy);
    if (said === "approve") return INBOX.approvedBy(who, time);
    return said === "reject" ? INBOX.rejectedBy(who, time) : INBOX.answeredBy(who, String(said), time);
  }
  if (question === undefined || question.state === "open") return undefined;
  const { decision, taskId } = question;
  const time = clock(decision?.at ?? question.expiresAt, false);
  const who = whoOf(decision?.by);
  if (question.state === "approved") return INBOX.approvedBy(who, time);
  if (question.state === "rejected") return INBOX.rejectedBy(who, time);
  if (question.state === "expired") return INBOX.expiredAt(time);
  return taskId === undefined ? INBOX.withdrawnAt(time, decision?.reason) : INBOX.agentWentOn(time);
}

const whoOf = (by: string | undefined): string => {
  const who = by?.replace(/^token:/, "") ?? INBOX.somebody;
  return who.charAt(0).toUpperCase() + who.slice(1);
};
