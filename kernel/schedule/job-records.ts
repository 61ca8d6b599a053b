import { append, type Doc, type Log, type MissedMinutes, type Op, put, remove, type Store } from "@svc/sdk";
import type { JobBook, Looked, MissedSpan } from "../core/boot/schedule-port.ts";
import { endOf, minuteOf } from "./begun-minutes.ts";

/** The journal of minutes that passed without their jobs. */
export const MISSED = "missed-minutes";
/** Of its entries the newest are kept. */
export const MISSED_KEPT = 1_000;
const JOBS = "jobs";
const LOOKED = "schedule";
const PAGE = 500;

/** Converts a span to its stored form. */
export const minutesOf = ({ first, last, count, more }: Omit<MissedSpan, "job" | "claimed">, at: number): MissedMinutes => ({
  first: first.toISOString(),
  last: last.toISOString(),
  count,
  ...(more ? { more } : {}),
  at,
});

/** A job of a node; rows from before nodes had jobs of their own name neither, and are the job's own. */
interface JobRow {
  readonly node?: string;
  readonly job?: string;
  readonly when: string;
}

/** Makes the records of a node's jobs in a store. */
export function createJobBook(node: string, store: Store, log: Log): JobBook {
  const jobs = store.collection<JobRow>(JOBS, { indexes: ["node"] });
  const own = (job: string) => JSON.stringify([node, job]);
  const looked = `${LOOKED} ${node}`;
  const marks = store.collection<{ minute: number }>("marks");
  const missed = store.journal<MissedMinutes & { readonly job: string }>(MISSED);
  let read: Promise<{ minute: number | undefined; jobs: ReadonlyMap<string, string> }> | undefined;
  /** The stored form of each job. */
  const noted = new Map<string, string>();
  /** Keys of old entries that have become rows of this node, to be removed. */
  let former: readonly string[] = [];
  let writing: Promise<void> | undefined;
  let next: Looked | undefined;

  async function load(): Promise<{ minute: number | undefined; jobs: ReadonlyMap<string, string> }> {
    const mark = (await marks.get(looked)) ?? (await marks.get(LOOKED));
    if (mark?.key !== LOOKED) {
      for (const { value } of await all({ node })) noted.set(value.job as string, value.when);
      return { minute: mark?.value.minute, jobs: new Map(noted) };
    }
    const found = (await all()).filter(({ value }) => value.node === undefined);
    former = found.map(({ key }) => key);
    return { minute: mark.value.minute, jobs: new Map(found.map(({ key, value }) => [key, value.when])) };
  }

  async function all(where: Record<string, string> = {}): Promise<Doc<JobRow>[]> {
    const rows: Doc<JobRow>[] = [];
    for (let after: string | undefined; ; ) {
      const page = await jobs.list({ where, limit: PAGE, ...(after === undefined ? {} : { after }) });
      rows.push(...page);
      after = page.at(-1)?.key;
      if (page.length < PAGE) return rows;
    }
  }
  const before = () => (read ??= load());

  async function write({ minute, jobs: now }: Looked): Promise<void> {
    await before();
    const gone = [...noted.keys()].filter((job) => !now.has(job));
    const fresh = [...now].filter(([job, when]) => noted.get(job) !== when);
    const ops: Op[] = [
      ...[...former, ...gone.map(own)].map((key) => remove(JOBS, key)),
      ...fresh.map(([job, when]) => put(JOBS, own(job), { node, job, when } satisfies JobRow)),
    ];
    for (let at = 0; at < ops.length; at += PAGE) await store.commit(ops.slice(at, at + PAGE));
    for (const job of gone) noted.delete(job);
    for (const [job, when] of fresh) noted.set(job, when);
    // After the jobs: one that is new has missed nothing before it was noted.
    await store.commit([put("marks", looked, { minute }), remove("marks", LOOKED)]);
    former = [];
  }

  async function writeAll(): Promise<void> {
    while (next !== undefined) {
      const looked = next;
      next = undefined;
      await write(looked).catch((error) => log.error({ err: error }, "how far the schedule has looked was not stored"));
    }
    writing = undefined;
  }

  return {
    async earlier() {
      const { minute, jobs: known } = await before();
      return minute === undefined ? undefined : { minute, jobs: known };
    },
    looked({ minute, jobs: now }) {
      next = { minute, jobs: new Map(now) };
      return (writing ??= writeAll());
    },
    async lookedByOthers() {
      const rows = await marks.list({ from: `${LOOKED} `, to: `${LOOKED}!`, limit: PAGE });
      return Math.max(0, ...rows.filter(({ key }) => key !== looked).map(({ value }) => value.minute));
    },
    async missed(spans, at) {
      const kept = spans.slice(-MISSED_KEPT);
      // Where its claim is stored, this is how its run has ended.
      const ends = kept.flatMap(({ job, first, count }) => (count === 1 ? endOf({ node, job, minute: minuteOf(first) }) : []));
      await store.commit([...ends, ...kept.map(({ job, ...span }) => append(MISSED, { job, ...minutesOf(span, at) }))]);
      await missed.trim(MISSED_KEPT);
    },
    async missedBy(job) {
      const all = await missed.tail(MISSED_KEPT);
      return all.filter(({ value }) => value.job === job).map(({ value: { job: _, ...minutes } }) => minutes);
    },
  };
}
