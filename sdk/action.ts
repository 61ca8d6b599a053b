import type { ObjectSchema, Schema } from "./config.ts";
import type { Topic } from "./delegation.ts";
import type { TurnOptions } from "./messages.ts";

/** Who calls an action, and the limits of the call. */
export interface ActionCall {
  readonly signal: AbortSignal;
  /** The door it came through: `http`, `cli`, `agent`, `workflow`. */
  readonly door: string;
  /** The agent that calls, where one does. */
  readonly agent?: string;
  /** The task whose trace the call is a step of. */
  readonly taskId?: string;
  /** Agents that already worked on the chain the call belongs to, oldest first; `agent` itself is not among them. */
  readonly chain?: readonly string[];
  /** The session of the program that calls, as it names it: a claim that nobody has verified. */
  readonly session?: string;
  /** What that chain is about. */
  readonly topic?: Topic;
  /** What the task may do: what the action starts on its behalf may do no more. Absent where nobody restricts it. */
  readonly autonomy?: NonNullable<TurnOptions["autonomy"]>;
  /**
   * Names this effect: the same call has it each time it is repeated, such as after a crash. What the action calls is handed it
   * (`Idempotency-Key`, `SVC_IDEMPOTENCY_KEY`), so that it can tell a repetition.
   */
  readonly key?: string;
}

/** Typed work that agents, workflows, the command line and HTTP callers share. */
export interface Action {
  /** `http.fetch`, `acme.send` ... */
  readonly name: string;
  readonly description: string;
  /** Checked before the handler runs; unknown keys are refused. */
  readonly input: ObjectSchema;
  /** Checked after the handler returned: a wrong shape is an error. Not every action answers an object. */
  readonly output: Schema;
  /** Milliseconds. */
  readonly timeoutMs: number;
  /** Why it cannot be used here now: it stays in the catalogue and is offered to no agent. Read each time, so that it may be a getter. */
  readonly unusable?: string | undefined;
  /**
   * A run of restricted autonomy may call it as it is: it changes nothing and tells nobody, or holds what it starts to `ActionCall.autonomy`.
   * Without it such a run asks a person first, or is refused.
   */
  readonly restricted?: true;
  /** Called again with the same `ActionCall.key`, it goes on with the first call, and does nothing twice. */
  readonly repeatable?: true;
  run(input: Record<string, unknown>, call: ActionCall): Promise<unknown>;
}

/** What every door answers (000:L83). `error` is there only when it failed. */
export interface ActionEnvelope {
  readonly action: string;
  readonly status: "ok" | "error";
  readonly input: unknown;
  readonly output?: unknown;
  readonly error?: string;
  readonly durationMs: number;
}

/** Who calls, without what the kernel adds. */
export interface ActionCaller extends Omit<ActionCall, "signal"> {
  readonly signal?: AbortSignal;
  /** The id of a `step` that the calling tier has begun for this call: the trace then has the call there, and not once more. */
  readonly step?: string;
  /** A person has agreed to this very call: a run of restricted autonomy may have it. */
  readonly approved?: true;
  /** What the envelope and the trace show as input, where the real one holds secrets. */
  readonly shown?: unknown;
}

/** Capability `actions`: call what other plugins provided. Never throws: a failure is in the envelope. Each call is a step in a trace. */
export interface Actions {
  list(): readonly Pick<Action, "name" | "description" | "input" | "output" | "timeoutMs" | "unusable" | "restricted" | "repeatable">[];
  run(name: string, input: unknown, caller: ActionCaller): Promise<ActionEnvelope>;
}
