import { type Collection, codeOf, type Envelope } from "@svc/sdk";

/** When an agent was started for events, and for which roots. */
interface Started {
  /** In Unix milliseconds, oldest first. */
  readonly at: readonly number[];
  readonly roots: readonly string[];
}

/** Starts of agents, by all daemons of the state and over restarts. */
export interface Starts {
  /**
   * Counts one more start for those of the events that no run started by an event has caused, and answers with them: none where there are
   * none, undefined where the agent was started `most` times in the last hour.
   */
  take(agent: string, events: readonly Envelope[], most: number): Promise<readonly Envelope[] | undefined>;
}

const HOUR_MS = 3_600_000;
const REMEMBERED = 500;
const TRIES = 20;

/** Opens the count in a collection with a row an agent. */
export function openStarts(rows: () => Collection<Started>, now: () => number = Date.now): Starts {
  return {
    async take(agent, events, most) {
      for (let tries = 0; ; tries += 1) {
        const row = await rows().get(agent);
        const { at = [], roots = [] } = row?.value ?? {};
        const fresh = events.filter(({ rootId }) => !roots.includes(rootId));
        if (fresh.length === 0) return fresh;
        const time = now();
        // Entries in the future, after a clock was set back, count as now.
        const recent = at.map((one) => Math.min(one, time)).filter((one) => one > time - HOUR_MS);
        if (recent.length >= most) return undefined;
        const known = [...new Set([...roots, ...fresh.map(({ rootId }) => rootId)])].slice(-REMEMBERED);
        try {
          await rows().put(agent, { at: [...recent, time], roots: known }, row?.version ?? "absent");
          return fresh;
        } catch (error) {
          if (codeOf(error) !== "SVC_STORE_CONFLICT" || tries === TRIES) throw error;
        }
      }
    },
  };
}
