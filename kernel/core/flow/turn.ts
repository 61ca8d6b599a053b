import { reasonOf, type TierEvent, type TraceStep, type Turn, type TurnContext, traitsOf, type Usage } from "@svc/sdk";
import { fail } from "../../base/errors.ts";
import { isPromise } from "../../base/promise.ts";
import { abandon } from "../host/abandon.ts";
import { within } from "../host/call.ts";
import { isTierEvent } from "../host/hook-answers.ts";
import { ownerOf } from "../host/hooks.ts";
import type { Live } from "../host/live.ts";
import type { Scope } from "../host/scope.ts";
import type { Ending, Outcome } from "./outcome.ts";
import { baseContext, endedOutcome, errorOutcome } from "./routing.ts";
import { freshSessionNotice } from "./words.ts";

/** What the pipeline hands to a turn: its limits, its stop switch, and where to tell what happens. */
export interface TurnControl {
  /** The stop switch; its reason is an `Ending`. */
  readonly abort: AbortController;
  readonly signal: AbortSignal;
  /** Seconds the engine may run. */
  readonly runSeconds: number;
  /** Seconds for the whole preparation. */
  readonly prepareSeconds: number;
  /** How long an engine may take to stop after it was told to, in milliseconds. */
  readonly graceMs: number;
  readonly toolUseRequired: readonly string[];
  /** The trace's steps, in order; appended to and completed in place. */
  readonly steps: TraceStep[];
  /** Resolves when this run is counted on disk: a crash after the engine has begun must not give it another try for nothing. */
  readonly counted: Promise<void>;
  step(name: string): void;
  event(event: Exclude<TierEvent, { type: "done" }>): void;
  failed(scope: Scope, what: string, error: unknown): void;
}

/**
 * Prepare and run a turn to its end. A preparation that stalls is tried once more from the start; a second stall is a time-out
 * whose text tells the sender to send it again. A turn whose session is lost before a word of it starts anew, once, without it. Never
 * rejects.
 */
export async function attemptTurn(given: Turn, live: Live, control: TurnControl): Promise<Outcome> {
  let turn = given;
  let notice = "";
  for (;;) {
    try {
      const preparing = prepareTurn(turn, baseContext(turn), live, control);
      const prepared = isPromise(preparing) ? await preparing : preparing;
      await control.counted;
      control.step("agent");
      const outcome = await runLimited(prepared, control, notice);
      if (turn.afresh === true || prepared.context.session === undefined || !lostAtOnce(outcome, control)) return outcome;
      control.steps.push({ name: "session", kind: "prepare", at: Date.now(), error: `started anew: ${outcome.error}` });
      notice = freshSessionNotice(outcome.errorKind);
      turn = { ...turn, afresh: true };
    } catch (error) {
      if (control.signal.aborted) return endedOutcome(control.signal.reason as Ending);
      const { code, seconds, step } = error as { code?: string; seconds?: number; step?: string };
      if (code !== STALLED) return errorOutcome(error, code ?? "prepare");
      const text = `timed out before spawn after ${seconds}s in step ${step}`;
      control.steps.push({ name: String(step), kind: "prepare", at: Date.now(), error: text });
      if (turn.attempt === 2) return { status: "timeout", reply: "", error: text, errorKind: "stalled" };
      turn = { ...turn, attempt: 2 };
    }
  }
}

async function runLimited(prepared: Prepared, control: TurnControl, notice: string): Promise<Outcome> {
  const text = `timed out after ${control.runSeconds}s`;
  const limit = setTimeout(() => control.abort.abort({ kind: "timeout", text } satisfies Ending), control.runSeconds * 1000);
  try {
    return await runTurn(prepared, control, notice);
  } finally {
    clearTimeout(limit);
  }
}

/** The session is of no use any more, and the engine has neither said nor done anything. */
const lostAtOnce = ({ sessionLost, reply }: Outcome, { signal, steps }: TurnControl): boolean =>
  sessionLost === true && reply === "" && !signal.aborted && !steps.some(({ kind }) => kind === "tool");

const SUMMARY = 500;
const brief = (text: string) => (text.length <= SUMMARY ? text : `${text.slice(0, SUMMARY)}…`);

/** Preparation took too long: the turn may be tried once more from the start. */
export const STALLED = "SVC_RUN_STALLED";

/** A context ready to run, and the engine that will. */
export interface Prepared {
  readonly context: TurnContext;
  /** Handed over by a `dispatch` tap. */
  readonly taken?: AsyncIterable<TierEvent>;
  /** Whose code runs it. */
  readonly scope: Scope;
  readonly run: () => AsyncIterable<TierEvent>;
}

/**
 * Assemble the context and choose the engine: at once, when no tap has to wait for anything. Each tap has a limit of its own after
 * which it is skipped, so that a slow one does not use up the whole. Throws or rejects with `SVC_RUN_STALLED`, naming the step,
 * when the whole takes too long; with the signal's reason when the turn is ended meanwhile.
 */
export function prepareTurn(turn: Turn, base: TurnContext, live: Live, control: TurnControl): Prepared | Promise<Prepared> {
  const progress = { step: "prepare", over: false };
  const stalled = () => fail(STALLED, { seconds: control.prepareSeconds, step: progress.step });
  const run = {
    signal: control.signal,
    step: (name: string) => {
      progress.step = name;
      control.step(name);
    },
    skipped: (name: string, reason: string) => control.steps.push({ name, kind: "prepare", at: Date.now(), error: `skipped: ${reason}` }),
  };
  const dispatch = (context: TurnContext): Prepared | Promise<Prepared> => {
    // Given up meanwhile: nobody may take it over any more, the second try is asking already.
    if (progress.over) throw stalled();
    refuseUnenforced(turn, live);
    const taken = live.hooks.dispatch(turn, context, run);
    return isPromise(taken) ? taken.then((stream) => choose(context, stream)) : choose(context, taken);
  };
  const choose = (context: TurnContext, taken: AsyncIterable<TierEvent> | undefined): Prepared => {
    const tier = live.tiers.get(turn.agent.tier);
    if (taken !== undefined) return { context, taken, scope: ownerOf(taken), run: () => taken };
    if (tier === undefined) throw fail("SVC_TIER_MISSING", { agent: turn.agent.id, tier: turn.agent.tier });
    return { context, scope: tier.scope, run: () => tier.thing.run(turn, context, control.signal) };
  };
  if (control.signal.aborted) throw control.signal.reason;
  const context = live.hooks.assembleContext(base, turn, run);
  const prepared = isPromise(context) ? context.then(dispatch) : dispatch(context);
  return isPromise(prepared) ? inTime(prepared, control, progress, stalled) : prepared;
}

function inTime(work: Promise<Prepared>, { signal, prepareSeconds }: TurnControl, progress: { over: boolean }, stalled: () => Error): Promise<Prepared> {
  return new Promise((resolve, reject) => {
    const end = () => {
      progress.over = true;
      clearTimeout(timer);
      signal.removeEventListener("abort", aborted);
    };
    const giveUp = (reason: unknown) => {
      end();
      reject(reason);
    };
    const timer = setTimeout(() => giveUp(stalled()), prepareSeconds * 1000);
    const aborted = () => giveUp(signal.reason);
    signal.addEventListener("abort", aborted, { once: true });
    work.then((prepared) => {
      // Given up while a tap was asked: whoever handed over a stream is told that nobody wants it any more.
      if (progress.over) return prepared.taken && abandon(prepared.taken, prepared.scope);
      end();
      resolve(prepared);
    }, giveUp);
  });
}

/** A restricted run on an engine that cannot enforce it never runs with full rights instead (000:L346). */
function refuseUnenforced(turn: Turn, live: Live): void {
  const autonomy = turn.messages[0].options?.autonomy ?? "act";
  if (autonomy === "act" || live.tiers.get(turn.agent.tier)?.thing.enforcesAutonomy === true) return;
  throw fail("SVC_AUTONOMY_UNENFORCED", { agent: turn.agent.id, tier: turn.agent.tier, autonomy });
}

/** Run the engine to its end. Never rejects: whatever happens is an outcome. `notice` is the kernel's word before the engine's first. */
export async function runTurn(prepared: Prepared, control: TurnControl, notice = ""): Promise<Outcome> {
  const seen: Seen = { text: "", notice, blocked: [] };
  try {
    await stoppable(consume(prepared, seen, control), control);
  } catch (error) {
    control.failed(prepared.scope, "tier run", error);
    seen.end ??= { type: "error", kind: String((error as { code?: unknown } | null | undefined)?.code ?? "tier"), message: reasonOf(error) };
  } finally {
    seen.over = true;
  }
  return judge(seen, control);
}

/** Settles with `work`, or when the turn was told to stop and the grace period is over. */
function stoppable(work: Promise<void>, { signal, graceMs }: TurnControl): Promise<void> {
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    const stop = () => {
      timer = setTimeout(resolve, graceMs).unref();
    };
    const over = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
    };
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
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

interface Seen {
  /** The slot is taken away: nothing of the stream counts any more. */
  over?: true;
  text: string;
  /** Told before the first word, and before the whole answer. */
  readonly notice: string;
  usage?: Usage;
  model?: string;
  session?: string;
  readonly blocked: { tool: string; reason: string }[];
  guard?: { level: "wall" | "narrow"; reason?: string };
  end?: Extract<TierEvent, { type: "done" | "error" }>;
}

/** Characters that an engine may say in a row before the loop turns; each event counts as `EVENT_COST` more. */
const BURST = 131_072;
const EVENT_COST = 64;

/** Only what the engine does itself runs as its plugin's: what the kernel and its listeners make of an event is not held against it. */
async function consume({ scope, run }: Prepared, seen: Seen, control: TurnControl): Promise<void> {
  const iterator = within(scope, () => run()[Symbol.asyncIterator]());
  const ask = () => iterator.next();
  let burst = 0;
  for (;;) {
    const next = await within(scope, ask);
    if (next.done) return;
    if (seen.over) break;
    if (!isTierEvent(next.value)) {
      const wrong = fail("SVC_TIER_EVENT", { plugin: scope.id });
      control.failed(scope, "tier run", wrong);
      seen.end = { type: "error", kind: wrong.code, message: wrong.message };
      break;
    }
    note(next.value, seen, control);
    if (seen.end !== undefined) break;
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
      within(scope, () => end.call(iterator)),
    );
}

/** Wait for the end of `work`, however it ends, but no longer than that. */
async function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms);
    const over = () => {
      clearTimeout(timer);
      resolve();
    };
    work.then(over, over);
  });
}

function note(event: TierEvent, seen: Seen, control: TurnControl): void {
  switch (event.type) {
    case "text":
      if (seen.text === "" && seen.notice !== "") control.event({ type: "text", text: seen.notice });
      seen.text += event.text;
      break;
    case "usage":
      seen.usage = countsOf(event.usage);
      if (event.model !== undefined) seen.model = event.model;
      break;
    case "session":
      seen.session = event.id;
      break;
    case "blocked":
      seen.blocked.push({ tool: event.tool, reason: event.reason });
      break;
    case "guard":
      // For the record alone: whoever listens hears of what was blocked.
      seen.guard = { level: event.level, ...(event.reason === undefined ? {} : { reason: brief(event.reason) }) };
      return;
    case "step":
      noteStep(event.step, control.steps);
      break;
    case "thinking":
    case "waiting":
      break;
    case "done":
    case "error":
      seen.end = event;
      if (event.type === "done") return;
      break;
    default:
      // A kind of event that a later version of the contract may have.
      return;
  }
  // An error is told with the result, once it is known what the task makes of it.
  if (event.type !== "error") control.event(event);
}

/** Only what it promises: the object is a plugin's, and is stored and told. */
const countsOf = ({ input, output, cacheRead, cacheCreate, cost }: Usage): Usage => ({
  input,
  output,
  ...(cacheRead === undefined ? {} : { cacheRead }),
  ...(cacheCreate === undefined ? {} : { cacheCreate }),
  ...(cost === undefined ? {} : { cost }),
});

const stepIds = new WeakMap<TraceStep, string>();

/** The step that a tier has begun and not ended under this id. */
export function openStep(steps: readonly TraceStep[], id: string): TraceStep | undefined {
  return steps.findLast((known) => stepIds.get(known) === id);
}

function noteStep(step: Extract<TierEvent, { type: "step" }>["step"], steps: TraceStep[]): void {
  const facts = {
    ...(step.output === undefined ? {} : { output: brief(step.output) }),
    ...(step.error === undefined ? {} : { error: brief(step.error) }),
  };
  const input = step.input === undefined ? {} : { input: brief(step.input) };
  if (step.phase === "end") {
    const at = steps.findLastIndex((known) => stepIds.get(known) === step.id);
    const begun = steps[at];
    if (begun !== undefined) {
      steps[at] = { ...begun, ...facts, durationMs: step.durationMs ?? Date.now() - begun.at };
      return;
    }
  }
  const made: TraceStep = {
    name: step.name,
    kind: "tool",
    at: Date.now(),
    ...input,
    ...facts,
    ...(step.durationMs === undefined ? {} : { durationMs: step.durationMs }),
  };
  stepIds.set(made, step.id);
  steps.push(made);
}

function judge(seen: Seen, control: TurnControl): Outcome {
  const { end } = seen;
  const facts = {
    ...(seen.usage === undefined ? {} : { usage: seen.usage }),
    ...(seen.model === undefined ? {} : { model: seen.model }),
    ...(seen.session === undefined ? {} : { sessionId: seen.session }),
    ...(seen.blocked.length === 0 ? {} : { autonomyBlocks: seen.blocked }),
    ...(seen.guard === undefined ? {} : { guard: seen.guard }),
  };
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
