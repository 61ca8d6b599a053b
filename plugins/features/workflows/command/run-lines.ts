import type { WorkflowError, WorkflowWait } from "@svc/sdk";
import type { ShownEntry, ShownTask } from "./shown.ts";

/** Turns the entries of a journal into lines for people; it remembers when steps began, to say how long they took. */
export class RunLines {
  readonly #began = new Map<string, number>();

  /** The line of an entry; undefined for what people need not follow. */
  of(entry: ShownEntry): string | undefined {
    const at = new Date(entry.at).getTime();
    const words = this.#words(entry, at);
    return words === undefined ? undefined : `${clock(at)} ${words}`;
  }

  #words(entry: ShownEntry, at: number): string | undefined {
    const { kind, step = "" } = entry;
    const error = entry["error"] as WorkflowError | undefined;
    switch (kind) {
      case "step.claimed":
        this.#began.set(step, at);
        return undefined;
      case "step.ended":
        return `ok ${step}${portOf(entry)}${this.#took(step, at)}`;
      case "step.failed":
        return `${error?.code === "TIMEOUT" ? "timeout" : "failed"} ${step}${portOf(entry)}${this.#took(step, at)} ${errorLine(error)}`;
      case "step.retry":
        return `retry ${step} ${errorLine(error)}`;
      case "step.canceled":
        return `canceled ${step}`;
      case "join.fired":
        return `ok ${String(entry["node"] ?? step)}`;
      case "task.created":
        return `task ${step} ${String(entry["taskId"])}`;
      case "task.submitted":
        return `submitted ${String(entry["taskId"])}${byOf(entry)}`;
      case "task.overdue":
        return `overdue ${String(entry["taskId"])}`;
      case "task.commented":
        return `comment ${String(entry["taskId"])}${byOf(entry)}: ${oneLine(entry["text"])}`;
      case "signal.received":
        return `signal ${String(entry["name"])}`;
      case "child.started":
        return `child ${step} ${String(entry["runId"])}`;
      case "run.started":
        return `started ${String((entry["run"] as { workflow?: unknown } | undefined)?.workflow ?? entry["workflow"] ?? "")}`.trimEnd();
      case "run.paused":
      case "run.resumed":
      case "run.completed":
        return kind.slice("run.".length) + byOf(entry);
      case "run.canceled":
        return `canceled${byOf(entry)}${entry["reason"] === undefined ? "" : `: ${oneLine(entry["reason"])}`}`;
      case "run.failed":
        return `failed ${errorLine(error)}`;
      default:
        return undefined;
    }
  }

  #took(step: string, at: number): string {
    const began = this.#began.get(step);
    return began === undefined ? "" : ` ${Math.max(0, at - began)}ms`;
  }
}

/** Describes the wait of a run for people: `waits for task ut_… (role:lead) until …`. */
export function waitLine(wait: WorkflowWait, task?: Pick<ShownTask, "assignee" | "title">): string {
  const what = [wait.kind, wait.for].filter(Boolean).join(" ");
  const who = task === undefined ? "" : ` (${task.assignee})`;
  const until = wait.until === undefined ? "" : ` until ${wait.until}`;
  const title = task === undefined ? "" : `: ${oneLine(task.title)}`;
  return `${wait.node}/${wait.iteration} waits for ${what}${who}${until}${title}`;
}

/** The code and words of an error. */
export const errorLine = (error: Pick<WorkflowError, "code" | "message"> | undefined): string =>
  error === undefined ? "" : `${error.code}: ${oneLine(error.message)}`;

/** Text of others in a line of ours. */
export const oneLine = (text: unknown): string =>
  String(text)
    .replace(/[\p{Cc}\u2028\u2029]+/gu, " ")
    .slice(0, 500);

/** The way that was taken, where it is another than the usual one. */
function portOf({ port, ports }: ShownEntry): string {
  const taken = (Array.isArray(ports) ? ports : [port]).filter((one) => typeof one === "string" && one !== "out");
  return taken.length === 0 ? "" : ` (${taken.join(", ")})`;
}
const byOf = ({ by }: ShownEntry): string => (typeof by === "string" && by !== "" ? ` by ${oneLine(by)}` : "");

/** The time of day here. */
const clock = (at: number): string => {
  const time = new Date(at);
  return [time.getHours(), time.getMinutes(), time.getSeconds()].map((part) => String(part).padStart(2, "0")).join(":");
};
