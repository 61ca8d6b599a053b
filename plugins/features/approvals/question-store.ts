import { type Approval, codeOf, type PluginContext, put, reasonOf, remove } from "@svc/sdk";
import { type Row, shown } from "./row.ts";

/** Filter and order of a page of questions, newest first by default. */
export interface PageQuery {
  readonly open?: true;
  readonly oldest?: true;
  readonly limit: number;
  readonly cursor?: string;
}

/** The stored questions: each change is one conditional write. */
export interface QuestionStore {
  row(id: string): Promise<Row | undefined>;
  /** The question that was asked last under the key. */
  keyed(key: string): Promise<Row | undefined>;
  list(query?: { readonly open?: true; readonly kind?: string; readonly agent?: string; readonly limit?: number }): Promise<readonly Approval[]>;
  /** The questions after `cursor`; `next` where there are more. A cursor whose question is forgotten is 400: begin again. */
  page(query: PageQuery): Promise<{ readonly approvals: readonly Approval[]; readonly next?: string }>;
  /** Rows of which something is to be done. */
  live(): Promise<readonly Row[]>;
  anyLive(): Promise<boolean>;
  /** Rows that are due, by this clock. */
  due(now: number): Promise<readonly Row[]>;
  /** When the first row falls due. */
  nextDue(): Promise<number | undefined>;
  /** Stores a new row under its key, with what becomes of the one before. False when somebody else was first: look again. */
  add(row: Row, before: Row | undefined, after: Row | undefined): Promise<boolean>;
  /** Applies `change` to the row, retrying on conflicts; undefined leaves it unchanged. Resolves with the stored row. */
  update(id: string, change: (row: Row) => Row | undefined): Promise<Row | undefined>;
  forget(row: Row): Promise<void>;
}

const ROWS = "questions";
const KEYS = "keys";
const PAGE = 500;
const MOST = 1000;

/** The rows in the plugin's store. `written` hears of each that was stored, with what was there before. */
export function createQuestionStore({ store, log }: Pick<PluginContext, "store" | "log">, written: (row: Row, before: Row | undefined) => void): QuestionStore {
  const rows = store.collection<Row>(ROWS, { indexes: ["live", "due", "askedAt"] });
  const keys = store.collection<{ readonly id: string }>(KEYS);
  const isConflict = (error: unknown) => codeOf(error) === "SVC_STORE_CONFLICT";

  async function all(
    query: Parameters<typeof rows.list>[0],
    most = Number.POSITIVE_INFINITY,
    fits: (row: Row) => boolean = () => true,
  ): Promise<readonly Row[]> {
    const found: Row[] = [];
    for (let after = query?.after; ; ) {
      const page = await rows.list({ ...query, limit: PAGE, ...(after === undefined ? {} : { after }) });
      found.push(...page.map(({ value }) => value).filter(fits));
      if (page.length < PAGE || found.length >= most) return found.slice(0, most);
      after = page.at(-1)?.key;
    }
  }

  return {
    row: async (id) => (await rows.get(id))?.value,
    async keyed(key) {
      const found = await keys.get(key);
      return found && (await rows.get(found.value.id))?.value;
    },
    async list({ open, kind, agent, limit = 100 } = {}) {
      const fits = (row: Row) =>
        (open === undefined || row.state === "open") && (kind === undefined || row.kind === kind) && (agent === undefined || row.agent === agent);
      const query = { by: "askedAt", reverse: true, ...(open === undefined ? {} : { where: { live: 1 } }) };
      return (await all(query, Math.min(limit, MOST), fits)).map(shown);
    },
    async page({ open, oldest, limit, cursor }) {
      const query = { by: "askedAt", reverse: oldest === undefined, ...(open === undefined ? {} : { where: { live: 1 } }) };
      const most = Math.min(limit, MOST);
      const found = await all({ ...query, ...(cursor === undefined ? {} : { after: cursor }) }, most + 1, (row) => open === undefined || row.state === "open");
      const last = found[most - 1];
      return { approvals: found.slice(0, most).map(shown), ...(found.length > most && last !== undefined ? { next: last.id } : {}) };
    },
    live: () => all({ where: { live: 1 } }),
    anyLive: async () => (await rows.list({ where: { live: 1 }, limit: 1 })).length > 0,
    due: (now) => all({ by: "due", to: now + 1 }),
    nextDue: async () => (await rows.list({ by: "due", limit: 1 }))[0]?.value.due,
    async add(row, before, after) {
      const { id, key } = row;
      const [taken, earlier] = [key === undefined ? undefined : await keys.get(key), before === undefined ? undefined : await rows.get(before.id)];
      if (taken?.value.id !== before?.id && (taken === undefined || (await rows.get(taken.value.id)) !== undefined)) return false;
      if (after !== undefined && earlier?.value.state !== "open") return false;
      try {
        await store.commit([
          put(ROWS, id, row, "absent"),
          ...(key === undefined ? [] : [put(KEYS, key, { id }, taken?.version ?? "absent")]),
          ...(after === undefined ? [] : [put(ROWS, after.id, after, earlier?.version ?? "absent")]),
        ]);
      } catch (error) {
        if (isConflict(error)) return false;
        throw error;
      }
      if (after !== undefined) written(after, before);
      written(row, undefined);
      return true;
    },
    async update(id, change) {
      for (;;) {
        const found = await rows.get(id);
        if (found === undefined) return undefined;
        const next = change(found.value);
        if (next === undefined) return found.value;
        try {
          await rows.put(id, next, found.version);
        } catch (error) {
          if (isConflict(error)) continue;
          throw error;
        }
        written(next, found.value);
        return next;
      }
    },
    async forget({ id, key, owed }) {
      if (owed.length > 0) log.warn({ question: id, owed: owed.map(({ to }) => to) }, "a decision was never taken up and is forgotten");
      const mine = key === undefined ? undefined : await keys.get(key);
      try {
        await store.commit([remove(ROWS, id), ...(mine?.value.id === id && key !== undefined ? [remove(KEYS, key, mine.version)] : [])]);
      } catch (error) {
        if (!isConflict(error)) throw error;
        log.debug({ question: id, reason: reasonOf(error) }, "a question is forgotten later: its key was taken meanwhile");
      }
    },
  };
}
