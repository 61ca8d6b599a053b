/** Where results of calls are kept that took longer than their caller waited. */
export const CALLS = "calls";

/** Such a call. Times in Unix milliseconds. */
export interface CallRow {
  readonly agent: string;
  readonly action: string;
  /** Owner of the result: the root and the conversation of the calling task. Absent for a call without a task. */
  readonly root?: string;
  readonly conversation?: string;
  readonly at: number;
  readonly state: "running" | "ok" | "error";
  /** Of one that runs, where it can be taken up again after a restart. */
  readonly input?: unknown;
  /** The result, or the error. */
  readonly text?: string;
}
