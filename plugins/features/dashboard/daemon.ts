import type { TaskResult, Trace } from "@svc/sdk";

/** An agent as `GET /agents` of its daemon shows it. */
export interface AgentView {
  readonly id: string;
  readonly [fact: string]: unknown;
}

/** Filter of the finished tasks on a page. */
export interface HistoryQuery {
  readonly agent?: string;
  readonly channel?: string;
  readonly status?: string;
  /** Unix time in milliseconds. */
  readonly before?: number;
  readonly limit?: number;
}

/** A message of the public endpoint, its caller known. */
export interface PublicMessage {
  readonly agent: string;
  readonly text: string;
  readonly chat: string;
  readonly sender?: string;
  /** The id of the token that let it in: conversations of two tokens are never the same. */
  readonly token: string;
}

/** A caller's command to a running task. */
export interface TaskAction {
  readonly task: string;
  readonly kind: "cancel" | "followup";
  readonly body: { readonly message?: string; readonly replace?: boolean; readonly sender?: string; readonly reason?: string };
}

/** A daemon that the dashboard shows. One that cannot be reached makes every call throw `SVC_DASHBOARD_NO_DAEMON` (502). */
export interface Daemon {
  readonly name: string;
  readonly url: string;
  agents(): Promise<readonly AgentView[]>;
  history(query: HistoryQuery): Promise<readonly Trace[]>;
  /** Runs it to its end. A run that failed is a result. */
  run(message: PublicMessage): Promise<TaskResult>;
  /** The daemon's answer, whatever its status. */
  act(action: TaskAction): Promise<{ readonly status: number; readonly body: unknown }>;
}
