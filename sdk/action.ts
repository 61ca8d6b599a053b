import type { ObjectSchema, Schema } from "./config.ts";
import type { Topic } from "./delegation.ts";
import type { TurnOptions } from "./messages.ts";

/** Caller and limits of one call of an action. */
export interface ActionCall {
  readonly signal: AbortSignal;
  /** Surface of the call: `http`, `cli`, `agent`, `workflow`. */
  readonly door: string;
  /** The agent that calls, where one does. */
  readonly agent?: string;
  /** The task whose trace the call is a step of. */
  readonly taskId?: string;
  /** Agents that already worked on the chain the call belongs to, oldest first; `agent` itself is not among them. */
  readonly chain?: readonly string[];
  /** Session of the calling program, under the program's own name for it. Unverified. */
  readonly session?: string;
  /** Topic of that chain. */
  readonly topic?: Topic;
  /** Autonomy of the task; anything the action starts on its behalf may do no more. Absent: unrestricted. */
  readonly autonomy?: NonNullable<TurnOptions["autonomy"]>;
  /**
   * Idempotency key: every repetition of the same call has the same one, such as after a crash. Requests and programs that the action starts receive
   * it (`Idempotency-Key`, `SVC_IDEMPOTENCY_KEY`), so that they can deduplicate.
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
  /** Reason why the action cannot be used at present: it stays in the catalogue and is offered to no agent. Read each time, so that it may be a getter. */
  readonly unusable?: string | undefined;
  /**
   * A run of restricted autonomy may call the action without asking: it changes nothing and notifies no one, or restricts the work it starts to
   * `ActionCall.autonomy`. Without it such a run asks a person first, or is refused.
   */
  readonly restricted?: true;
  /** Idempotent: called again with the same `ActionCall.key`, it continues the first call, and does nothing twice. */
  readonly repeatable?: true;
  run(input: Record<string, unknown>, call: ActionCall): Promise<unknown>;
}

/** Result of an action call, the same for all callers (000:L83). `error` is present only after a failure. */
export interface ActionEnvelope {
  readonly action: string;
  readonly status: "ok" | "error";
  readonly input: unknown;
  readonly output?: unknown;
  readonly error?: string;
  readonly durationMs: number;
}

/** Caller of an action, without the fields that the kernel adds. */
export interface ActionCaller extends Omit<ActionCall, "signal"> {
  readonly signal?: AbortSignal;
  /** The id of a `step` that the calling tier has begun for this call: the trace then has the call there, and not once more. */
  readonly step?: string;
  /** A person has agreed to this very call: a run of restricted autonomy may have it. */
  readonly approved?: true;
  /** Redacted input for envelope and trace, where the real one holds secrets. */
  readonly shown?: unknown;
}

/** Capability `actions`: call what other plugins provided. Never throws: failures are reported in the envelope. Each call is a step in a trace. */
export interface Actions {
  list(): readonly Pick<Action, "name" | "description" | "input" | "output" | "timeoutMs" | "unusable" | "restricted" | "repeatable">[];
  run(name: string, input: unknown, caller: ActionCaller): Promise<ActionEnvelope>;
}
