import { emptyScope } from "./cancel.ts";
import { claim } from "./claim.ts";
import { Commit } from "./commit.ts";
import type { Definition } from "./definition.ts";
import { graphOf, transitionsOf } from "./graph.ts";
import type { Decision, Input, InputFields, Refusal } from "./inputs.ts";
import { advance, openItems } from "./items.ts";
import { park } from "./park.ts";
import { pendingCommands } from "./pending.ts";
import { takeResult } from "./results.ts";
import type { RunState, StepState } from "./run-state.ts";
import { settle, touchAll } from "./settle.ts";
import { receive } from "./signals.ts";
import { endStep, failRun, failStep, faultStep } from "./steps.ts";
import { arrive, LimitPassed, send } from "./tokens.ts";

/**
 * Applies an input to a run. Pure, without clock, random numbers and I/O: the same definition, state and input always give the same entries. The
 * returned state is the fold of `apply` over all entries so far; the argument is not changed.
 */
export function decide(definition: Definition, state: RunState | undefined, input: Input): Decision {
  const commit = new Commit(graphOf(definition), state, input.at);
  const refused = state !== undefined && commit.ended ? "terminal" : guarded(commit, state, input);
  if (refused !== undefined) return { state: state as RunState, entries: [], commands: [], refused };
  return { state: commit.state, entries: commit.entries, commands: commit.commands };
}

function guarded(commit: Commit, state: RunState | undefined, input: Input): Refusal | undefined {
  try {
    const refused = take(commit, state, input) as Refusal | undefined;
    if (refused === undefined) settle(commit);
    return refused;
  } catch (error) {
    if (!(error instanceof LimitPassed)) throw error;
    failRun(commit, error.failure, error.step ?? undefined);
    return undefined;
  }
}

function take(commit: Commit, state: RunState | undefined, input: Input): Refusal | void {
  if (input.kind === "start") return state === undefined ? start(commit, input) : "started";
  if (state === undefined) throw new Error(`the first input of a run is 'start', not '${input.kind}'`);
  if (!("step" in input) || input.step === undefined) return takeRun(commit, input as Input<Exclude<keyof InputFields, "start">>);
  const step = commit.step(input.step);
  if (step === undefined) return "not-live";
  // Nothing begins while the run is paused; what has begun is recorded.
  if (state.status === "paused" && NOT_PAUSED.has(input.kind)) return "paused";
  return (TAKERS[input.kind] as Taker<StepInput>)(commit, step, input);
}

const NOT_PAUSED: ReadonlySet<string> = new Set(["claim", "retryDue", "due", "timeout"]);

type StepInput = "claim" | "result" | "fault" | "park" | "items" | "due" | "retryDue" | "timeout" | "submit" | "comment" | "childEnded";

type Taker<K extends StepInput> = (commit: Commit, step: StepState, input: Input<K>) => Refusal | void;

const TAKERS: { readonly [K in StepInput]: Taker<K> } = {
  claim: (commit, step, input) => claim(commit, step, input),
  retryDue: (commit, step, input) => claim(commit, step, input),
  result: takeResult,
  fault(commit, step, { error, retryable }) {
    if (step.status === "ready" || step.wait?.kind === "retry" || step.wait?.kind === "incident") return "not-waiting";
    return faultStep(commit, step, { error, ...(retryable === undefined ? {} : { retryable }) });
  },
  park,
  items(commit, step, { items, need }) {
    if (step.status !== "running" || commit.place(step.node).node.kind !== "forEach") return "not-waiting";
    return openItems(commit, step, items, need);
  },
  due(commit, step, { at }) {
    const { wait } = step;
    if (wait?.kind === "timer") return endStep(commit, step, ["out"], { dueAt: iso(wait.until ?? at), firedAt: iso(at) });
    if (wait?.kind !== "task" || step.overdue) return "not-waiting";
    commit.write("task.overdue", { step: step.id, taskId: wait.for });
    const { id, scope, lin, late } = step;
    return send(commit, { from: id, scope, lin, ...(late === undefined ? {} : { late }) }, commit.place(step.node), ["due"]);
  },
  timeout(commit, step) {
    const { timeoutAt, status, wait } = step;
    if (timeoutAt === undefined || status === "ready" || wait?.kind === "retry" || wait?.kind === "incident") return "not-waiting";
    return faultStep(commit, step, { error: { code: "TIMEOUT", message: `the step '${step.id}' was not done in time` }, stop: true });
  },
  submit,
  comment(commit, step, { text, by }) {
    const { wait } = step;
    if (wait?.kind !== "task" && wait?.kind !== "incident") return "not-waiting";
    commit.write("task.commented", { step: step.id, taskId: wait.for, ...(by === undefined ? {} : { by }), text });
    return undefined;
  },
  childEnded(commit, step, { runId, status, output, error }) {
    if (step.wait?.kind !== "child" || step.wait.for !== runId) return "not-waiting";
    commit.write("child.ended", { step: step.id, runId, status });
    const live = commit.step(step.id) as StepState;
    if (status === "completed") return endStep(commit, live, ["out"], output);
    const code = status === "canceled" ? "CHILD_CANCELED" : "CHILD_FAILED";
    const message = `the run '${runId}' of the sub-process ${status === "canceled" ? "was canceled" : `failed: ${error?.message ?? "no reason given"}`}`;
    return faultStep(commit, live, { error: { code, message, ...(error === undefined ? {} : { details: error }) } });
  },
};

function start(commit: Commit, { run, prior }: Input<"start">): undefined {
  commit.write("run.started", { run, ...(prior === undefined ? {} : { prior }) });
  if (prior !== undefined) return goOn(commit);
  arrive(commit, { from: null, scope: "", lin: {} }, commit.graph.trigger, 0);
  for (const step of Object.values(commit.state.steps)) endStep(commit, step, ["out"], run.input);
}

function takeRun(commit: Commit, input: Input): Refusal | void {
  const { status } = commit.state;
  const by = "by" in input && input.by !== undefined ? { by: input.by } : {};
  const note = "reason" in input && input.reason !== undefined ? { ...by, reason: input.reason } : by;
  switch (input.kind) {
    case "signal":
      return receive(commit, input);
    case "timeout":
      if (status === "paused") return "paused";
      return failRun(commit, { code: "RUN_TIMEOUT", message: "the run was not done in time; timeoutMinutes of its definition allows no more" }, undefined);
    case "pause":
      if (status === "paused") return "paused";
      commit.write("run.paused", note);
      for (const { id, wait } of waitingForChildren(commit)) commit.order({ do: "pauseChild", step: id, runId: wait });
      return undefined;
    case "resume":
      if (status !== "paused") return "not-paused";
      commit.write("run.resumed", note);
      for (const { id, wait } of waitingForChildren(commit)) commit.order({ do: "resumeChild", step: id, runId: wait });
      return goOn(commit);
    case "cancel":
      emptyScope(commit, "", "run");
      commit.write("run.canceled", note);
      commit.order({ do: "ended", status: "canceled" });
      return undefined;
    default:
      return "not-live";
  }
}

/** Continues after a pause, or from the start of a restarted run: ready steps are claimed, joins settle, items start. */
function goOn(commit: Commit): undefined {
  for (const command of pendingCommands(commit.graph.definition, commit.state)) if (command.do === "claim") commit.order(command);
  touchAll(commit);
  for (const { id, items } of Object.values(commit.state.steps)) if (items !== undefined && commit.step(id) !== undefined) advance(commit, id);
}

const waitingForChildren = (commit: Commit) =>
  Object.values(commit.state.steps).flatMap(({ id, wait }) => (wait?.kind === "child" ? [{ id, wait: wait.for }] : []));

function submit(commit: Commit, step: StepState, { port, values, by, at }: Input<"submit">): Refusal | void {
  const { id, wait, attempt } = step;
  if (wait?.kind !== "task" && wait?.kind !== "incident") return "not-waiting";
  const allowed = wait.kind === "incident" ? ["again", "skip", "fail"] : transitionsOf(commit.place(step.node));
  if (!allowed.includes(port)) return "unknown-port";
  commit.write("task.submitted", { step: id, taskId: wait.for, ...(by === undefined ? {} : { by }), values, port });
  if (wait.kind === "task") return endStep(commit, step, [port], { values, by: by ?? null, at: iso(at) });
  const error = wait.error ?? { code: "ERROR", message: "the step was interrupted" };
  const answer = values as { readonly value?: unknown } | null;
  if (port === "skip") return endStep(commit, step, ["out"], answer?.value);
  if (port === "fail") return failStep(commit, step, { error });
  commit.write("step.retry", { step: id, attempt, error, due: at, again: true });
  commit.order({ do: "claim", step: id });
  return undefined;
}

const iso = (at: number) => new Date(at).toISOString();
