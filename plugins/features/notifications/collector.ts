import { type Op, type PluginContext, remove } from "@svc/sdk";
import { type Happening, happeningOf } from "./happening.ts";
import type { NotificationSettings } from "./settings.ts";

/** A notice goes out when nothing more has happened for so long, or so long after the first thing of it: a storm is one notice. */
const QUIET_MS = 3_000;
const LONGEST_MS = 60_000;

const PENDING = "pending";
const PAGE = 1_000;

type Context = Pick<PluginContext, "events" | "jobs" | "log" | "node" | "store">;

/**
 * Listens for tasks and collects notable events: a row for each, until one notice reports them all. `told` returns the write that stores that notice;
 * it is in one transaction with the end of the rows.
 */
export async function startCollector(ctx: Context, settings: () => NotificationSettings, told: (happened: readonly Happening[]) => Op): Promise<void> {
  const pending = ctx.store.collection<Happening>(PENDING);
  // Each daemon tells what it heard itself.
  const own = { from: `${ctx.node.id}/`, to: `${ctx.node.id}0` };
  const writing = new Set<Promise<unknown>>();
  let first: number | undefined;
  let last = 0;

  function hear(envelope: Parameters<typeof happeningOf>[0]): void {
    const happening = happeningOf(envelope, ctx.node.id, settings());
    if (happening === undefined) return;
    const write = pending.put(`${ctx.node.id}/${happening.task}/${happening.what}`, happening).catch((error) => {
      ctx.log.warn({ err: error, task: happening.task }, "what happened to a task could not be stored, and is not told");
    });
    writing.add(write);
    void write.then(() => writing.delete(write));
    last = performance.now();
    if (first === undefined) arm();
  }

  function arm(): void {
    first = last = performance.now();
    wait(QUIET_MS);
  }

  function wait(ms: number): void {
    ctx.jobs.after(ms, async () => {
      const now = performance.now();
      const left = Math.min(last + QUIET_MS, (first ?? now) + LONGEST_MS) - now;
      if (left > 1) return wait(left);
      first = undefined;
      await flush();
    });
  }

  async function flush(): Promise<void> {
    await Promise.all(writing);
    const rows: { readonly key: string; readonly value: Happening }[] = [];
    for (
      let page = await pending.list({ ...own, limit: PAGE });
      page.length > 0;
      page = await pending.list({ ...own, after: page.at(-1)?.key ?? "", limit: PAGE })
    )
      rows.push(...page);
    if (rows.length === 0) return;
    try {
      await ctx.store.commit([...rows.map(({ key }) => remove(PENDING, key)), told(rows.map(({ value }) => value))]);
    } catch (error) {
      ctx.log.warn({ err: error, tasks: rows.length }, "a notice could not be stored; it is tried again in a minute");
      first ??= performance.now();
      wait(LONGEST_MS);
    }
  }

  const left = await pending.count(own);
  ctx.events.subscribe(hear);
  // Events received before the daemon stopped.
  if (left > 0) arm();
}
