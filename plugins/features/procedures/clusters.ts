import { createHash } from "node:crypto";
import type { Trace, Traces } from "@svc/sdk";
import { termsOf } from "@svc/sdk/foreign-text";
import { likeness } from "./score.ts";

/** One request that ended well. */
export interface Run {
  readonly id: string;
  readonly rootId: string;
  readonly agent: string;
  readonly message: string;
  readonly response: string;
  /** Tools and actions that it used, in order. */
  readonly steps: readonly string[];
  readonly terms: ReadonlySet<string>;
}

/** Runs of one agent that ask for much the same. */
export interface Cluster {
  readonly id: string;
  readonly agent: string;
  readonly terms: ReadonlySet<string>;
  /** Newest first. */
  readonly runs: readonly Run[];
  /** Distinct roots: runs that one request caused count once. */
  readonly roots: number;
}

/** Entries that repeat themselves, or are work of this plugin. */
const LEFT_OUT: ReadonlySet<string> = new Set(["cron", "heartbeat", "workflow", "resume", "procedures", "reminder"]);
const PAGE = 200;
const MOST_RUNS = 2_000;
/** A request of fewer words says too little to be compared. */
const LEAST_TERMS = 2;
const ALIKE = 0.5;
const SLICE = 50;

/** Runs since that time, newest first, at most 2,000. */
export async function gather(traces: Pick<Traces, "list">, since: number, signal: AbortSignal): Promise<readonly Run[]> {
  const runs: Run[] = [];
  for (let below: string | undefined; runs.length < MOST_RUNS; ) {
    signal.throwIfAborted();
    const page = await traces.list({ since, status: "ok", limit: PAGE, ...(below === undefined ? {} : { below }) });
    for (const trace of page) {
      const run = runOf(trace);
      if (run !== undefined && runs.length < MOST_RUNS) runs.push(run);
    }
    if (page.length < PAGE) break;
    below = page.at(-1)?.id;
  }
  return runs;
}

function runOf({ id, rootId, agent, node, entry, lead, message, response = "", steps }: Trace): Run | undefined {
  if (message === undefined || lead !== undefined || node !== undefined || LEFT_OUT.has(entry)) return undefined;
  const terms = termsOf(message);
  if (terms.size < LEAST_TERMS) return undefined;
  const used = steps.filter(({ kind }) => kind === "tool" || kind === "action").map(({ name }) => name);
  return { id, rootId, agent, message, response, steps: used, terms };
}

/** Groups of runs alike, of at least `least` distinct roots, the largest first. Gives way to other work between slices. */
export async function clustersOf(runs: readonly Run[], least: number, signal: AbortSignal): Promise<readonly Cluster[]> {
  const groups: { readonly agent: string; readonly terms: ReadonlySet<string>; readonly runs: Run[] }[] = [];
  for (const [index, run] of runs.entries()) {
    if (index % SLICE === SLICE - 1) await new Promise((resolve) => setImmediate(resolve));
    signal.throwIfAborted();
    let best: (typeof groups)[number] | undefined;
    let most = ALIKE;
    for (const group of groups) {
      if (group.agent !== run.agent) continue;
      const alike = likeness(group.terms, run.terms);
      if (alike >= most) [best, most] = [group, alike];
    }
    if (best === undefined) groups.push({ agent: run.agent, terms: run.terms, runs: [run] });
    else best.runs.push(run);
  }
  return groups
    .map(({ agent, terms, runs: members }) => ({
      id: idOf(agent, members),
      agent,
      terms,
      runs: members,
      roots: new Set(members.map(({ rootId }) => rootId)).size,
    }))
    .filter(({ roots }) => roots >= least)
    .toSorted((left, right) => right.roots - left.roots);
}

const idOf = (agent: string, runs: readonly Run[]): string =>
  createHash("sha256")
    .update([agent, ...new Set(runs.map(({ rootId }) => rootId))].toSorted().join("\n"))
    .digest("hex")
    .slice(0, 20);

/** Whether a group asks for what these terms were learned from. */
export const isLike = (cluster: Pick<Cluster, "terms">, terms: readonly string[]): boolean => likeness(cluster.terms, new Set(terms)) >= ALIKE;
