/** What a kind of failure means for the decision what to do next. */
export interface FailureTraits {
  /** The same turn may succeed later, unchanged. */
  readonly retryable?: boolean;
  /** The engine's session is of no more use: the conversation goes on in a new one. */
  readonly sessionLost?: boolean;
}

/**
 * The kinds of failure that engines tell, so that one condition has one name whatever the engine. `context`: the conversation no
 * longer fits into the model; `session`: the engine does not know the session any more; `cut`: the answer broke off; `no-result`:
 * the engine ended without a result; `engine`: anything else that it reports.
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

/** How a tier's stream ends when it failed. What the flags leave open, the kind says (`FAILURES`); a kind of its own has no more than its flags. */
export interface TierFailure extends FailureTraits {
  readonly type: "error";
  readonly kind: FailureKind | (string & {});
  readonly message: string;
  /** How long the vendor asks to wait before another try. */
  readonly retryAfterMs?: number;
}

/** Makes a tier's error event. `facts` say what differs from what the kind says. */
export function tierFailure(kind: FailureKind, message: string, facts: FailureTraits & { readonly retryAfterMs?: number } = {}): TierFailure {
  return { type: "error", kind, message, ...facts };
}

/** What a failure means: its own flags, else those of its kind. */
export function traitsOf({ kind, retryable, sessionLost }: Pick<TierFailure, "kind" | "retryable" | "sessionLost">): Required<FailureTraits> {
  const known: FailureTraits = Object.hasOwn(FAILURES, kind) ? FAILURES[kind as FailureKind] : {};
  return { retryable: retryable ?? known.retryable ?? false, sessionLost: sessionLost ?? known.sessionLost ?? false };
}
