import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { StoreWork } from "@svc/sdk";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { checkServer } from "../../plugins/stores/postgres/check.ts";
import { openPostgres, type PostgresStore } from "../../plugins/stores/postgres/open.ts";
import { NO_POSTGRES, startPostgres, type TestServer } from "../kit/postgres.ts";

/** A conversation that goes on with what one daemon has belongs to that daemon, as long as it comes for it. */
describe.skipIf(NO_POSTGRES !== undefined)(`the home of a conversation${NO_POSTGRES === undefined ? "" : `: ${NO_POSTGRES}`}`, () => {
  const TURN = { items: 50, size: 64_000 };
  let server: TestServer;
  let at: { url: string; schema: string };
  let one: StoreWork;
  let two: StoreWork;
  let stores: PostgresStore[];
  const folders: string[] = [];

  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server?.stop());

  async function daemon(name: string): Promise<PostgresStore> {
    const folder = await mkdtemp(join(tmpdir(), "svc-home-"));
    folders.push(folder);
    const store = await openPostgres({ ...at, poolSize: 4, folder, shared: true });
    await store.reclaim(name);
    return store;
  }
  beforeEach(async () => {
    at = server.schema();
    stores = [await daemon("n1"), await daemon("n2")];
    [one, two] = stores.map((store) => store.work("core")) as [StoreWork, StoreWork];
  });
  afterEach(async () => {
    expect((await checkServer({ ...at, poolSize: 2 }, false))?.problems).toEqual([]);
    for (const store of stores) await store.close();
    for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
  });

  let entered = 0;
  const enter = (rows: StoreWork, conversation: string) => rows.enter({ id: `${++entered}`, conversation, agent: "a", mode: "followup" });
  const claim = (rows: StoreWork, limit = 4, want = 16) => rows.claim([{ agent: "a", limit }], want, TURN);
  const names = (claims: readonly { conversation: string }[]) => claims.map(({ conversation }) => conversation);
  /** Runs what waits in the conversation, and keeps there what it goes on with. */
  async function settle(rows: StoreWork, conversation: string, home = true): Promise<void> {
    const [held] = await claim(rows);
    if (held?.conversation !== conversation) throw new Error(`${conversation} was not claimed`);
    expect(await rows.finish(held, [], home)).toBe("finished");
    await rows.leave(held);
  }
  async function atHome(conversation: string): Promise<void> {
    await enter(one, conversation);
    await settle(one, conversation);
  }
  const node = (change: string) => server.sql(`UPDATE ${at.schema}.node SET ${change} WHERE name = 'n1'`);
  const lanes = () => server.sql(`SELECT key || ' ' || state FROM ${at.schema}.lane ORDER BY key`);

  it("is left to it by the others, over ten turns; without a home any daemon takes it", async () => {
    await atHome("c");
    for (let turn = 0; turn < 10; turn += 1) {
      expect(lanes()).toBe("c idle");
      await enter(two, "c");
      expect(await claim(two)).toEqual([]);
      const [held] = await claim(one);
      expect(held).not.toHaveProperty("from");
      // A turn that says nothing of it leaves the home where it is.
      await one.finish(held as { conversation: string; token: string }, [], turn % 2 === 0);
      await one.leave(held as { conversation: string; token: string });
    }
    await enter(one, "free");
    await settle(one, "free", false);
    expect(lanes()).toBe("c idle");
    await enter(one, "free");
    expect(await claim(two)).toMatchObject([{ conversation: "free" }]);
  });

  it("is taken at once by another when the home is dead, silent or told to end; then that one is its home", async () => {
    for (const [how, back] of [
      ["draining = true", "draining = false"],
      ["lease_until = clock_timestamp() - interval '1 ms'", "lease_until = clock_timestamp() + interval '7 s'"],
      ["alive = false", "alive = true"],
    ] as const) {
      await atHome(how);
      await enter(two, how);
      node(how);
      const [held] = await claim(two);
      expect(held).toMatchObject({ conversation: how, from: "n1" });
      // Where the answer to the claim is lost, too.
      expect(await two.held()).toEqual([held]);
      node(back);
      await two.finish(held as { conversation: string; token: string }, [], true);
      await two.leave(held as { conversation: string; token: string });
      await enter(one, how);
      expect(await claim(one)).toEqual([]);
      await settle(two, how);
    }
  });

  it("is taken at once by another when the home says itself that it ends, which nobody then asks it to", async () => {
    const asked = vi.fn();
    stores[0]?.onDrain(asked);
    await atHome("c");
    await enter(two, "c");
    expect(await claim(two)).toEqual([]);
    await stores[0]?.leaving();
    expect(await claim(two)).toMatchObject([{ conversation: "c", from: "n1" }]);
    expect((await stores[1]?.nodes())?.find(({ name }) => name === "n1")).toMatchObject({ state: "draining" });
    // Two beats of it hear of the mark.
    const beats = () => server.sql(`SELECT lease_until FROM ${at.schema}.node WHERE name = 'n1'`);
    for (const before of [beats(), undefined]) {
      const last = before ?? beats();
      await vi.waitFor(() => expect(beats()).not.toBe(last), { timeout: 15_000 });
    }
    expect(asked).not.toHaveBeenCalled();
  });

  it("a home that does not come for it keeps nobody waiting for more than a second", async () => {
    await atHome("c");
    await enter(one, "c");
    expect(await claim(two)).toEqual([]);
    const held = await vi.waitFor(
      async () => {
        const [found] = await claim(two);
        return found ?? Promise.reject(new Error("not yet"));
      },
      { timeout: 15_000, interval: 50 },
    );
    expect(held).toMatchObject({ conversation: "c", from: "n1" });
    // The second counts from the first time that somebody else could have taken it: not from here on for the next message.
    await two.release(held);
    expect(await claim(two)).toEqual([]);
    expect(names(await claim(one))).toEqual(["c"]);
  });

  it("what waits because its agent has no slot does not move: the slot that comes free is left to its home, in the order of all", async () => {
    await atHome("c");
    await enter(two, "running");
    const [running] = await claim(two, 1);
    await enter(two, "c");
    await enter(two, "later");
    for (const rows of [one, two]) expect(await claim(rows, 1)).toEqual([]);
    // It has waited for longer than a second by now, but for a slot.
    server.sql(`SELECT pg_sleep(1.1)`);
    await two.leave(running as { conversation: string; token: string });
    expect(await claim(two, 1)).toEqual([]);
    expect(names(await claim(one, 1))).toEqual(["c"]);
  });

  it("many that are left to their home do not keep a daemon from its own", async () => {
    for (let n = 0; n < 5; n += 1) await atHome(`c${n}`);
    for (let n = 0; n < 5; n += 1) await enter(two, `c${n}`);
    await enter(two, "own");
    expect(names(await claim(two, 6, 2))).toEqual(["own"]);
    expect(names(await claim(one, 6, 16))).toEqual(["c0", "c1", "c2", "c3", "c4"]);
  });

  it("a turn that moved and was parked goes on where it stands still, whoever is alive", async () => {
    await atHome("c");
    node("draining = true");
    await enter(two, "c");
    const [held] = await claim(two);
    node("draining = false");
    await two.park(held as { conversation: string; token: string });
    await two.unpark(held as { conversation: string; token: string });
    expect(await claim(one)).toEqual([]);
    expect(names(await claim(two))).toEqual(["c"]);
  });

  it("is forgotten a day after the last turn", async () => {
    await atHome("old");
    await atHome("new");
    server.sql(`UPDATE ${at.schema}.lane SET since = clock_timestamp() - interval '25 h' WHERE key = 'old'`);
    stores.push(await daemon("n3"));
    await vi.waitFor(() => expect(lanes()).toBe("new idle"), { timeout: 15_000 });
  });
});
