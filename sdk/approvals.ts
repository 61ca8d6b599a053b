import type { Target } from "./messages.ts";

/** A decision that a person has to make: `Approvals.ask`. Plain JSON: it is stored before anyone is asked. */
export interface ApprovalQuestion {
  /** Category of the question as one word, such as `job`. Listeners receive the decisions of their kind: see `onDecided`. */
  readonly kind: string;
  /** One line for people: the effect of an approval. */
  readonly title: string;
  /** Everything that the person must see to decide: the command, the text, the job. Shown verbatim, without markup. */
  readonly detail?: string;
  /** Digest of the action itself: `Approvals.digest`. The decision carries it: carry out only an action that still has this digest. */
  readonly digest: string;
  /** One to seven; default `approve` and `reject`. */
  readonly choices?: readonly ApprovalChoice[];
  /** Milliseconds until it counts as refused; default `approvals.defaultExpiryDays`, at most `approvals.maxExpiryDays`. */
  readonly expiresMs?: number;
  /**
   * Unix time in milliseconds before which no chat is asked, such as during quiet hours. The question is listed from the start, and lives at least a
   * day longer.
   */
  readonly askAt?: number;
  /** Asker, as text for people: `agent ada`, `plugin acme`. */
  readonly requestedBy: string;
  /** The agent that asks or is concerned: it is told the decision, and may wait for it with a tool. */
  readonly agent?: string;
  /**
   * The run that waits for the answer. The question ends with that run and does not survive the daemon; it cannot be postponed, the run itself tells
   * its agent, and it expires after `approvals.permissionMinutes` unless `expiresMs` says otherwise.
   */
  readonly taskId?: string;
  /** Chat to ask besides the configured destination. */
  readonly destination?: Pick<Target, "channel" | "chat" | "account">;
  /**
   * Key of the waiting thing: with the same digest it is the same question, decided or not; with another digest the open one is withdrawn and a new
   * one asked.
   */
  readonly key?: string;
}

/** One of the answers that a person may choose. */
export interface ApprovalChoice {
  /** At most 16 of `a-z`, `0-9`, `.`, `_` and `-`, and not `later`. */
  readonly id: string;
  readonly label: string;
  /** Choosing it rejects the question. Default false: it approves. */
  readonly rejects?: true;
}

/** Outcome of a question. */
export interface ApprovalDecision {
  readonly id: string;
  readonly kind: string;
  readonly digest: string;
  readonly key?: string;
  /** Every state but `approved` means no. `expired`: no answer in time. `withdrawn`: the asker cancelled the question. */
  readonly state: "approved" | "rejected" | "expired" | "withdrawn";
  /** The id of the choice, where a person chose. */
  readonly choice?: string;
  /** Name of the person who decided. */
  readonly by?: string;
  /** Where: `command line`, `page`, or the name of a channel. */
  readonly surface?: string;
  /** Why it was withdrawn. */
  readonly reason?: string;
  /** Unix time in milliseconds. */
  readonly at: number;
}

/** A stored question. Times in Unix milliseconds. */
export interface Approval extends Omit<ApprovalQuestion, "expiresMs" | "askAt" | "choices"> {
  readonly id: string;
  readonly choices: readonly ApprovalChoice[];
  readonly askedAt: number;
  readonly expiresAt: number;
  /** Put off until then. */
  readonly laterAt?: number;
  readonly state: "open" | ApprovalDecision["state"];
  readonly decision?: ApprovalDecision;
}

/** The person who answers, and on which surface. */
export interface ApprovalAnswerer {
  readonly by: string;
  readonly surface: string;
}

/**
 * Service `approvals`: questions to the people who run the daemon. A question is a stored row: it outlives the daemon, is asked on the configured
 * chat, on a page and on the command line, and the first answer counts. A timeout is a no.
 */
export interface Approvals {
  /** Stores the question and resolves; from then on people are asked. Throws `SVC_APPROVAL_QUESTION` for an invalid question. */
  ask(question: ApprovalQuestion): Promise<{ readonly id: string }>;
  /** Resolves with the decision, at once if it was made already. Rejects when `signal` aborts, with its reason; the question stays. */
  wait(id: string, signal?: AbortSignal): Promise<ApprovalDecision>;
  get(id: string): Promise<Approval | undefined>;
  /** Newest first; those of the last 30 days. `limit` default 100, at most 1000. */
  list(query?: { readonly open?: true; readonly kind?: string; readonly agent?: string; readonly limit?: number }): Promise<readonly Approval[]>;
  /**
   * Answers with one of its choices. Throws `SVC_APPROVAL_UNKNOWN` (404), `SVC_APPROVAL_CHOICE` (400), `SVC_APPROVAL_DECIDED` (409) naming the first
   * answerer and the time, or `SVC_APPROVAL_OVER` (410) if it expired or was withdrawn.
   */
  decide(id: string, choice: string, answerer: ApprovalAnswerer): Promise<ApprovalDecision>;
  /** Postpones the question by `ms`, default `approvals.laterHours`. Throws as `decide` does, and `SVC_APPROVAL_RUN` (409) if a run waits for it. */
  later(id: string, ms: number | undefined, answerer: ApprovalAnswerer): Promise<Approval>;
  /** Withdraws a question: the action is no longer wanted. False when it is decided or unknown. */
  withdraw(id: string, reason: string): Promise<boolean>;
  /**
   * Registers the listener for decisions about questions of this kind, except those of a run. Delivery is at least once, over restarts too, until
   * `hear` resolves; a rejection is retried. One listener a kind, the last one wins: register in `start`, and again when the service was gone.
   * Returns the function that removes it.
   */
  onDecided(kind: string, hear: (decision: ApprovalDecision) => Promise<void>): () => void;
  /** The digest of an action: SHA-256 of its canonical JSON, so that the order of keys does not matter. */
  digest(action: unknown): Promise<string>;
}
