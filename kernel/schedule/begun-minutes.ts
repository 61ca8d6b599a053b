import { randomUUID } from "node:crypto";
import { append, codeOf, type Doc, type MissedMinutes, type Op, put, remove, type Store } from "@svc/sdk";
import { MINUTES } from "../core/boot/schedule-port.ts";

const BEGUN = "begun-minutes";
const PAGE = 500;

/** A minute of a job that is claimed, and whose run has not ended. */
interface BegunMinute {
  readonly node: string;
  readonly job: string;
  readonly minute: string;
}

interface BegunRow extends BegunMinute {
  /** Of the daemon. */
  readonly run: string;
}

/** A minute as it is claimed: `2026-01-01T12:00`. */
export const minuteOf = (time: Date): string => time.toISOString().slice(0, "YYYY-MM-DDTHH:MM".length);

const keyOf = ({ node, job, minute }: BegunMinute): string => JSON.stringify([node, job, minute]);

/** The run for that minute has ended, or never began. */
export const endOf = (begun: BegunMinute): Op => remove(BEGUN, keyOf(begun));

/** The minutes that one run of a daemon claims for its jobs, and those of runs that are over and can tell nothing of them any more. */
export interface BegunMinutes {
  /**
   * True for the one caller who gets it, over restarts and clock jumps. What was claimed is kept by the hour and for a week: a clock set back
   * runs nothing twice, and one that was ahead for a moment keeps no later minute from running. The same commit notes it as begun.
   */
  claim(job: string, minute: string): Promise<boolean>;
  /** Its run has ended. */
  end(job: string, minute: string): Promise<void>;
  /** Records in the journal what runs of daemons that are over have begun, for one caller each: whether those minutes ran is not known. */
  takeLeft(journal: string, at: number): Promise<readonly LeftMinute[]>;
}

/** A minute of which nobody knows whether it ran. */
export type LeftMinute = MissedMinutes & { readonly job: string; readonly unsure: true };

/** What these minutes stand on. */
export interface BegunDeps {
  readonly node: string;
  readonly store: Store;
  now(): number;
  /** Whether another node is dead. */
  isDead(node: string): Promise<boolean>;
}

/** Makes them for this run of the node. */
export function createBegunMinutes({ node, store, now, isDead }: BegunDeps): BegunMinutes {
  const claims = store.collection<{ minutes: readonly string[]; at: number }>(MINUTES, { indexes: ["at"] });
  const begun = store.collection<BegunRow>(BEGUN, { indexes: ["run"] });
  const own = randomUUID();

  async function* over(run: string): AsyncGenerator<Doc<BegunRow>> {
    for (;;) {
      const rows = await begun.list({ where: { run }, limit: PAGE });
      if (rows.length === 0) return;
      yield* rows;
    }
  }

  return {
    async claim(job, minute) {
      const key = `${job} ${minute.slice(0, "YYYY-MM-DDTHH".length)}`;
      const row = { node, job, minute };
      for (;;) {
        const hour = await claims.get(key);
        const minutes = hour?.value.minutes ?? [];
        if (minutes.includes(minute)) return false;
        const claimed = put(MINUTES, key, { minutes: [...minutes, minute], at: now() }, hour?.version ?? "absent");
        try {
          await store.commit([claimed, put(BEGUN, keyOf(row), { ...row, run: own } satisfies BegunRow)]);
          return true;
        } catch (error) {
          if (codeOf(error) !== "SVC_STORE_CONFLICT") throw error;
        }
      }
    },
    end: (job, minute) => store.commit([endOf({ node, job, minute })]),
    async takeLeft(journal, at) {
      const taken: LeftMinute[] = [];
      for (let from: { from?: string } = {}; ; ) {
        const [first] = await begun.list({ by: "run", limit: 1, ...from });
        if (first === undefined) return taken;
        const { run, node: by } = first.value;
        from = { from: `${run}!` };
        if (run === own || (by !== node && !(await isDead(by)))) continue;
        for await (const { key, version, value } of over(run)) {
          const time = new Date(`${value.minute}Z`).toISOString();
          const left: LeftMinute = { job: value.job, first: time, last: time, count: 1, at, unsure: true };
          // Another daemon may take it at the same time.
          const mine = await store.commit([remove(BEGUN, key, version), append(journal, left)]).then(() => true, unlessConflict);
          if (mine) taken.push(left);
        }
      }
    },
  };
}

function unlessConflict(error: unknown): false {
  if (codeOf(error) !== "SVC_STORE_CONFLICT") throw error;
  return false;
}
