import type { Op, StoreWork, WorkAgent, WorkBlocked, WorkClaim, WorkEntry } from "@svc/sdk";
import { LEASE_MS, type Node } from "./node.ts";
import type { Server } from "./server.ts";
import { storeError } from "./server-error.ts";
import { readText, storedKey, storedText } from "./text.ts";
import type { LateWrite, Write } from "./write.ts";
import type { Writer } from "./writer.ts";

/** Shown in the error of a key that cannot be stored. */
const LANES = "lanes";

type Named = Pick<WorkClaim, "conversation" | "token">;

/** A claim as `lane_claim` answers it. */
interface ClaimRow {
  readonly c: string;
  readonly a: string;
  readonly t: string;
  readonly h?: string;
  readonly b: readonly (readonly [id: string, attempt: number, stop: string | null])[];
}

/** The lanes of a group of writes, in the order in which every daemon locks them; null where no second one is touched. */
export function lanesToLock(sets: readonly (readonly unknown[])[]): readonly string[] | null {
  const lanes = new Set<string>();
  for (const set of sets) for (const op of set as readonly Write[]) if (typeof op.l === "string") lanes.add(op.l);
  return lanes.size < 2 ? null : [...lanes];
}

/** Lanes as rows. `late` makes an operation of their owner what the server takes. What changes a lane goes in the order of all writes; claims go beside it. */
export function storedWork(server: Server, writer: Writer, node: Pick<Node, "boot" | "judges">, late: (op: Op) => LateWrite): StoreWork {
  const { boot } = node;
  const query = async <Row extends object>(sql: string, values: readonly unknown[] = []): Promise<readonly Row[]> => {
    try {
      return await server.query<Row>(sql, values);
    } catch (error) {
      throw storeError(error, server.database);
    }
  };
  const change = async (how: string, { conversation, token }: Named) =>
    (await writer.write([{ o: "lane", do: how, l: storedKey(LANES, conversation), t: token }])) as boolean;

  /** The writes of an entry are told when it is sent, like any other. */
  const withWrites = (op: Write, ops: readonly Op[] = []): LateWrite => {
    if (ops.length === 0) return op;
    const writes = ops.map(late);
    return () => ({ ...op, w: writes.map((write) => (typeof write === "function" ? write() : write)) });
  };

  return {
    enter: async (entry, ops) => (await writer.write([withWrites(entered(entry), ops)])) as "queued" | "dropped",
    async replace(entry, old, stop, ops) {
      const op = { ...entered({ ...entry, front: true, keep: true }), old: storedKey(LANES, old), stop: storedStop(stop) };
      return { asked: (await writer.write([withWrites(op, ops)])) === "asked" };
    },
    cancel: async (id, stop) => (await writer.write([{ o: "cancel", i: storedKey(LANES, id), stop: storedStop(stop) }])) as "removed" | "asked" | "absent",
    async claim(agents, want, turn) {
      const asked = agents.map(({ agent, limit, mode }: WorkAgent) => ({ a: storedKey(LANES, agent), n: limit, ...(mode === undefined ? {} : { m: mode }) }));
      const values = [boot, JSON.stringify(asked), want, turn.items, turn.size];
      const [row] = await query<{ claims: readonly ClaimRow[] }>("SELECT {s}.claim_lanes($1, $2, $3, $4, $5) AS claims", values);
      return (row?.claims ?? []).map(claimOf);
    },
    async finish({ conversation, token }, ops, home = false) {
      const answer = await writer.write([{ o: "finish", l: storedKey(LANES, conversation), t: token, ...(home ? { h: true } : {}) }, ...ops.map(late)]);
      return answer === "repeated" || answer === "fenced" ? answer : "finished";
    },
    leave: async (claim) => void (await change("leave", claim)),
    release: (claim) => change("giveback", claim),
    park: (claim) => change("park", claim),
    unpark: (claim) => change("unpark", claim),
    async held() {
      const [row] = await query<{ claims: readonly ClaimRow[] }>("SELECT {s}.lanes_held($1) AS claims", [boot]);
      return (row?.claims ?? []).map(claimOf);
    },
    sweep: async () => (node.judges ? ((await query<{ n: number }>("SELECT {s}.sweep_lanes($1) AS n", [LEASE_MS]))[0]?.n ?? 0) : 0),
    agents: async () => (await query<{ agent: string }>("SELECT DISTINCT agent FROM {s}.lane WHERE state = 'ready'")).map(({ agent }) => readText(agent)),
    async waiting() {
      const sql = `SELECT i.id FROM {s}.lane_item i JOIN {s}.lane l ON l.key = i.lane WHERE NOT i.taken OR l.state = 'ready'
        ORDER BY min(abs(i.pos)) OVER (PARTITION BY i.lane), i.lane, i.taken DESC, i.pos`;
      return (await query<{ id: string }>(sql)).map(({ id }) => readText(id));
    },
    async gone(ids) {
      const sql = "SELECT k AS id FROM unnest($1::text[]) AS k WHERE NOT EXISTS (SELECT 1 FROM {s}.lane_item WHERE id = k)";
      return (await query<{ id: string }>(sql, [ids.map((id) => storedKey(LANES, id))])).map(({ id }) => readText(id));
    },
    async live({ running, said, over, watched }) {
      const key = (id: string) => storedKey(LANES, id);
      const written = said.map(({ id, at, text }) => ({ i: key(id), at, x: storedText(text), z: text.length }));
      const known = Object.fromEntries([...watched].map(([id, size]) => [key(id), size]));
      const values = [running.map(key), JSON.stringify(written), over.map(key), JSON.stringify(known)];
      const [row] = await query<{ found: readonly [asked: readonly [string, number][], texts: readonly [string, string][]] }>(
        "SELECT {s}.live_answers($1, $2, $3, $4) AS found",
        values,
      );
      const [asked = [], texts = []] = row?.found ?? [];
      return {
        asked: new Map(asked.map(([id, size]) => [readText(id), size])),
        texts: new Map(texts.map(([id, text]) => [readText(id), readText(text)])),
      };
    },
    async blocked() {
      const sql = `SELECT l.key, CASE WHEN l.state = 'ready' THEN l.agent END AS agent,
          (SELECT count(*)::integer FROM {s}.lane o WHERE o.agent = l.agent AND o.slot) AS active
        FROM {s}.lane l WHERE EXISTS (SELECT 1 FROM {s}.lane_item i WHERE i.lane = l.key AND (NOT i.taken OR l.state = 'ready')) ORDER BY l.place`;
      const rows = await query<{ key: string; agent: string | null; active: number }>(sql);
      return rows.map(
        ({ key, agent, active }): WorkBlocked => ({ conversation: readText(key), active, ...(agent === null ? {} : { agent: readText(agent) }) }),
      );
    },
  };
}

function entered({ id, conversation, agent, mode, sort, size, front, keep }: WorkEntry): Write {
  return {
    o: "enter",
    i: storedKey(LANES, id),
    l: storedKey(LANES, conversation),
    a: storedKey(LANES, agent),
    m: mode,
    ...(sort === undefined ? {} : { s: storedText(sort) }),
    ...(size === undefined ? {} : { z: size }),
    ...(front === true ? { front } : {}),
    ...(keep === true ? { keep } : {}),
  };
}

const storedStop = (stop: unknown): string => storedText(JSON.stringify(stop));

const claimOf = ({ c, a, t, h, b }: ClaimRow): WorkClaim => ({
  conversation: readText(c),
  agent: readText(a),
  token: t,
  ...(h === undefined ? {} : { from: h }),
  batch: b.map(([id, attempt, stop]) => ({ id: readText(id), attempt, ...(stop === null ? {} : { stop: JSON.parse(readText(stop)) as unknown }) })),
});
