import { type ApprovalDecision, onAbort } from "@svc/sdk";
import { fail } from "./errors.ts";
import type { Row } from "./row.ts";

/** Waiters for decisions in this process. Decisions are stored; this only notifies waiters at once. */
export interface Waiting {
  wait(id: string, signal: AbortSignal | undefined): Promise<ApprovalDecision>;
  decided(decision: ApprovalDecision): void;
  /** Checks whether another daemon has decided a question that is waited for. */
  recheck(): Promise<void>;
}

/** Creates the waiters. `row` reads the stored question. */
export function createWaiting(row: (id: string) => Promise<Row | undefined>): Waiting {
  const waiters = new Map<string, Set<(decision: ApprovalDecision) => void>>();

  function decided(decision: ApprovalDecision): void {
    for (const hear of [...(waiters.get(decision.id) ?? [])]) hear(decision);
  }

  return {
    decided,
    async recheck() {
      for (const id of [...waiters.keys()]) {
        const decision = (await row(id))?.decision;
        if (decision !== undefined) decided(decision);
      }
    },
    wait(id, signal) {
      return new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason as Error);
        const together = waiters.get(id) ?? new Set();
        const over = (): void => {
          stop();
          together.delete(hear);
          if (together.size === 0) waiters.delete(id);
        };
        const hear = (decision: ApprovalDecision): void => {
          over();
          resolve(decision);
        };
        const give = (error: Error): void => {
          over();
          reject(error);
        };
        const stop = onAbort(signal, () => give(signal?.reason as Error));
        waiters.set(id, together.add(hear));
        // It may have been decided before the wait began.
        row(id).then((found) => {
          if (found === undefined) give(fail("SVC_APPROVAL_UNKNOWN", { id }));
          else if (found.decision !== undefined) hear(found.decision);
        }, give);
      });
    },
  };
}
