import { onAbort, type SvcError } from "@svc/sdk";
import { fail } from "../../base/errors.ts";

const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** One exchange with a host: given up by its caller's signal or by a limit in time, whichever comes first. */
export interface Exchange {
  readonly signal: AbortSignal;
  /** From now on it may take this long; `late` says why it was given up. An earlier limit ends. */
  limit(ms: number, late: () => SvcError): void;
  unlimited(): void;
  requireWanted(): void;
  /** Returns the error for the caller: the reason of the abort, if there was one. */
  explain(error: unknown): unknown;
  end(): void;
}

/** Begins an exchange; `caller` is the signal of its caller. */
export function createExchange(host: string, caller: AbortSignal | undefined): Exchange {
  const controller = new AbortController();
  let given: SvcError | undefined;
  let timer: NodeJS.Timeout | undefined;
  const giveUp = (error: SvcError): void => {
    given ??= error;
    controller.abort();
  };
  const stop = onAbort(caller, () => giveUp(fail("SVC_FETCH_ABORTED", { host })));
  return {
    signal: controller.signal,
    limit(ms, late) {
      clearTimeout(timer);
      timer = setTimeout(() => giveUp(late()), Math.min(ms, LONGEST_TIMER_MS));
    },
    unlimited: () => clearTimeout(timer),
    requireWanted() {
      if (given !== undefined) throw given;
    },
    explain(error) {
      const { code } = (error ?? {}) as NodeJS.ErrnoException;
      return given ?? (code?.startsWith("SVC_") ? error : fail("SVC_FETCH_FAILED", { host, reason: code ?? "the connection broke" }));
    },
    end() {
      clearTimeout(timer);
      stop();
    },
  };
}
