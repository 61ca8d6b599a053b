import type { Autonomy, PluginContext } from "@svc/sdk";
import type { Section } from "./settings.ts";

/** A refused call. The call's input is not kept: it may hold anything. */
export interface Refusal {
  readonly agent: string;
  readonly taskId?: string;
  readonly autonomy: Autonomy;
  readonly tool: string;
  readonly reason: string;
  /** Boundary of the run: the kernel, or the analysis of its commands. Absent in rows of older daemons. */
  readonly guard?: "wall" | "narrow";
}

/** The guard log: what restricted runs were refused. */
export interface GuardLog {
  /** Resolves after the commit. A log that cannot be written is told to the daemon's log and lets nothing through. */
  add(refusal: Refusal): Promise<void>;
  /** Newest last. */
  tail(limit: number): Promise<readonly (Refusal & { readonly at: number })[]>;
}

const KEEP = 5000;
const TRIM_EVERY = 100;

/** Opens the log of the plugin; nothing is read or written yet. */
export function createGuardLog(ctx: PluginContext<Section>): GuardLog {
  let added = 0;
  const journal = () => ctx.store.journal<Refusal>("guard");
  return {
    async add(refusal) {
      ctx.log.warn({ agent: refusal.agent, tool: refusal.tool, taskId: refusal.taskId, guard: refusal.guard }, refusal.reason);
      try {
        await journal().append(refusal);
        if (++added % TRIM_EVERY === 0) await journal().trim(KEEP);
      } catch (error) {
        ctx.log.error({ err: error }, "a refused call could not be written to the guard log");
      }
    },
    async tail(limit) {
      return (await journal().tail(limit)).map(({ at, value }) => ({ at, ...value }));
    },
  };
}
