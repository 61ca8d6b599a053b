export type { StoredContext, StoredLayer } from "../../../tasks/task-contexts.ts";
export type { TaskMarks, TaskPage } from "../../../tasks/task-list.ts";
export type { TaskView } from "../../../tasks/task-routes.ts";
export type { TaskRow, TaskState } from "../../../tasks/task-row.ts";
