import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { StoreWork } from "@svc/sdk";
import pg from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { checkServer } from "../../plugins/stores/postgres/check.ts";
import { openPostgres, type PostgresStore } from "../../plugins/stores/postgres/open.ts";
import { NO_POSTGRES, startPostgres, type TestServer } from "../kit/postgres.ts";

/*
 * Two transactions in the order that hurts: the first is open and has done its part, the second begins, and only then the first ends.
 */
describe.skipIf(NO_POSTGRES !== undefined)(`lanes as rows, two at once${NO_POSTGRES === undefined ? "" : `: ${NO_POSTGRES}`}`, () => {
  const TURN = { items: 50, size: 64_000 };
  const ENDING = { kind: "cancelled", text: "cancelled by the test" };
  let server: TestServer;
  let at: { url: string; schema: string };
  let schema: string;
  let first: PostgresStore;
  let second: PostgresStore;
  let one: StoreWork;
  let two: StoreWork;
  let open: pg.Client;
  const folders: string[] = [];

  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server?.stop());

  async function daemon(): Promise<PostgresStore> {
    const folder = await mkdtemp(join(tmpdir(), "svc-traps-"));
    folders.push(folder);
    return openPostgres({ ...at, poolSize: 4, folder, shared: true });
  }
  beforeEach(async () => {
    at = server.schema();
    schema = at.schema;
    [first, second] = [await daemon(), await daemon()];
    [one, two] = [first.work("core"), second.work("core")];
    open = new pg.Client({ connectionString: at.url });
    await open.connect();
  });
  afterEach(async () => {
    await open.end();
    expect((await checkServer({ ...at, poolSize: 2 }, false))?.problems).toEqual([]);
    for (const store of [first, second]) await store.close();
    for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
  });

  const enter = (rows: StoreWork, id: string, conversation = "c") => rows.enter({ id, conversation, agent: "a", mode: "followup" });
  const claim = async (rows: StoreWork, limit = 1) => rows.claim([{ agent: "a", limit }], 16, TURN);
  /** Does something and keeps its transaction open. */
  async function begin(call: string, ...values: unknown[]): Promise<unknown> {
    await open.query("BEGIN");
    const { rows } = await open.query(`SELECT ${schema}.${call} AS answer`, values);
    return rows[0].answer;
  }
  /** Waits until another transaction waits for that one, and ends it. */
  async function end(): Promise<void> {
    await vi.waitFor(() => expect(server.sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")).not.toBe("0"), { timeout: 15_000 });
    await open.query("COMMIT");
  }
  const state = () => server.sql(`SELECT key || ' ' || state FROM ${schema}.lane ORDER BY key`);
  const change = (how: string, { conversation, token }: { conversation: string; token: string }) =>
    JSON.stringify({ o: "lane", do: how, l: conversation, t: token });

  it("what enters while the last of its conversation leaves is the next: no conversation is left without one", async () => {
    await enter(one, "1");
    const [held] = await claim(one);
    if (held === undefined) throw new Error("nothing was claimed");
    await one.finish(held, []);
    expect(await begin("lane_change($1)", change("leave", held))).toBe(true);
    const entered = enter(two, "2");
    await end();
    expect(await entered).toBe("queued");
    expect((await claim(two)).map(({ batch }) => batch[0]?.id)).toEqual(["2"]);
  });

  it("two that claim at once have together no more than the agent's limit", async () => {
    await enter(one, "1", "c1");
    await enter(one, "2", "c2");
    expect(await begin("claim_lanes($1, $2, 1, 50, 64000)", first.boot, JSON.stringify([{ a: "a", n: 1 }]))).toHaveLength(1);
    const claims = claim(two);
    await end();
    expect(await claims).toEqual([]);
  });

  it("a lane that somebody is changing is passed by, and claimed the next time", async () => {
    await enter(one, "1");
    expect(await begin("lane_enter($1)", JSON.stringify({ o: "enter", i: "2", l: "c", a: "a", m: "followup" }))).toBe("queued");
    expect(await claim(two)).toEqual([]);
    await open.query("COMMIT");
    expect((await claim(two)).map(({ batch }) => batch[0]?.id)).toEqual(["1"]);
  });

  it("cancel waits for a claim and finds a run to stop; a claim passes by what is being cancelled", async () => {
    await enter(one, "1");
    expect(await begin("claim_lanes($1, $2, 1, 50, 64000)", first.boot, JSON.stringify([{ a: "a", n: 1 }]))).toHaveLength(1);
    const asked = two.cancel("1", ENDING);
    await end();
    expect(await asked).toBe("asked");
    expect((await one.held())[0]?.batch).toEqual([{ id: "1", attempt: 1, stop: ENDING }]);

    await enter(one, "2", "d");
    expect(await begin("lane_cancel($1)", JSON.stringify({ o: "cancel", i: "2", stop: JSON.stringify(ENDING) }))).toBe("removed");
    expect(await claim(two, 2)).toEqual([]);
    await open.query("COMMIT");
    expect(await claim(two, 2)).toEqual([]);
    expect(state()).toBe("c running");
  });

  it("a claim whose answer was lost is held, and found", async () => {
    await enter(one, "1");
    await claim(one);
    const [held] = await one.held();
    expect(held).toMatchObject({ conversation: "c", agent: "a", batch: [{ id: "1", attempt: 1 }] });
    expect(await two.held()).toEqual([]);
    expect(await one.finish(held as { conversation: string; token: string }, [])).toBe("finished");
  });

  it("a daemon is not declared dead over a finish that is under way, whose lane goes on after that", async () => {
    await enter(one, "1");
    await enter(one, "2");
    const [held] = await claim(one);
    if (held === undefined) throw new Error("nothing was claimed");
    const late = `UPDATE ${schema}.node SET lease_until = 'epoch' WHERE boot = ${first.boot}`;
    const sweep = `SELECT ${schema}.sweep_lanes(0)`;
    server.sql(late);
    const group = JSON.stringify([[{ o: "finish", l: "c", t: held.token }]]);
    expect(await begin("commit_group($1, 1000000, $2, false, null, null, null)", first.boot, group)).toEqual([["finished"]]);
    expect(server.sql(sweep)).toBe("0");
    await open.query("COMMIT");
    expect(await two.waiting()).toEqual(["2"]);
    expect(server.sql(`${late}; ${sweep}`)).toBe("1");
    expect((await claim(two)).map(({ batch }) => batch[0]?.id)).toEqual(["2"]);
  });

  it("a finish that waits while its daemon is declared dead writes nothing, and the batch is taken over whole", async () => {
    await enter(one, "1");
    const [held] = await claim(one);
    if (held === undefined) throw new Error("nothing was claimed");
    await open.query("BEGIN");
    await open.query(`UPDATE ${schema}.node SET alive = false WHERE boot = $1`, [first.boot]);
    const late = one.finish(held, [{ op: "put", collection: "done", key: "1", value: {} }]).catch((error: { code: string }) => error.code);
    await end();
    expect(await late).toBe("SVC_STORE_FENCED");
    expect(await two.sweep()).toBe(1);
    expect((await claim(two)).map(({ batch }) => batch)).toEqual([[{ id: "1", attempt: 2 }]]);
    expect(await second.scope("core").collection("done").list()).toEqual([]);
  });

  it("a claim of a dead daemon that commits after it was declared dead is found by the next sweep", async () => {
    await enter(two, "1");
    expect(await begin("claim_lanes($1, $2, 1, 50, 64000)", first.boot, JSON.stringify([{ a: "a", n: 1 }]))).toHaveLength(1);
    server.sql(`UPDATE ${schema}.node SET alive = false WHERE boot = ${first.boot}`);
    expect(await two.sweep()).toBe(0);
    await open.query("COMMIT");
    expect(await two.sweep()).toBe(1);
    expect((await claim(two)).map(({ batch }) => batch[0]?.id)).toEqual(["1"]);
  });

  it("groups of two daemons that touch the same conversations in another order do not wait for each other", async () => {
    const before = Number(server.sql("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"));
    const names = Array.from({ length: 12 }, (_, n) => `c${n}`);
    for (let round = 0; round < 15; round += 1) {
      const all = names.flatMap((name, n) => [enter(one, `${round} one ${name}`, name), enter(two, `${round} two ${name}`, names[names.length - 1 - n])]);
      await Promise.all(all);
    }
    expect(await one.waiting()).toHaveLength(12 * 2 * 15);
    expect(Number(server.sql("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"))).toBe(before);
  });

  it("an item of a queue that a dead daemon has leased is due with the next sweep, and said to be handed out again", async () => {
    const [queue, other] = [first, second].map((store) => store.scope("core").queue<string>("outbox"));
    await queue?.push("letter", { group: "chat" });
    expect(await queue?.claim(5, 3_600_000)).toHaveLength(1);
    await two.sweep();
    expect(await other?.claim(5, 3_600_000)).toEqual([]);
    server.sql(`UPDATE ${schema}.node SET alive = false WHERE boot = ${first.boot}`);
    await two.sweep();
    expect(await other?.claim(5, 3_600_000)).toMatchObject([{ value: "letter", attempt: 2, redelivered: true }]);
  });

  it("a check finds a conversation that nobody can claim", async () => {
    await enter(one, "1");
    server.sql(`DELETE FROM ${schema}.lane`);
    expect((await checkServer({ ...at, poolSize: 2 }, false))?.problems).toEqual(["1 conversations of which something waits and nobody can claim it."]);
    server.sql(`DELETE FROM ${schema}.lane_item`);
  });

  it("nothing is claimed by a daemon that was asked to end", async () => {
    await enter(one, "1");
    server.sql(`UPDATE ${schema}.node SET draining = true WHERE boot = ${first.boot}`);
    expect(await claim(one)).toEqual([]);
    expect(await claim(two)).toHaveLength(1);
  });
});
