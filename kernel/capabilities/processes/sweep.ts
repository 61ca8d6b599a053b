import type { Log } from "@svc/sdk";
import { processIdentity } from "../../base/process-identity.ts";
import { endTree, type Member, memberOf } from "./process-tree.ts";

/** Marks of orphans. */
export interface SweepOptions {
  /** The marker given to `createSpawn`. */
  readonly marker: string;
  /** Processes an earlier daemon recorded, for those that lost their mark. One whose identity no longer fits is left alone. */
  readonly recorded?: readonly { readonly pid: number; readonly identity: string }[];
  readonly log: Log;
  /** Between SIGTERM and SIGKILL, in milliseconds; default 3,000. */
  readonly graceMs?: number;
}

/**
 * Ends processes that an earlier daemon of the same data folder left running; children of other daemons carry another mark and are not touched. Call
 * it before the first spawn. Resolves with the ids of the processes found.
 */
export async function sweepOrphans({ marker, recorded = [], log, graceMs = 3000 }: SweepOptions): Promise<readonly number[]> {
  const known = recorded.flatMap(({ pid, identity }): Member[] => {
    const member = processIdentity(pid) === identity ? memberOf(pid) : undefined;
    return member === undefined ? [] : [member];
  });
  const { found, survivors } = await endTree({ known, mark: `${marker}.`, since: 0 }, graceMs);
  const pids = found.map(({ pid }) => pid);
  if (pids.length > 0) log.warn({ pids }, "processes of an earlier daemon were still running; they were ended");
  if (survivors.length > 0) log.error({ pids: survivors.map(({ pid }) => pid) }, "processes of an earlier daemon could not be ended; end them by hand");
  return pids;
}
