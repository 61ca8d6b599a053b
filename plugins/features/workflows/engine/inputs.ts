import type { Entry, RunEntry, RunError, RunHead, Wait } from "./entries.ts";
import type { RunState, RunStatus } from "./run-state.ts";

/** Fields of an input, by its kind. Every input has `at`; `step` is a step id. */
export interface InputFields {
  /** The first input of a run. `prior` is what `restartFrom` made of another journal. */
  start: { readonly run: RunHead; readonly prior?: RunState };
  /** The host takes the step: counted as an attempt. `input` is what an effect is given, as it shall stand in the journal. */
  claim: { readonly step: string; readonly boot?: string; readonly input?: unknown };
  /**
   * The step has done its work. `port` of branch, `ports` of multiChoice (the cases that are true; none is `else`); `output` of the
   * others. For `fail` the output is `{message?, details?}`; branch, multiChoice and cancelNodes hand on what they got.
   */
  result: { readonly step: string; readonly port?: string; readonly ports?: readonly string[]; readonly output?: unknown };
  /** An attempt failed. `retryable` decides if it is set, else the code does. INTERRUPTED is handled by the node's `onInterrupted`. */
  fault: { readonly step: string; readonly error: RunError; readonly retryable?: boolean };
  /**
   * A claimed step waits now. timer: `until`. task: the host has made the task with the id `taskIdOf` gives, `due` where it has one.
   * signal: `for` is the name; `matches` are the ids of the stored signals that its `match` accepts (default: all of the name).
   * child: `for` is the run. effect: `for` says what it is.
   */
  park: { readonly step: string; readonly wait: Omit<Wait, "since">; readonly matches?: readonly number[] };
  /** The evaluated list of a `forEach`. */
  items: { readonly step: string; readonly items: readonly unknown[]; readonly need?: number };
  /** The time has come of a timer, or of a task's due date. */
  due: { readonly step: string };
  /** The wait before the next attempt is over: the host takes the step, as with `claim`. */
  retryDue: { readonly step: string; readonly boot?: string; readonly input?: unknown };
  /** Without a step: the run's own time is up. */
  timeout: { readonly step?: string };
  /** A person answers a task or an incident; the host has checked the form. `port` of an incident: again, skip (`values.value`), fail. */
  submit: { readonly step: string; readonly port: string; readonly values: unknown; readonly by?: string };
  comment: { readonly step: string; readonly text: string; readonly by?: string };
  childEnded: { readonly step: string; readonly runId: string; readonly status: RunStatus; readonly output?: unknown; readonly error?: RunError };
  /** `matches`: the waiting steps whose `match` accepts it (default: all that wait for the name). */
  signal: {
    readonly name: string;
    readonly payload?: unknown;
    readonly key?: string;
    /** Default true. */
    readonly stored?: boolean;
    readonly matches?: readonly string[];
  };
  pause: { readonly by?: string; readonly reason?: string };
  resume: { readonly by?: string; readonly reason?: string };
  cancel: { readonly by?: string; readonly reason?: string };
}

/** An input of a run. `at` is its time in milliseconds since the epoch: the engine has no clock. */
export type Input<K extends keyof InputFields = keyof InputFields> = {
  [One in K]: { readonly kind: One; readonly at: number } & InputFields[One];
}[K];

/** Commands for the host once the entries are stored, by name. All are idempotent. */
export interface CommandFields {
  /** The step is ready: give `claim` when it is its turn. */
  claim: { readonly step: string };
  /** set, branch, multiChoice, emitSignal, cancelNodes, fail, end were claimed: read their templates and give `result` or `fault`. */
  evaluate: { readonly step: string };
  /** agent, action were claimed: run it with the key `<run>/<step>` and give `result` or `fault`; `park` with `effect` if it lasts. */
  effect: { readonly step: string; readonly attempt: number };
  /** userTask, approval were claimed: make the task and give `park`. */
  openTask: { readonly step: string; readonly taskId: string };
  /** Ask the owner what to do with a step that was interrupted or has used up its attempts; it waits already. */
  openIncident: { readonly step: string; readonly taskId: string; readonly error: RunError };
  /** timer, waitSignal were claimed: read their templates and give `park`. */
  park: { readonly step: string };
  /** forEach was claimed: read its list and give `items`. */
  items: { readonly step: string };
  /** subProcess was claimed: start it with this key (or find it), give `park`. */
  startChild: { readonly step: string; readonly startKey: string; readonly entry: RunEntry };
  /** The effect of the step is no longer needed. */
  cancelEffect: { readonly step: string };
  closeTask: { readonly step: string; readonly taskId: string };
  cancelChild: { readonly step: string; readonly runId: string };
  pauseChild: { readonly step: string; readonly runId: string };
  resumeChild: { readonly step: string; readonly runId: string };
  /** The run is over: tell its parent, drop what it kept. */
  ended: { readonly status: RunStatus };
}

/** One thing for the host to do. */
export type Command<K extends keyof CommandFields = keyof CommandFields> = { [One in K]: { readonly do: One } & CommandFields[One] }[K];

/** Why an input changed nothing. */
export type Refusal = "terminal" | "paused" | "not-paused" | "not-live" | "not-waiting" | "unknown-port" | "duplicate" | "started";

/** Result of `decide`. Without entries there is nothing to store, and `refused` says why. */
export interface Decision {
  readonly state: RunState;
  readonly entries: readonly Entry[];
  readonly commands: readonly Command[];
  readonly refused?: Refusal;
}
