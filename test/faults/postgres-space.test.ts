import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Log, put } from "@svc/sdk";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { stateStore } from "../../kernel/base/state-store.ts";
import { newTaskId, TRACE_INDEXES, TRACES } from "../../kernel/core/flow/record.ts";
import { createRetention } from "../../kernel/maintenance/retention.ts";
import { openPostgres } from "../../plugins/stores/postgres/open.ts";
import { NO_POSTGRES, startPostgres, type TestServer } from "../kit/postgres.ts";

const MEGABYTE = 1_048_576;
const log: Log = { debug() {}, info() {}, warn() {}, error() {} };

let server: TestServer;
const undo: (() => unknown)[] = [];
beforeAll(async () => {
  if (NO_POSTGRES === undefined) server = await startPostgres();
});
afterEach(async () => {
  vi.useRealTimers();
  for (const step of undo.splice(0).reverse()) await step();
});
afterAll(() => server?.stop());

/** Opens the state of a data folder, as each start of its daemon does. */
function daemon() {
  const at = server.schema();
  const folder = mkdtempSync(join(tmpdir(), "svc-space-"));
  undo.push(() => rmSync(folder, { recursive: true, force: true }));
  return {
    ...at,
    async start() {
      const store = await openPostgres({ ...at, poolSize: 3, folder, name: "n1" });
      undo.push(() => store.close());
      return store;
    },
  };
}

describe.skipIf(NO_POSTGRES !== undefined)("what a PostgreSQL store keeps", () => {
  it("FLT-5 of too many traces the oldest go until the rest is under the bound, and no more, though the server gives no space back", {
    timeout: 180_000,
  }, async () => {
    const one = daemon();
    const opened = async () => {
      const store = stateStore(await one.start());
      const core = store.scope("core");
      core.collection(TRACES, { indexes: TRACE_INDEXES });
      const rules = () => ({ traceDays: 90, historyDays: 365, maxMegabytes: 24 });
      const kept = createRetention({ store, core, plugins: undefined, media: undefined, log, rules, tell: () => {} });
      return { store, core, kept, traces: core.collection(TRACES) };
    };
    const first = await opened();
    const all = 12_000;
    for (let at = 0; at < all; at += 250)
      await first.core.commit(
        Array.from({ length: 250 }, () => {
          const id = newTaskId(Date.now());
          return put(TRACES, id, { id, status: "ok", agent: "a", inbound: { channel: "app" }, response: randomBytes(1_000).toString("base64") });
        }),
      );
    await first.store.close();
    // The size is measured at a start, and each minute from then on.
    const second = await opened();
    expect(second.store.size().used).toBeGreaterThan(24 * MEGABYTE);
    await second.kept.bySize();
    const left = await second.traces.count();
    await second.store.close();
    const third = await opened();
    await third.kept.bySize();
    console.log(`${left} of ${all} traces left, ${await third.traces.count()} after another look, ${Math.round(third.store.size().used / MEGABYTE)} MB`);
    expect(third.store.size().used).toBeLessThanOrEqual(24 * MEGABYTE);
    expect(left).toBeGreaterThan(all / 3);
    expect(left).toBeLessThan(all);
    expect(await third.traces.count()).toBe(left);
  });

  it("events of a daemon that has ended are gone once nobody reads them any more", async () => {
    const one = daemon();
    const before = await one.start();
    await before.exchange(1, ["a", "b", "c"]);
    await before.close();
    const events = () => server.sql(`SELECT count(*) FROM ${one.schema}.event`);
    expect(events()).toBe("3");
    server.sql(`UPDATE ${one.schema}.node SET lease_until = clock_timestamp() - interval '11 min' WHERE NOT alive`);
    const after = await one.start();
    await after.exchange(1, ["d"]);
    await vi.waitFor(() => expect(events()).toBe("1"), { timeout: 10_000, interval: 50 });
  });

  it("FAULT-19 ages are counted by the clock of the server, also on a machine whose own is two hours behind", async () => {
    const one = daemon();
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() - 2 * 3_600_000 });
    const store = stateStore(await one.start());
    const there = Number(server.sql(`SELECT ${one.schema}.now_ms()`));
    expect(Math.abs(store.steady() - there)).toBeLessThan(60_000);
  });
});
