import { setImmediate as turnOfTheLoop } from "node:timers/promises";
import type { PluginContext } from "@svc/sdk";
import { holds, isIndexed, storedQuery, type TaskFilter } from "./task-filter.ts";
import { rowOf, type TaskRow, workingOf } from "./task-row.ts";

/** Where each page of a list begins, so that any of them can be read alone. */
export interface TaskMarks {
  /** Unknown where documents must be read to tell: the list then grows page by page. */
  readonly total?: number;
  /** Tasks of a page. */
  readonly page: number;
  /** The `below` of each page; that of the first one stands still while newer tasks come. */
  readonly marks: readonly string[];
  /** Time of the count, in Unix milliseconds: `since` for new tasks. */
  readonly at: number;
}

/** A page of a list. */
export interface TaskPage {
  readonly tasks: readonly TaskRow[];
  /** The `below` of what follows; absent at the end. */
  readonly next?: string;
  /** Time back to which the search went, in Unix milliseconds, if that is not the end. */
  readonly reached?: number;
}

/** Tasks of a page. */
export const PAGE = 100;
/** Ids read in one step: some milliseconds. */
const IDS = 10_000;
/** A search reads so many tasks for one answer, or for so long. */
const LOOKED = 5_000;
const LOOK_MS = 1_500;
/** Sorts after every id that begins alike. */
const AFTER = "~";

type Sources = Pick<PluginContext, "tasks" | "traces">;

/** Counts the tasks of a filter, and says where its pages begin: from the indexes alone. */
export async function listMarks({ traces }: Sources, filter: TaskFilter): Promise<TaskMarks> {
  const at = Date.now();
  if (!isIndexed(filter)) return { page: PAGE, marks: [], at };
  const marks: string[] = [];
  let total = 0;
  for (let below: string | undefined; ; ) {
    const ids = await traces.ids({ ...storedQuery(filter), limit: IDS, ...(below === undefined ? {} : { below }) });
    if (marks.length === 0 && ids[0] !== undefined) marks.push(`${ids[0]}${AFTER}`);
    // Each full page ends where the next one begins.
    for (let end = PAGE - 1; end < ids.length; end += PAGE) marks.push(ids[end] as string);
    total += ids.length;
    below = ids.at(-1);
    if (ids.length < IDS) break;
  }
  return { total, page: PAGE, marks: marks.slice(0, Math.ceil(total / PAGE)), at };
}

/** One page, newest first. Where documents must be read to tell which are meant, it is as much as a short search finds. */
export async function listPage(
  { tasks, traces }: Sources,
  filter: TaskFilter,
  { below, limit = PAGE }: { readonly below?: string; readonly limit?: number },
): Promise<TaskPage> {
  const working = workingOf(tasks.running(), tasks.queued());
  const query = storedQuery(filter);
  if (isIndexed(filter)) {
    const found = await traces.list({ ...query, limit, ...(below === undefined ? {} : { below }) });
    return { tasks: found.map((trace) => rowOf(trace, working.get(trace.id))), ...(found.length < limit ? {} : { next: found.at(-1)?.id as string }) };
  }
  const found: TaskRow[] = [];
  const until = performance.now() + LOOK_MS;
  let last = below;
  for (let looked = 0; looked < LOOKED && performance.now() < until; ) {
    const page = await traces.list({ ...query, limit: PAGE, ...(last === undefined ? {} : { below: last }) });
    for (const trace of page) {
      last = trace.id;
      if (holds(filter, trace, working.get(trace.id))) found.push(rowOf(trace, working.get(trace.id)));
      if (found.length === limit) return { tasks: found, next: last, reached: trace.startedAt };
    }
    if (page.length < PAGE) return { tasks: found };
    looked += page.length;
    await turnOfTheLoop();
    if (looked >= LOOKED || performance.now() >= until) return { tasks: found, next: last as string, reached: page.at(-1)?.startedAt as number };
  }
  return { tasks: found, ...(last === undefined ? {} : { next: last }) };
}
