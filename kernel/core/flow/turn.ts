import { onAbort, reasonOf, type TierEvent, type Turn, traitsOf, type Usage, withTimeout } from "@svc/sdk";
import { fail } from "../../base/errors.ts";
import { isTierEvent } from "../../base/hook-answers.ts";
import { isPromise } from "../../base/promise.ts";
import { inScope } from "../host/call.ts";
import type { Live } from "../host/live.ts";
import { controlOf, type Prepared, prepareTurn, type RunRequest, STALLED, type TurnControl } from "./prepare.ts";
import { baseContext, endedOutcome, errorOutcome } from "./routing.ts";
import type { Ending, Outcome, RunFacts } from "./run-facts.ts";
import { brief, noteStep } from "./trace-steps.ts";
import { freshSessionNotice } from "./words.ts";

/**
 * Prepare and run a turn to its end. A preparation that stalls is tried once more from the start; a second stall is a time-out
 * whose text tells the sender to send it again. A turn whose session is lost before a word of it starts anew, once, without it. Never
 * rejects.
 */
export async function attemptTurn(given: Turn, live: Live, request: RunRequest): Promise<Outcome> {
  const control = controlOf(request);
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

/** Run the engine to its end. Never rejects: whatever happens is an outcome. `notice` is the kernel's word before the engine's first. */
export async function runTurn(prepared: Prepared, control: TurnControl, notice = ""): Promise<Outcome> {
  const seen: Seen = { text: "", notice, facts: {} };
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

/** What a run has said so far. */
interface Seen {
  /** The slot is taken away: nothing of the stream counts any more. */
  over?: true;
  text: string;
  /** Told before the first word, and before the whole answer. */
  readonly notice: string;
  readonly facts: { -readonly [Key in keyof RunFacts]: RunFacts[Key] };
  end?: Extract<TierEvent, { type: "done" | "error" }>;
}

/** Characters that an engine may say in a row before the loop turns; each event counts as `EVENT_COST` more. */
const BURST = 131_072;
const EVENT_COST = 64;

/** Only what the engine does itself runs as its plugin's: what the kernel and its listeners make of an event is not held against it. */
async function consume({ scope, run }: Prepared, seen: Seen, control: TurnControl): Promise<void> {
  const iterator = inScope(scope, () => run()[Symbol.asyncIterator]());
  const ask = () => iterator.next();
  let burst = 0;
  for (;;) {
    const next = await inScope(scope, ask);
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
      inScope(scope, () => end.call(iterator)),
    );
}

/** Wait for the end of `work`, however it ends, but no longer than that. */
async function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  const ended = work.then(
    () => undefined,
    () => undefined,
  );
  await withTimeout(ended, ms, () => undefined);
}

function note(event: TierEvent, seen: Seen, control: TurnControl): void {
  switch (event.type) {
    case "text":
      if (seen.text === "" && seen.notice !== "") control.stream.event({ type: "text", text: seen.notice });
      seen.text += event.text;
      break;
    case "usage":
      seen.facts.usage = countsOf(event.usage);
      if (event.model !== undefined) seen.facts.model = event.model;
      break;
    case "session":
      seen.facts.sessionId = event.id;
      break;
    case "blocked":
      seen.facts.autonomyBlocks = [...(seen.facts.autonomyBlocks ?? []), { tool: event.tool, reason: event.reason }];
      break;
    case "guard":
      // For the record alone: listeners hear what was blocked.
      seen.facts.guard = { level: event.level, ...(event.reason === undefined ? {} : { reason: brief(event.reason) }) };
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
  if (event.type !== "error") control.stream.event(event);
}

/** Only what it promises: the object is a plugin's, and is stored and told. */
const countsOf = ({ input, output, cacheRead, cacheCreate, cost }: Usage): Usage => ({
  input,
  output,
  ...(cacheRead === undefined ? {} : { cacheRead }),
  ...(cacheCreate === undefined ? {} : { cacheCreate }),
  ...(cost === undefined ? {} : { cost }),
});

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
