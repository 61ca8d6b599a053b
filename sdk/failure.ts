/** Consequences of a kind of failure. */
export interface FailureTraits {
  /** The same turn may succeed later, unchanged. */
  readonly retryable?: boolean;
  /** The engine's session is unusable: the conversation continues in a new one. */
  readonly sessionLost?: boolean;
}

/**
 * The kinds of failure, so that one condition has one name on every engine. `context`: the conversation no longer fits into the model; `session`: the
 * engine does not know the session any more; `cut`: the answer broke off; `no-result`: the engine ended without a result; `engine`: anything else
 * that it reports.
 */
export const FAILURES = {
  // The configuration says too little, or the account may not.
  "no-key": {},
  "no-endpoint": {},
  "no-model": {},
  auth: {},
  billing: {},
  budget: {},
  // The vendor cannot now.
  "rate-limit": { retryable: true },
  overloaded: { retryable: true },
  server: { retryable: true },
  network: { retryable: true },
  // The request.
  request: {},
  context: { sessionLost: true },
  session: { sessionLost: true },
  // The answer.
  cut: { retryable: true },
  "no-answer": {},
  "step-limit": {},
  // The program that is the engine.
  program: {},
  protocol: {},
  "no-result": { retryable: true },
  engine: {},
  cancelled: {},
} as const satisfies Readonly<Record<string, FailureTraits>>;

/** The kinds of failure whose meaning the kernel knows. */
export type FailureKind = keyof typeof FAILURES;

/** Last event of a tier's stream when it failed. Flags that are unset follow from the kind (`FAILURES`); a custom kind has only its flags. */
export interface TierFailure extends FailureTraits {
  readonly type: "error";
  readonly kind: FailureKind | (string & {});
  readonly message: string;
  /** Retry delay that the vendor asks for. */
  readonly retryAfterMs?: number;
}

/** Creates a tier's error event. `facts` override the defaults of the kind. */
export function tierFailure(kind: FailureKind, message: string, facts: FailureTraits & { readonly retryAfterMs?: number } = {}): TierFailure {
  return { type: "error", kind, message, ...facts };
}

/** Returns the traits of a failure: its own flags, else those of its kind. */
export function traitsOf({ kind, retryable, sessionLost }: Pick<TierFailure, "kind" | "retryable" | "sessionLost">): Required<FailureTraits> {
  const known: FailureTraits = Object.hasOwn(FAILURES, kind) ? FAILURES[kind as FailureKind] : {};
  return { retryable: retryable ?? known.retryable ?? false, sessionLost: sessionLost ?? known.sessionLost ?? false };
}
