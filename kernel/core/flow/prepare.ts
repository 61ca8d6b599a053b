import type { Route, TierEvent, TraceStep, Turn, TurnContext, Usage } from "@svc/sdk";
import { enforcesAutonomy, keepsSessions } from "@svc/sdk/host";
import { fail } from "../../base/errors.ts";
import { isPromise } from "../../base/promise.ts";
import { abandon } from "../host/abandon.ts";
import type { AgentSettings } from "../host/agents.ts";
import { callableBy } from "../host/callable-actions.ts";
import { ownerOf } from "../host/hooks.ts";
import type { Live } from "../host/live.ts";
import type { Scope } from "../host/scope.ts";
import type { AnswerStream } from "./answer-stream.ts";
import type { Task } from "./live-task.ts";
import { askedOf, runSecondsOf } from "./routing.ts";
import { RunClock } from "./run-clock.ts";
import type { Ending } from "./run-facts.ts";
import type { Slot } from "./slot.ts";
import type { TurnEnds } from "./turn-end.ts";

/** Milliseconds for an engine's own SIGTERM, 3 s, SIGKILL. */
const GRACE_MS = 5_000;

/** Values that the pipeline passes to a turn: its limits, its abort signal, and the callbacks for its events. */
export interface TurnControl {
  /** The stop switch; its reason is an `Ending`. */
  readonly abort: AbortController;
  readonly signal: AbortSignal;
  /** Ends a run that takes too long. */
  readonly clock: RunClock;
  readonly slot: Slot<Task>;
  /** Usage of all runs of the turn so far: of its first try, and of each that replaced one. */
  usage?: Usage;
  /** A plugin that took the turn over has returned it: the `dispatch` taps are not called again. */
  passed?: true;
  /** Seconds for the whole preparation. */
  readonly prepareSeconds: number;
  /** Grace period of an engine after an abort, in milliseconds. */
  readonly graceMs: number;
  readonly toolUseRequired: readonly string[];
  /** The trace's steps, in order; appended to and completed in place. */
  readonly steps: TraceStep[];
  /** Resolves when this run is counted on disk, which it may be already: a crash after the engine has begun must not give it another try for nothing. */
  readonly counted: Promise<void> | undefined;
  step(name: string): void;
  readonly stream: AnswerStream;
  readonly ends: TurnEnds;
  failed(scope: Scope, what: string, error: unknown): void;
}

/** The part that the preparation needs. */
export type PrepareControl = Pick<TurnControl, "signal" | "prepareSeconds" | "steps" | "step" | "passed">;

/** Inputs of a run beside its turn. */
export interface RunRequest extends Pick<TurnControl, "stream" | "ends" | "counted" | "failed" | "slot"> {
  readonly lead: Task;
  readonly settings: AgentSettings;
  /** The kernel's word before the answer. */
  readonly notice: string;
}

/** The limits and switches of a turn, by its agent's settings. */
export function controlOf({ lead, settings, stream, ends, counted, failed, slot }: RunRequest): TurnControl {
  const { record, abort } = lead;
  const runSeconds = runSecondsOf(record.inbound, settings);
  return {
    abort,
    signal: abort.signal,
    prepareSeconds: settings.preSpawnTimeoutSec,
    clock: new RunClock(runSeconds, () => abort.abort({ kind: "timeout", text: `timed out after ${runSeconds}s` } satisfies Ending)),
    slot,
    graceMs: GRACE_MS,
    toolUseRequired: settings.toolUseRequired,
    steps: record.steps,
    counted,
    step(name) {
      lead.step = name;
    },
    stream,
    ends,
    failed,
  };
}

/** The turn of a batch: one message, or several that were collected. */
export function turnOf(batch: readonly [Task, ...Task[]], { agent, contextStrategy }: AgentSettings, ended: Turn["ended"], startedAt: number): Turn {
  const [{ record, live, movedFrom }, ...merged] = batch;
  const tier = live.tiers.get(agent.tier)?.thing;
  return {
    id: record.id,
    agent,
    route: record.route as Route,
    messages: [askedOf(record), ...merged.map((task) => askedOf(task.record))],
    strategy: record.inbound.options?.contextStrategy ?? contextStrategy,
    nativeSessions: tier !== undefined && keepsSessions(tier),
    actions: callableBy(agent, live),
    rootId: record.inbound.rootId,
    attempt: 1,
    startedAt,
    ...(movedFrom === undefined ? {} : { movedFrom }),
    ended,
  };
}

/** Preparation took too long: the turn may be tried once more from the start. */
export const STALLED = "SVC_RUN_STALLED";

/** A context ready to run, and the engine that will. */
export interface Prepared {
  readonly context: TurnContext;
  /** Stream returned by a `dispatch` tap. */
  readonly taken?: AsyncIterable<TierEvent>;
  /** Prepares the turn for the agent's own tier after a plugin has returned it. Throws `SVC_TIER_MISSING`. */
  readonly own?: () => Prepared;
  /** The tap may only refuse the turn by an error, not run it: any other answer leaves the turn to its own engine. */
  readonly refusesOnly?: boolean;
  /** Prepares the same engine once more; absent for a tap's stream. */
  readonly again?: (context: TurnContext) => Prepared;
  /** The engine stores conversations itself. */
  readonly nativeSessions?: boolean;
  /** Scope of the plugin whose code runs it. */
  readonly scope: Scope;
  readonly run: () => AsyncIterable<TierEvent>;
}

/**
 * Assemble the context and choose the engine: at once, when no tap has to wait for anything. Each tap has a limit of its own after
 * which it is skipped, so that a slow one does not use up the whole. Throws or rejects with `SVC_RUN_STALLED`, naming the step,
 * when the whole takes too long; with the signal's reason when the turn is ended meanwhile.
 */
export function prepareTurn(turn: Turn, base: TurnContext, live: Live, control: PrepareControl): Prepared | Promise<Prepared> {
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
    // Given up meanwhile: the second try is asking already, and only its taps may take the turn over.
    if (progress.over) throw stalled();
    refuseUnenforced(turn, live);
    if (control.passed) return own(context);
    const taken = live.hooks.dispatch(turn, context, run);
    return isPromise(taken) ? taken.then((stream) => choose(context, stream)) : choose(context, taken);
  };
  const choose = (context: TurnContext, taken: AsyncIterable<TierEvent> | undefined): Prepared =>
    taken === undefined ? own(context) : { context, taken, refusesOnly, scope: ownerOf(taken), own: () => own(context), run: () => taken };
  const { node } = turn.route;
  // A local tap that takes over a turn cannot be restricted to less than full rights (CRON-08); another node restricts its own engine.
  const refusesOnly = node === undefined && autonomyOf(turn) !== "act";
  const own = (context: TurnContext): Prepared => {
    if (node !== undefined) throw fail("SVC_NODE_UNSERVED", { agent: turn.agent.id, node });
    const tier = live.tiers.get(turn.agent.tier);
    if (tier === undefined) throw fail("SVC_TIER_MISSING", { agent: turn.agent.id, tier: turn.agent.tier });
    return { context, scope: tier.scope, again: own, nativeSessions: turn.nativeSessions, run: () => tier.thing.run(turn, context, control.signal) };
  };
  if (control.signal.aborted) throw control.signal.reason;
  const context = node === undefined ? live.hooks.assembleContext(base, turn, run) : base;
  const prepared = isPromise(context) ? context.then(dispatch) : dispatch(context);
  return isPromise(prepared) ? inTime(prepared, control, progress, stalled) : prepared;
}

function inTime(work: Promise<Prepared>, { signal, prepareSeconds }: PrepareControl, progress: { over: boolean }, stalled: () => Error): Promise<Prepared> {
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
      // Aborted during a tap: its plugin is asked to end the returned stream.
      if (progress.over) return prepared.taken && abandon(prepared.taken, prepared.scope);
      end();
      resolve(prepared);
    }, giveUp);
  });
}

const autonomyOf = ({ messages }: Turn): "report" | "propose" | "act" => messages[0].options?.autonomy ?? "act";

/** A restricted run on an engine that cannot enforce it never runs with full rights instead (000:L346). */
function refuseUnenforced(turn: Turn, live: Live): void {
  // Another node judges it by the engine that its agent has there.
  if (turn.route.node !== undefined) return;
  const autonomy = autonomyOf(turn);
  const tier = live.tiers.get(turn.agent.tier)?.thing;
  if (autonomy === "act" || (tier !== undefined && enforcesAutonomy(tier, autonomy))) return;
  throw fail("SVC_AUTONOMY_UNENFORCED", { agent: turn.agent.id, tier: turn.agent.tier, autonomy });
}
