import { fail } from "../base/errors.ts";
import { compilePattern, patternTrouble } from "../base/schema/safe-pattern.ts";
import type { RestartDeps, RestartRequest, Restarts } from "../core/boot/maintenance-port.ts";

/** `shutdown.restart` (001:L208). */
export interface RestartRules {
  /** Regular expression for those who may restart at once; unset: anyone (CFG-15). */
  readonly allowBy?: string;
  /** `HH:MM`, local time: a minute of the day in which everyone may. */
  readonly window?: string;
  readonly windowWaitMinutes: number;
  /** Give up rather than restart over work that still runs after the drain. */
  readonly forbidOnTimeoutRestart: boolean;
}

const MINUTE_MS = 60_000;

/** Reads `shutdown.restart` of a checked configuration. */
export function readRestart(config: Readonly<Record<string, unknown>>): RestartRules {
  const { restart } = (config.shutdown ?? {}) as { restart?: Partial<RestartRules> };
  return { windowWaitMinutes: 180, forbidOnTimeoutRestart: false, ...restart };
}

/** When the restart may begin, in Unix milliseconds, or why it may not. `now` at once; later when it is scheduled until the window (OPS-02). */
export function judgeRestart({ allowBy, window, windowWaitMinutes }: RestartRules, by: string | undefined, now: number): { at: number } | { refused: string } {
  if (allowBy === undefined || (by !== undefined && matches(allowBy, by))) return { at: now };
  if (window === undefined) return { refused: "shutdown.restart.allowBy does not match, and no shutdown.restart.window is set to wait for" };
  const at = nextWindow(window, now);
  const minutes = Math.ceil((at - now) / MINUTE_MS);
  if (at - now <= windowWaitMinutes * MINUTE_MS) return { at };
  return {
    refused: `shutdown.restart.allowBy does not match, and the window at ${window} is ${minutes} minutes away, more than the ${windowWaitMinutes} of shutdown.restart.windowWaitMinutes`,
  };
}

/** Handles requests to restart a daemon, by the rules of `shutdown.restart` in the live configuration. */
export function createRestarts({ config, now, begin }: RestartDeps): Restarts {
  let scheduled: { readonly at: number; timer: NodeJS.Timeout } | undefined;

  const cancel = () => {
    clearTimeout(scheduled?.timer);
    scheduled = undefined;
  };

  function schedule(at: number, request: RestartRequest): void {
    cancel();
    // A long timer would miss that the clock was set meanwhile.
    const look = () => {
      const left = at - now();
      scheduled = { at, timer: setTimeout(left > 0 ? look : go, Math.max(0, Math.min(left, MINUTE_MS))) };
    };
    const go = () => {
      cancel();
      begin?.(request);
    };
    look();
  }

  return {
    ask(request) {
      if (begin === undefined) throw fail("SVC_RESTART_UNSUPPORTED");
      const verdict = judgeRestart(readRestart(config()), request.by, now());
      if ("refused" in verdict) throw fail("SVC_RESTART_REFUSED", { by: request.by ?? "someone without a name", reason: verdict.refused });
      if (scheduled === undefined || verdict.at < scheduled.at) schedule(verdict.at, request);
      return Math.min(scheduled?.at ?? verdict.at, verdict.at);
    },
    cancel,
    isIdleOnly: () => readRestart(config()).forbidOnTimeoutRestart,
  };
}

/** An invalid pattern admits no one: the check of the configuration has reported it. */
const matches = (pattern: string, by: string): boolean => patternTrouble(pattern) === undefined && compilePattern(pattern).test(by);

/** Where its minute is running, that is now. */
function nextWindow(window: string, now: number): number {
  const [hour = 0, minute = 0] = window.split(":").map(Number);
  const at = new Date(now);
  at.setHours(hour, minute, 0, 0);
  if (at.getTime() + MINUTE_MS <= now) {
    at.setDate(at.getDate() + 1);
    // Again: a day on which the clock skips this time must not move the next day's.
    at.setHours(hour, minute, 0, 0);
  }
  return Math.max(now, at.getTime());
}
