import { useMe } from "../../data/me.ts";
import { useResource } from "../../data/resource.ts";
import { knownActor } from "./actor.ts";
import { mirroredTask } from "./inbox-items.ts";
import type { Question, UserTask } from "./inbox-types.ts";
import { DRAFTS_PATH, QUESTIONS_PATH, tasksPath } from "./use-inbox.ts";

/** Number of requests for the person of this browser; for all people if the person is not set. Undefined while it is unknown. */
export function useInboxCount(): number | string | undefined {
  const { data: me } = useMe();
  const tasks = useResource<{ readonly tasks: readonly UserTask[]; readonly next?: string }>(me?.has.workflows === true ? tasksPath(knownActor()) : undefined, {
    refreshOn: ({ kind, type }) => kind === "task" && type !== "queued",
  });
  const questions = useResource<{ readonly approvals: readonly Question[]; readonly next?: string }>(me === undefined ? undefined : QUESTIONS_PATH, {
    refreshOn: ({ kind }) => kind === "approval",
  });
  const drafts = useResource<{ readonly drafts: readonly unknown[] }>(me?.has.workflows === true ? DRAFTS_PATH : undefined);
  if (questions.data === undefined) return undefined;
  const count =
    (drafts.data?.drafts.length ?? 0) +
    (tasks.data?.tasks.length ?? 0) +
    questions.data.approvals.filter((question) => mirroredTask(question) === undefined).length;
  return [tasks.data, questions.data].some((page) => page?.next !== undefined) ? `${count}+` : count;
}
