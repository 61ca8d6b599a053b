import { dropItems, emptyScope, release } from "./cancel.ts";
import type { Commit } from "./commit.ts";
import type { Node } from "./definition.ts";
import type { RunError } from "./entries.ts";
import type { Place } from "./graph.ts";
import { retryDelay } from "./retry-delay.ts";
import type { StepState } from "./run-state.ts";
import { incidentIdOf } from "./task-id.ts";
import { send } from "./tokens.ts";

/** Number of times that a step may be lost to a stop of the daemon before a person is asked, whatever its node says. */
const LOST = 3;

/** Codes that are retried without being named. */
const RETRIED: ReadonlySet<string> = new Set(["ERROR", "TIMEOUT", "INTERRUPTED"]);

/** Actions that do the same when they are done twice. */
const REPEATABLE: ReadonlySet<string> = new Set(["http.fetch", "file.read_lines", "rag.lexical", "extract.structured"]);

/** A step ends well: its token leaves by these ports. `then` is done before the tokens leave. */
export function endStep(commit: Commit, step: StepState, ports: readonly string[], output: unknown, then?: () => void): void {
  const place = commit.place(step.node);
  commit.touched.add(step.scope);
  commit.write("step.ended", { step: step.id, ports, output: output ?? null });
  then?.();
  leave(commit, step, place, ports);
}

/** Failure of an attempt, and its handling. */
export interface Fault {
  readonly error: RunError;
  /** Decides where it is given; otherwise the code does. */
  readonly retryable?: boolean;
  /** The step's effect outside must be stopped. */
  readonly stop?: boolean;
}

/** An attempt has failed: the step is tried again, or a person is asked, or the error goes its way. */
export function faultStep(commit: Commit, step: StepState, fault: Fault): void {
  const { node } = commit.place(step.node);
  const verdict = verdictOf(node, step, fault);
  if (verdict === "ask") ask(commit, step, fault);
  else if (verdict === "fail") failStep(commit, step, fault);
  else tryAgain(commit, step, fault, commit.at + verdict.after);
}

function verdictOf(node: Node, step: StepState, { error: { code }, retryable }: Fault): "ask" | "fail" | { readonly after: number } {
  if (code === "INTERRUPTED") {
    const way = (step.lost ?? 0) + 1 >= LOST ? "ask" : onInterrupted(node);
    if (way !== "fail") return way === "ask" ? "ask" : { after: 0 };
  }
  const retry = "retry" in node ? node.retry : undefined;
  const retried = retryable ?? (RETRIED.has(code) || retry?.on?.includes(code) === true);
  const used = step.attempt - (step.attemptsBefore ?? 0);
  const over = used >= (retry?.attempts ?? 1) || (code === "TIMEOUT" && waitsOnce(node));
  if (retried && !over) return { after: retryDelay(retry, used) };
  return "onExhausted" in node && node.onExhausted === "ask" ? "ask" : "fail";
}

/** A step fails for good: by its `timeout` or `error` port, else with its scope. */
export function failStep(commit: Commit, step: StepState, { error, stop }: Fault): void {
  const { id, node, iteration, attempt, scope } = step;
  const place = commit.place(node);
  const { code, message, details } = error;
  const full: RunError = { code, message, node, iteration, attempt, ...(details === undefined ? {} : { details }) };
  const port = code === "TIMEOUT" && place.ports.has("timeout") ? "timeout" : place.ports.has("error") ? "error" : null;
  dropItems(commit, step, id);
  commit.touched.add(scope);
  commit.write("step.failed", { step: id, attempt, error: full, port });
  if (stop || step.wait?.kind === "task") release(commit, step);
  if (port === null) failScope(commit, scope, full, id);
  else leave(commit, step, place, [port]);
}

/** Uncaught error: fails the item, or the run. */
export function failScope(commit: Commit, scope: string, error: RunError, step: string): void {
  const { owner, index = 0 } = commit.scope(scope);
  if (owner === undefined) {
    failRun(commit, error, step);
    return;
  }
  emptyScope(commit, scope, step);
  commit.write("item.ended", { step: owner, index, scope, ok: false, error });
  commit.endedItems.push({ step: owner, index, error });
}

/** The run fails, and all that is live with it. */
export function failRun(commit: Commit, error: RunError, step: string | undefined): void {
  emptyScope(commit, "", step ?? "run");
  commit.write("run.failed", { error, ...(step === undefined ? {} : { step }) });
  commit.order({ do: "ended", status: "failed" });
}

/** Kinds that wait for somebody or something: their timeout is over all attempts. */
export const waitsOnce = ({ kind }: Node): boolean => kind === "userTask" || kind === "approval" || kind === "timer" || kind === "waitSignal";

function leave(commit: Commit, { id, scope, lin, late }: StepState, place: Place, ports: readonly string[]): void {
  const dead = [...place.ports.keys()].filter((port) => port !== "error" && !ports.includes(port));
  if (dead.length > 0) commit.write("port.dead", { step: id, ports: dead });
  send(commit, { from: id, scope, lin, ...(late === undefined ? {} : { late }) }, place, ports);
}

function tryAgain(commit: Commit, step: StepState, { error, stop }: Fault, due: number): void {
  dropItems(commit, step, step.id);
  commit.write("step.retry", { step: step.id, attempt: step.attempt, error, due });
  if (stop || step.wait?.kind === "task") release(commit, step);
  if (due <= commit.at) commit.order({ do: "claim", step: step.id });
}

/** The owner decides: again, skip or fail. */
function ask(commit: Commit, step: StepState, { error, stop }: Fault): void {
  const taskId = incidentIdOf(commit.state.id, step.id, step.attempt);
  dropItems(commit, step, step.id);
  commit.write("task.created", { step: step.id, taskId });
  commit.write("step.waiting", { step: step.id, wait: { kind: "incident", since: commit.at, for: taskId, error } });
  if (stop || step.wait?.kind === "task") release(commit, step);
  commit.order({ do: "openIncident", step: step.id, taskId, error });
}

function onInterrupted(node: Node): "retry" | "fail" | "ask" {
  if ("onInterrupted" in node && node.onInterrupted !== undefined) return node.onInterrupted;
  if (node.kind === "agent") return "ask";
  if (node.kind === "action") return node.idempotent === true || REPEATABLE.has(node.action) ? "retry" : "ask";
  return "retry";
}
