import type { Target } from "./messages.ts";

/** Something that a person shall decide: `Approvals.ask`. Plain JSON: it is stored before anybody is asked. */
export interface ApprovalQuestion {
  /** What sort of thing waits, in one word, such as `job`. Decisions are handed to the one who listens for it: see `onDecided`. */
  readonly kind: string;
  /** One line for people: what happens when it is approved. */
  readonly title: string;
  /** All that the person must see to decide: the command, the text, the job. Shown as it is, without markup. */
  readonly detail?: string;
  /** Of the action itself: `Approvals.digest`. The decision carries it: carry out only what still has it. */
  readonly digest: string;
  /** One to seven; default `approve` and `reject`. */
  readonly choices?: readonly ApprovalChoice[];
  /** Milliseconds until it counts as refused; default `approvals.defaultExpiryDays`, at most `approvals.maxExpiryDays`. */
  readonly expiresMs?: number;
  /** Unix time in milliseconds before which no chat is asked, as in quiet hours. The question stands in lists from the start, and lives at least a day longer. */
  readonly askAt?: number;
  /** Who asks, for people: `agent ada`, `plugin acme`. */
  readonly requestedBy: string;
  /** The agent that asks or is meant: it is told the decision, and may wait for it with a tool. */
  readonly agent?: string;
  /**
   * The run that waits for the answer. The question ends with that run and does not survive the daemon; it cannot be put off, its agent is
   * told by the run itself, and it expires after `approvals.permissionMinutes` unless `expiresMs` says otherwise.
   */
  readonly taskId?: string;
  /** Where it is asked besides the configured destination. */
  readonly destination?: Pick<Target, "channel" | "chat" | "account">;
  /**
   * Of the thing that waits: asked again with the same digest it is the same question, decided or not; with another digest the open one
   * is withdrawn and a new one asked.
   */
  readonly key?: string;
}

/** One of the answers that a person may choose. */
export interface ApprovalChoice {
  /** At most 16 of `a-z`, `0-9`, `.`, `_` and `-`, and not `later`. */
  readonly id: string;
  readonly label: string;
  /** Chosen, it rejects. Default false: it approves. */
  readonly rejects?: true;
}

/** How a question ended. */
export interface ApprovalDecision {
  readonly id: string;
  readonly kind: string;
  readonly digest: string;
  readonly key?: string;
  /** Everything but `approved` is a no. `expired`: nobody answered in time. `withdrawn`: who asked no longer wants to know. */
  readonly state: "approved" | "rejected" | "expired" | "withdrawn";
  /** The id of the choice, where a person chose. */
  readonly choice?: string;
  /** Who decided, for people. */
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

/** Who answers, and where. */
export interface ApprovalAnswerer {
  readonly by: string;
  readonly surface: string;
}

/**
 * Service `approvals`: questions to the people who run the daemon. A question is a stored row: it outlives the daemon, is asked on the
 * configured chat, on a page and on the command line, and the first answer counts. No answer in time is a no.
 */
export interface Approvals {
  /** Stores the question and resolves; it is asked from then on. Throws `SVC_APPROVAL_QUESTION` for one that cannot be asked. */
  ask(question: ApprovalQuestion): Promise<{ readonly id: string }>;
  /** Resolves with the decision, at once for one that is there. Rejects when `signal` aborts, with its reason; the question stays. */
  wait(id: string, signal?: AbortSignal): Promise<ApprovalDecision>;
  get(id: string): Promise<Approval | undefined>;
  /** Newest first; those of the last 30 days. `limit` default 100, at most 1000. */
  list(query?: { readonly open?: true; readonly kind?: string; readonly agent?: string; readonly limit?: number }): Promise<readonly Approval[]>;
  /**
   * Answers with one of its choices. Throws `SVC_APPROVAL_UNKNOWN` (404), `SVC_APPROVAL_CHOICE` (400), `SVC_APPROVAL_DECIDED` (409) with
   * who was first and when, or `SVC_APPROVAL_OVER` (410) for one that expired or was withdrawn.
   */
  decide(id: string, choice: string, answerer: ApprovalAnswerer): Promise<ApprovalDecision>;
  /** Asks again after `ms`, default `approvals.laterHours`. Throws as `decide` does, and `SVC_APPROVAL_RUN` (409) where a run waits. */
  later(id: string, ms: number | undefined, answerer: ApprovalAnswerer): Promise<Approval>;
  /** Takes a question back: the action is no longer wanted. False when it is decided or unknown. */
  withdraw(id: string, reason: string): Promise<boolean>;
  /**
   * Hands on decisions about questions of this kind, but for those of a run: at least once, over restarts too, until `hear` resolves; one
   * that rejects is tried again. One listener a kind, the last one counts: register in `start`, and again when the service was gone.
   */
  onDecided(kind: string, hear: (decision: ApprovalDecision) => Promise<void>): () => void;
  /** The digest of an action: SHA-256 of its canonical JSON, so that the order of keys does not matter. */
  digest(action: unknown): Promise<string>;
}
