import type { NodesView } from "../../../reads.ts";

export type { NodesView } from "../../../reads.ts";
export type { ChatSoFar, ChatStep, ChatTurn, ChatView } from "../../../tasks/agent-chat.ts";
export type { AgentNow, TaskNow, TasksNow } from "../../../tasks/task-now.ts";
export type { PastEvents } from "../../../tasks/task-routes.ts";
export type { TaskRow, TaskState } from "../../../tasks/task-row.ts";
export type { Lane, LaneSpan, SeriesRange, SeriesView } from "../../../tasks/task-series.ts";

/** One daemon of those that share the store. */
export type NodeNow = NodesView["nodes"][number];
