import { randomBytes } from "node:crypto";
import type { Log, StoreDriver, StoreScope, SvcError } from "@svc/sdk";
import { fail } from "./errors.ts";
import { Events } from "./events.ts";
import { Hints } from "./hints.ts";
import { identity } from "./identity.ts";
import { lanesToLock, storedWork } from "./lanes.ts";
import { migrate } from "./migrate.ts";
import { Node, SILENT } from "./node.ts";
import { restoreRecords, storedRecords } from "./records.ts";
import { createScopes } from "./scopes.ts";
import { Server, type ServerOptions } from "./server.ts";
import { storeError } from "./server-error.ts";
import { type Occupied, occupied } from "./size.ts";
import { nodesOf } from "./status.ts";
import { type SendGroup, Writer } from "./writer.ts";

/** Options of opening a schema. */
export interface OpenOptions extends ServerOptions {
  /** The data folder, whose lock this process has. Undefined: a schema of its own, which is dropped with `close`. */
  readonly folder: string | undefined;
  readonly log?: Log;
  /** Clocks of a test, in milliseconds: one that runs evenly, and one on the wall. Default: the server's own. */
  readonly clock?: { readonly steady: () => number; readonly wall: () => number };
  /** `node.id`: daemons of other names may use the schema beside this one. Default: it waits for the end of all of other folders, and is refused. */
  readonly name?: string;
  /** Does not wait for other daemons, whatever their names. */
  readonly shared?: boolean;
  /** Where hints are heard; `url` without it. */
  readonly listenUrl?: string;
}

/** The daemon's state in one schema. */
export interface PostgresStore
  extends Required<
    Pick<
      StoreDriver,
      | "reclaim"
      | "health"
      | "onFailure"
      | "size"
      | "diskBytes"
      | "steady"
      | "nodes"
      | "tell"
      | "time"
      | "exchange"
      | "hints"
      | "onDrain"
      | "leaving"
      | "work"
      | "records"
      | "restore"
      | "close"
    >
  > {
  scope(owner: string): Required<StoreScope>;
  /** Number of this boot. */
  readonly boot: number;
}

const SIZE_EVERY_MS = 60_000;
/** Dedup keys are forgotten after 7 days, homes of conversations after one, events of an ended daemon after 10 minutes, at the latest an hour later. */
const FORGET_EVERY_MS = 3_600_000;

/** Opens the store. Throws `SVC_STORE_REFUSED`, `SVC_STORE_UNREACHABLE`, `SVC_STORE_NEWER`, `SVC_STORE_BUSY`. */
export async function openPostgres({ folder, log, clock, name, shared = false, listenUrl, ...options }: OpenOptions): Promise<PostgresStore> {
  const temporary = folder === undefined;
  const own = temporary ? { ...options, schema: `${options.schema}_${randomBytes(6).toString("hex")}` } : options;
  const server = await Server.create(own, log);
  const beats = await Server.create({ ...own, poolSize: 1 }, log);
  const listeners = new Set<(error: Error) => void>();
  const drained = new Set<() => void>();
  let node: Node;
  let space: Occupied = { disk: 0, used: 0, perDocument: 0 };

  const send: SendGroup = async (number, sets, noted) => {
    const values = [node.boot, number, JSON.stringify(sets), noted, clock?.steady() ?? null, clock?.wall() ?? null, lanesToLock(sets)];
    const [row] = await server.query<{ answers: Awaited<ReturnType<SendGroup>> }>("SELECT {s}.commit_group($1, $2, $3, $4, $5, $6, $7) AS answers", values);
    return row?.answers ?? [];
  };
  const fenced = (error: SvcError) => {
    log?.error({ database: server.database }, error.message);
    for (const listener of listeners) listener(error);
  };
  const writer = new Writer(send, server.database, fenced, () => node.silent, log);

  async function look(): Promise<void> {
    space = await occupied(server, own.schema);
  }
  const forget = async () => {
    await server.query("DELETE FROM {s}.seen WHERE at < coalesce($1, {s}.now_ms()) - 604800000", [clock?.steady() ?? null]);
    await server.query("DELETE FROM {s}.lane WHERE state = 'idle' AND since < clock_timestamp() - interval '1 day'");
    // Nobody reads them any more: `exchange_events`.
    await server.query(
      "DELETE FROM {s}.event e WHERE NOT EXISTS (SELECT 1 FROM {s}.node n WHERE n.boot = e.boot AND n.lease_until > clock_timestamp() - interval '10 min')",
    );
  };

  const told = {
    dead: () => writer.fail(fail("SVC_STORE_FENCED", { database: server.database })),
    drain() {
      for (const listener of drained) listener();
      drained.clear();
    },
  };
  try {
    const data = identity(folder);
    await migrate(server, data);
    node = await Node.begin(server, beats, { folder: data, shared, ...(name === undefined ? {} : { name }) }, told);
    await node.beat();
    await look().catch(() => {});
    forget().catch(() => {});
  } catch (error) {
    await Promise.allSettled([server.close(), beats.close()]);
    throw storeError(error, server.database);
  }

  // Ages that daemons compare, whatever the clocks of their machines say.
  const began = node.time() - performance.now();
  const timers = [setInterval(() => look().catch(() => {}), SIZE_EVERY_MS), setInterval(() => forget().catch(() => {}), FORGET_EVERY_MS)];
  for (const timer of timers) timer.unref();
  let closing: Promise<void> | undefined;

  async function close(): Promise<void> {
    await hints.close();
    for (const timer of timers) clearInterval(timer);
    await writer.close();
    await node
      .end()
      .catch((error: Error) => log?.warn({ reason: error.message }, "the database was not told that this daemon has ended: it learns it in some seconds"));
    if (temporary)
      await server.query("DROP SCHEMA {s} CASCADE").catch((error: Error) => log?.warn({ reason: error.message }, `the schema ${own.schema} was left there`));
    await Promise.all([server.close(), beats.close()]);
  }

  const { scope, late } = createScopes({
    server,
    writer,
    steady: () => clock?.steady(),
    lease: (name) => node.lease(name),
    closed: () => closing !== undefined,
    // The next look measures it.
    pruned: (documents) => {
      space = { ...space, used: Math.max(0, space.used - documents * space.perDocument) };
    },
  });
  const events = new Events(server, node.boot);
  const hints = new Hints({ url: listenUrl ?? own.url, schema: own.schema, server, node, ...(log === undefined ? {} : { log }) });
  return {
    scope,
    boot: node.boot,
    work: (owner) => storedWork(server, writer, node, (op) => late(owner, op)),
    async reclaim(name) {
      await writer.step(async () => void (await server.query("SELECT {s}.reclaim($1, $2)", [node.boot, name])));
    },
    health() {
      // A daemon that has nothing to write hears it from its beats.
      const reason = writer.trouble ?? (node.silent ? fail("SVC_STORE_UNREACHABLE", { database: server.database, reason: SILENT }).message : undefined);
      return reason === undefined ? { ok: true } : { ok: false, reason };
    },
    onFailure(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    size: () => ({ used: space.used }),
    diskBytes: () => space.disk,
    steady: clock?.steady ?? (() => Math.floor(began + performance.now())),
    nodes: () => nodesOf(server),
    tell: (about) => node.tell(about),
    time: () => node.time(),
    hints,
    exchange: (first, values) => events.exchange(first, values),
    onDrain: (listener) => void drained.add(listener),
    leaving: () => node.leave(),
    records: () => storedRecords(server),
    restore: (records) => restoreRecords(server, records),
    close() {
      closing ??= close();
      return closing;
    },
  };
}
