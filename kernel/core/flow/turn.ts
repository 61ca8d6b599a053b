import { onAbort, reasonOf, type Schema, type SvcError, type TierEvent, type TraceStep, type Turn, traitsOf, type Usage, withTimeout } from "@svc/sdk";
import { contextDigest } from "../../base/context-parts.ts";
import { fail } from "../../base/errors.ts";
import { isTierEvent } from "../../base/hook-answers.ts";
import { isPromise } from "../../base/promise.ts";
import { countsOf, sumOf } from "../../base/usage.ts";
import { inScope } from "../host/call.ts";
import type { Live } from "../host/live.ts";
import { controlOf, type Prepared, prepareTurn, type RunRequest, STALLED, type TurnControl } from "./prepare.ts";
import { baseContext, endedOutcome, errorOutcome } from "./routing.ts";
import type { Ending, Outcome, RunFacts } from "./run-facts.ts";
import { brief, noteStep } from "./trace-steps.ts";
import { correction, readOutput, requireSchema } from "./typed-output.ts";
import { freshSessionNotice } from "./words.ts";

/**
 * Prepares and runs a turn to its end. A preparation that stalls is retried once from the start; a second stall is a time-out whose text asks the
 * sender to retry. A turn whose session is lost before its first output is restarted once without it; its usage counts both. Never rejects.
 */
export async function attemptTurn(given: Turn, live: Live, request: RunRequest): Promise<Outcome> {
  const control = controlOf(request);
  const outcome = await attempts(given, live, request, control);
  return control.usage === undefined ? outcome : { ...outcome, usage: control.usage };
}

async function attempts(given: Turn, live: Live, request: RunRequest, control: TurnControl): Promise<Outcome> {
  const shape = given.messages[0].options?.output;
  let turn = given;
  let { notice } = request;
  for (;;) {
    try {
      if (shape !== undefined) requireSchema(shape);
      const preparing = prepareTurn(turn, baseContext(turn), live, control);
      const prepared = isPromise(preparing) ? await preparing : preparing;
      if (control.counted !== undefined) await control.counted;
      control.step("agent");
      control.clock.restart();
      let ran: Outcome;
      try {
        // Before an answer that has a shape the kernel says nothing.
        ran = await (shape === undefined ? runTurn(prepared, control, notice) : runTyped(prepared, control, shape));
      } finally {
        control.clock.stand();
      }
      const outcome = { ...ran, context: contextDigest(prepared.context) };
      if (turn.afresh === true || prepared.context.session === undefined || !lostAtOnce(outcome, control)) return outcome;
      control.steps.push({ name: "session", kind: "prepare", at: Date.now(), error: `started anew: ${outcome.error}` });
      notice = request.notice + freshSessionNotice(outcome.errorKind);
      turn = { ...turn, afresh: true, ended: control.ends.next() };
    } catch (error) {
      if (control.signal.aborted) return endedOutcome(control.signal.reason as Ending);
      const { code, seconds, step } = error as { code?: string; seconds?: number; step?: string };
      if (code !== STALLED) return errorOutcome(error, code ?? "prepare");
      const text = `timed out before spawn after ${seconds}s in step ${step}`;
      control.steps.push({ name: String(step), kind: "prepare", at: Date.now(), error: text });
      if (turn.attempt === 2) return { status: "timeout", reply: "", error: text, errorKind: "stalled" };
      turn = { ...turn, attempt: 2, ended: control.ends.next() };
    }
  }
}

/** Runs the engine, and once more with the error where its answer does not match the schema; a tap's stream runs once. */
async function runTyped(prepared: Prepared, control: TurnControl, shape: Schema): Promise<Outcome> {
  const first = await runTurn(prepared, control);
  const read = first.status === "ok" ? readOutput(shape, first.reply) : first;
  if (!("finding" in read)) return { ...first, ...read };
  const engine = control.passed ? prepared.own?.() : prepared;
  const unfit = (outcome: Outcome, finding: string): Outcome => ({
    ...outcome,
    status: "error",
    error: `The answer does not fit options.output: ${finding}.`,
    errorKind: "output",
  });
  if (engine?.again === undefined) return unfit(first, read.finding);
  control.steps.push({ name: "output", kind: "prepare", at: Date.now(), error: `asked once more: ${read.finding}` });
  const session = engine.nativeSessions ? first.sessionId : undefined;
  const outcome = await runTurn(engine.again(correction(engine.context, shape, first.reply, read.finding, session)), control);
  if (outcome.status !== "ok") return outcome;
  const last = readOutput(shape, outcome.reply);
  return "finding" in last ? unfit(outcome, last.finding) : { ...outcome, ...last };
}

/** The session is of no use any more, and the engine has neither said nor done anything. */
const lostAtOnce = ({ sessionLost, reply }: Outcome, { signal, steps }: TurnControl): boolean =>
  sessionLost === true && reply === "" && !signal.aborted && !steps.some(({ kind }) => kind === "tool");

/**
 * Runs the engine to its end, and the agent's own tier if the plugin returns the turn. Every result is an outcome; rejects only if that tier no
 * longer exists. `notice` is the kernel's text before the engine's first.
 */
async function runTurn(prepared: Prepared, control: TurnControl, notice = ""): Promise<Outcome> {
  const seen: Seen = { text: "", notice, before: control.usage, facts: {} };
  control.ends.usage = undefined;
  try {
    await stoppable(consume(prepared, seen, control), control);
  } catch (error) {
    control.failed(prepared.scope, "tier run", error);
    seen.end ??= { type: "error", kind: String((error as { code?: unknown } | null | undefined)?.code ?? "tier"), message: reasonOf(error) };
  } finally {
    seen.over = true;
    unparked(seen);
  }
  if (seen.passed === undefined || prepared.own === undefined || control.signal.aborted) return judge(seen, control);
  control.steps.push({ name: "pass", kind: "prepare", at: Date.now(), output: brief(seen.passed) });
  control.passed = true;
  control.clock.restart();
  return runTurn(prepared.own(), control, notice);
}

/** Settles with `work`, or when the turn was aborted and the grace period is over. */
function stoppable(work: Promise<void>, { signal, graceMs }: TurnControl): Promise<void> {
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    const stop = onAbort(signal, () => {
      timer = setTimeout(resolve, graceMs).unref();
    });
    const over = () => {
      clearTimeout(timer);
      stop();
    };
    work.then(
      () => {
        over();
        resolve();
      },
      (error) => {
        over();
        reject(error);
      },
    );
  });
}

/** Output of a run so far. */
interface Seen {
  /** The slot is taken away: nothing of the stream counts any more. */
  over?: true;
  text: string;
  /** Notice before the first text, and before the whole answer. */
  readonly notice: string;
  /** Usage of the turn's earlier runs: each engine counts its own run only. */
  readonly before: Usage | undefined;
  readonly facts: { -readonly [Key in keyof RunFacts]: RunFacts[Key] };
  end?: Extract<TierEvent, { type: "done" | "error" }>;
  /** Set if the turn was returned: the reason. */
  passed?: string;
  /** Whether a person is being asked. */
  asking?: boolean;
  /** The step of the trace in which the turn is parked now. */
  parked?: TraceStep;
}

/** Characters that an engine may say in a row before the loop turns; each event counts as `EVENT_COST` more. */
const BURST = 131_072;
const EVENT_COST = 64;

/** Only the engine's own code runs in its plugin's scope: errors of the kernel and its listeners while handling an event do not count against it. */
async function consume(prepared: Prepared, seen: Seen, control: TurnControl): Promise<void> {
  const { scope, run } = prepared;
  const iterator = inScope(scope, () => run()[Symbol.asyncIterator]());
  const ask = () => iterator.next();
  let burst = 0;
  for (;;) {
    const next = await inScope(scope, ask);
    if (next.done) return;
    if (seen.over) break;
    if (prepared.refusesOnly && next.value?.type !== "error") {
      seen.passed = `a turn of restricted autonomy is not handed over to ${scope.id}`;
      break;
    }
    const wrong = whatIsWrong(next.value, prepared, seen);
    if (wrong !== undefined) {
      control.failed(scope, "tier run", wrong);
      seen.end = { type: "error", kind: wrong.code, message: wrong.message };
      break;
    }
    if ((seen.parked !== undefined || next.value.type === "parked") && (!(await inSlot(next.value, seen, control)) || seen.over)) break;
    askingPerson(next.value, seen, control);
    note(next.value, seen, control);
    if (seen.end !== undefined || seen.passed !== undefined) break;
    burst += EVENT_COST + (next.value.type === "text" ? next.value.text.length : 0);
    if (burst < BURST) continue;
    // An engine that has very much to say at once must not keep the loop from sending it.
    burst = 0;
    await new Promise((resolve) => setImmediate(resolve));
  }
  // The engine may still have to put things away; the slot is freed when it has, or after the grace period.
  const { return: end } = iterator;
  if (end !== undefined)
    await atMost(
      control.graceMs,
      inScope(scope, () => end.call(iterator)),
    );
}

function whatIsWrong(event: unknown, { scope, own }: Prepared, seen: Seen): SvcError | undefined {
  if (!isTierEvent(event)) return fail("SVC_TIER_EVENT", { plugin: scope.id });
  const handedOn = event.type === "pass" ? own !== undefined && seen.text === "" : event.type !== "parked" || own !== undefined;
  return handedOn ? undefined : fail("SVC_TIER_HANDED", { plugin: scope.id, event: event.type });
}

/** Gives the turn's slot away and takes it again, as the event needs it. False when the turn is ended before it has one. */
async function inSlot(event: TierEvent, seen: Seen, { slot, clock, signal, step, steps }: TurnControl): Promise<boolean> {
  const { parked } = seen;
  if (event.type === "parked") {
    if (parked !== undefined) return true;
    clock.stand();
    seen.parked = { name: "waiting", kind: "prepare", at: Date.now(), output: brief(event.reason) };
    steps.push(seen.parked);
    step("waiting");
    await slot.park();
    return true;
  }
  // The end needs no slot, nor do events about the waiting itself.
  if (parked === undefined || event.type === "done" || event.type === "error" || event.type === "step") return true;
  if (!(await slot.unpark(signal))) return false;
  unparked(seen);
  step("agent");
  clock.run();
  return true;
}

/** Pauses the run's clock while a person is asked: the next event shows that its engine continues. */
function askingPerson(event: TierEvent, seen: Seen, { clock, step }: TurnControl): void {
  const asks = event.type === "waiting" && event.person === true;
  if (seen.parked !== undefined || asks === (seen.asking === true)) return;
  if (asks) clock.stand();
  else clock.run();
  step(asks ? "waiting" : "agent");
  seen.asking = asks;
}

/** Records in the trace how long the turn was parked. */
function unparked(seen: Seen): void {
  if (seen.parked !== undefined) Object.assign(seen.parked, { durationMs: Date.now() - seen.parked.at });
  delete seen.parked;
}

/** Wait for the end of `work`, however it ends, but no longer than that. */
function atMost(ms: number, work: Promise<unknown>): Promise<unknown> {
  return withTimeout(work, ms, () => undefined).catch(() => undefined);
}

function note(event: TierEvent, seen: Seen, control: TurnControl): void {
  switch (event.type) {
    case "text":
      if (seen.text === "" && seen.notice !== "") control.stream.event({ type: "text", text: seen.notice });
      seen.text += event.text;
      break;
    case "usage":
      control.ends.usage = countsOf(event.usage);
      control.usage = sumOf(seen.before, control.ends.usage);
      if (event.model !== undefined) seen.facts.model = event.model;
      control.stream.event({ ...event, usage: control.usage });
      return;
    case "session":
      seen.facts.sessionId = event.id;
      break;
    case "blocked":
      seen.facts.autonomyBlocks = [...(seen.facts.autonomyBlocks ?? []), { tool: event.tool, reason: event.reason }];
      break;
    case "guard":
      // For the record alone: listeners receive the blocked calls.
      seen.facts.guard = { level: event.level, ...(event.reason === undefined ? {} : { reason: brief(event.reason) }) };
      return;
    case "step":
      noteStep(event.step, control.steps, seen.parked === undefined ? "tool" : "prepare");
      break;
    case "thinking":
    case "waiting":
    case "parked":
      break;
    case "pass":
      seen.passed = event.reason;
      return;
    case "done":
    case "error":
      seen.end = event;
      if (event.type === "done") return;
      break;
    default:
      // A kind of event that a later version of the contract may have.
      return;
  }
  // An error is sent with the result, once the task's outcome is known.
  if (event.type !== "error") control.stream.event(event);
}

function judge(seen: Seen, control: TurnControl): Outcome {
  const { end, facts } = seen;
  const bad = (status: "error" | "timeout", error: string, errorKind: string): Outcome => ({ status, reply: seen.text, error, errorKind, ...facts });
  const answer = (text: string) => (text === "" ? text : seen.notice + text);
  if (control.signal.aborted) {
    const ending = control.signal.reason as Ending;
    return { ...facts, ...endedOutcome(ending), reply: seen.text };
  }
  if (end === undefined) return bad("error", "The engine stopped without a result.", "no-result");
  if (end.type === "error") return { ...bad("error", end.message, end.kind), ...(traitsOf(end).sessionLost ? { sessionLost: true } : {}) };
  const { toolUseRequired, steps } = control;
  if (toolUseRequired.length > 0 && !steps.some((step) => step.kind === "tool" && toolUseRequired.includes(step.name))) {
    return bad("error", "tool_required_not_called", "tool_required_not_called");
  }
  return { status: "ok", reply: answer(end.text ?? seen.text), ...facts };
}
