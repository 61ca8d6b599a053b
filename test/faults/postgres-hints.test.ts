import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Ending } from "../../kernel/core/flow/run-facts.ts";
import type { Claim, Placement } from "../../kernel/core/flow/work.ts";
import { SharedLanes } from "../../kernel/lanes/shared-lanes.ts";
import { openPostgres, type PostgresStore } from "../../plugins/stores/postgres/open.ts";
import { NO_PGBOUNCER, startPgbouncer } from "../kit/pgbouncer.ts";
import { NO_POSTGRES, startPostgres, type TestServer } from "../kit/postgres.ts";
import { startTcpProxy } from "../kit/tcp-proxy.ts";

const PATIENCE = { timeout: 20_000, interval: 50 };
/** Nothing is found by looking now and then while a test runs. */
const NEVER_MS = 3_600_000;
/** How often those look that hear no hints. */
const LOOK_MS = 50;
const CANCELLED: Ending = { kind: "cancelled", text: "cancelled by the test" };

let server: TestServer;
const undo: (() => unknown)[] = [];
beforeAll(async () => {
  if (NO_POSTGRES === undefined) server = await startPostgres();
});
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});
afterAll(() => server?.stop());

const placement: Placement = { conversation: "c", agent: "a", mode: () => "followup", limit: () => 1 };

type At = ReturnType<TestServer["schema"]>;
const onPort = (at: At, port: number): At => ({ ...at, url: at.url.replace(/:\d+\//, `:${port}/`) });

interface Opened {
  readonly store: PostgresStore;
  /** How many hints of others came. */
  readonly heard: () => number;
  /** Warnings of its log. */
  readonly warned: readonly string[];
}

async function open(at: At, listenUrl?: string): Promise<Opened> {
  const folder = mkdtempSync(join(tmpdir(), "svc-hints-"));
  undo.push(() => rmSync(folder, { recursive: true, force: true }));
  const warned: string[] = [];
  const log = { debug() {}, info() {}, error() {}, warn: (_: unknown, text: string) => void warned.push(text) } as never;
  const store = await openPostgres({ ...at, poolSize: 4, folder, shared: true, log, ...(listenUrl === undefined ? {} : { listenUrl }) });
  undo.push(() => store.close());
  let heard = 0;
  store.hints.hear(() => {
    heard += 1;
  });
  return { store, heard: () => heard, warned };
}

/** Tells until the other one hears: before its connection listens, a hint is lost. */
const reaches = (from: Opened, to: Opened) =>
  expect
    .poll(() => {
      from.store.hints.tell();
      return to.heard();
    }, PATIENCE)
    .toBeGreaterThan(to.heard());

describe.skipIf(NO_POSTGRES !== undefined)(`hints between daemons${NO_POSTGRES === undefined ? "" : `: ${NO_POSTGRES}`}`, () => {
  it("each hears the others and not itself; alone there is nobody to tell", async () => {
    const place = server.schema();
    const one = await open(place);
    expect(one.store.hints.others).toBe(false);
    const two = await open(place);
    await expect.poll(() => one.store.hints.others, PATIENCE).toBe(true);
    await reaches(one, two);
    expect(one.heard()).toBe(0);
    await reaches(two, one);
    const elsewhere = await open(server.schema());
    await reaches(one, two);
    expect(elsewhere.heard()).toBe(0);
  });

  it("a connection that is cut is opened again", async () => {
    const place = server.schema();
    const proxy = await startTcpProxy(() => server.port);
    undo.push(() => proxy.close());
    const one = await open(place);
    const two = await open(onPort(place, proxy.port));
    await reaches(one, two);
    proxy.cut();
    await reaches(one, two);
    expect(two.warned).toEqual([]);
  });

  it.skipIf(NO_PGBOUNCER !== undefined)(
    "behind a pooler that shares connections out nothing is heard, which is said once; listenUrl goes past it",
    async () => {
      const place = server.schema();
      const pooler = await startPgbouncer(server.port, 3);
      undo.push(() => pooler.stop());
      const pooled = onPort(place, pooler.port);
      const deaf = await open(pooled);
      await expect.poll(() => deaf.warned.length, PATIENCE).toBe(1);
      expect(deaf.warned[0]).toContain("set store.listenUrl");
      const past = await open(pooled, place.url);
      await reaches(deaf, past);
      expect([deaf.warned.length, past.warned]).toEqual([1, []]);
    },
  );

  it("what one daemon leaves is begun, ended and heard of by the other at once, though neither looks by itself", async () => {
    const place = server.schema();
    const [one, two] = [await lanes(place), await lanes(place)];
    await reaches(one, two);
    await reaches(two, one);
    one.work.pause();
    expect(await one.work.enter("1", placement)).toBe("queued");
    await expect.poll(() => two.claims.map(({ batch }) => batch), PATIENCE).toEqual([["1"]]);
    expect(await one.work.cancel("1", CANCELLED)).toBe("asked");
    await expect.poll(() => two.stopped, PATIENCE).toEqual(["1"]);
    const [claim] = two.claims as [Claim<string>];
    await two.work.finish(claim, []);
    await two.work.leave(claim);
    await expect.poll(() => one.ended, PATIENCE).toEqual(["1"]);
  });

  it("what one gives back the other takes at once, though it does not look by itself", async () => {
    const place = server.schema();
    const [one, two] = [await lanes(place), await lanes(place)];
    await reaches(one, two);
    expect(await one.work.enter("1", placement)).toBe("started");
    one.work.pause();
    // A hint from before that is still under way would do instead of the one that is looked for: the other one hears nothing for a while.
    let heard = -1;
    await expect.poll(() => heard === (heard = two.heard()), { timeout: 20_000, interval: 1_000 }).toBe(true);
    expect(await one.work.release(one.claims[0] as Claim<string>)).toBe(true);
    await expect.poll(() => two.claims.map(({ batch }) => batch), PATIENCE).toEqual([["1"]]);
  });

  it("FAULT-05 no hint comes through, as their line drops all: work, its cancel and its end are found by looking", async () => {
    const place = server.schema();
    const silent = await startTcpProxy(() => server.port);
    undo.push(() => silent.close());
    silent.partition(true);
    const listenUrl = onPort(place, silent.port).url;
    const [one, two] = [await lanes(place, LOOK_MS, listenUrl), await lanes(place, LOOK_MS, listenUrl)];
    one.work.pause();
    expect(await one.work.enter("1", placement)).toBe("queued");
    await expect.poll(() => two.claims.map(({ batch }) => batch), PATIENCE).toEqual([["1"]]);
    expect(await one.work.cancel("1", CANCELLED)).toBe("asked");
    await expect.poll(() => two.stopped, PATIENCE).toEqual(["1"]);
    const [claim] = two.claims as [Claim<string>];
    await two.work.finish(claim, []);
    await two.work.leave(claim);
    await expect.poll(() => one.ended, PATIENCE).toEqual(["1"]);
    expect([one.heard(), two.heard()]).toEqual([0, 0]);
  });
});

async function lanes(place: At, everyMs = NEVER_MS, listenUrl?: string) {
  const opened = await open(place, listenUrl);
  const claims: Claim<string>[] = [];
  const stopped: string[] = [];
  const ended: string[] = [];
  const work = new SharedLanes<string>({
    rows: opened.store.work("core"),
    hints: opened.store.hints,
    worker: { start: (claim) => void claims.push(claim), stop: (item) => void stopped.push(item) },
    log: { warn() {} },
    idOf: (item) => item,
    load: async (id) => id,
    ended: (item) => ended.push(item),
    agents: () => new Map([["a", { limit: 1 }]]),
    everyMs,
  });
  undo.push(() => work.close());
  return { ...opened, work, claims, stopped, ended };
}
