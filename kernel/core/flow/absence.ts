import type { Log } from "@svc/sdk";

/** Agents that a reload took away while something waits for them: that is kept for a while, since a slip of an editor is soon undone. */
export interface Absence {
  /** Turns that may run side by side for an agent; for one that is gone none yet, or one, which ends with the word that there is no such agent. */
  slots(agent: string, settings: { readonly maxConcurrent: number } | undefined): number;
}

/** `over` is called when a grace has ended, so that what waits begins. */
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
