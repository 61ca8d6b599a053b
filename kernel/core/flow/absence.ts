import type { Log } from "@svc/sdk";

/** Agents that a reload removed while messages wait for them: the messages are kept for a grace period, since an editing mistake is soon undone. */
export interface Absence {
  /** Concurrent turns allowed for an agent; for a removed one zero, or one, which ends with the error that the agent does not exist. */
  slots(agent: string, settings: { readonly maxConcurrent: number } | undefined): number;
}

/** `over` is called when a grace period has ended, so that waiting messages start. */
export function createAbsence(graceMs: number, log: Log, over: () => void): Absence {
  const missing = new Map<string, { over: boolean }>();
  return {
    slots(agent, settings) {
      if (settings !== undefined) {
        if (missing.size > 0) missing.delete(agent);
        return settings.maxConcurrent;
      }
      let grace = missing.get(agent);
      if (grace === undefined) {
        const begun = { over: false };
        missing.set(agent, (grace = begun));
        log.warn({ agent }, `agent ${agent} was taken out of the configuration while messages wait for it; they are kept for ${graceMs / 1000} s`);
        const giveUp = () => {
          begun.over = true;
          over();
        };
        setTimeout(giveUp, graceMs).unref();
      }
      return grace.over ? 1 : 0;
    },
  };
}
