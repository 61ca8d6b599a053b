import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import type { Ending } from "../../kernel/core/flow/run-facts.ts";
import type { Claim, Placement } from "../../kernel/core/flow/work.ts";
import { SharedLanes } from "../../kernel/lanes/shared-lanes.ts";
import { openPostgres } from "../../plugins/stores/postgres/open.ts";
import { NO_POSTGRES, startPostgres, type TestServer } from "../kit/postgres.ts";

const ENDING: Ending = { kind: "cancelled", text: "cancelled by the test" };
const PATIENCE = { timeout: 15_000 };

describe.skipIf(NO_POSTGRES !== undefined)(`lanes of two daemons${NO_POSTGRES === undefined ? "" : `: ${NO_POSTGRES}`}`, () => {
  let server: TestServer;
  const ends: (() => Promise<void>)[] = [];
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server?.stop());
  afterEach(async () => {
    for (const end of ends.splice(0)) await end();
  });

  async function daemon(at: { url: string; schema: string }, limit = 1) {
    const folder = await mkdtemp(join(tmpdir(), "svc-work-"));
    const driver = await openPostgres({ ...at, poolSize: 4, folder, shared: true });
    const claims: Claim<string>[] = [];
    const stopped: [string, string][] = [];
    const ended: string[] = [];
    const work = new SharedLanes<string>({
      rows: driver.work("core"),
      worker: { start: (claim) => void claims.push(claim), stop: (item, { kind }) => void stopped.push([item, kind]) },
      log: { warn() {} },
      idOf: (item) => item,
      load: async (id) => id,
      ended: (item) => ended.push(item),
      agents: () => new Map([["a", { limit }]]),
      everyMs: 40,
    });
    ends.push(async () => {
      await work.close();
      await driver.close();
      await rm(folder, { recursive: true });
    });
    return { work, claims, stopped, ended, boot: driver.boot };
  }
  const at = (conversation: string): Placement => ({ conversation, agent: "a", mode: () => "followup", limit: () => 1 });

  it("what one took in and cannot run, the other runs; the first hears that it has ended", async () => {
    const place = server.schema();
    const [one, two] = [await daemon(place), await daemon(place)];
    one.work.pause();
    expect(await one.work.enter("1", at("c"))).toBe("queued");
    await vi.waitFor(() => expect(two.claims.map(({ batch }) => batch)).toEqual([["1"]]), PATIENCE);
    const [claim] = two.claims as [Claim<string>];
    expect(one.ended).toEqual([]);
    expect(await two.work.finish(claim, [])).toBe("finished");
    await two.work.leave(claim);
    await vi.waitFor(() => expect(one.ended).toEqual(["1"]), PATIENCE);
    expect(two.ended).toEqual([]);
  });

  it("cancel and replace reach the daemon that runs it", async () => {
    const place = server.schema();
    const [one, two] = [await daemon(place), await daemon(place)];
    one.work.pause();
    await two.work.enter("1", at("c"));
    await vi.waitFor(() => expect(two.claims).toHaveLength(1), PATIENCE);
    expect(await one.work.cancel("1", ENDING)).toBe("asked");
    await vi.waitFor(() => expect(two.stopped).toEqual([["1", "cancelled"]]), PATIENCE);
    expect(await one.work.replace("2", at("c"), "1", ENDING)).toBe("queued");
    const [first] = two.claims as [Claim<string>];
    await two.work.finish(first, []);
    await two.work.leave(first);
    await vi.waitFor(() => expect(two.claims.map(({ batch }) => batch)).toEqual([["1"], ["2"]]), PATIENCE);
    expect(await one.work.replace("3", at("c"), "2", ENDING)).toBe("queued");
    await vi.waitFor(() => expect(two.stopped).toContainEqual(["2", "cancelled"]), PATIENCE);
  });

  it("FAULT-05 a daemon that another declared dead hears that its runs are over; the other has them, as a further attempt", async () => {
    const place = server.schema();
    const [one, two] = [await daemon(place), await daemon(place)];
    two.work.pause();
    await one.work.enter("1", at("c"));
    await vi.waitFor(() => expect(one.claims).toHaveLength(1), PATIENCE);
    two.work.resume();
    server.sql(`UPDATE ${place.schema}.node SET alive = false, lease_until = 'epoch' WHERE boot = ${one.boot}`);
    await vi.waitFor(() => expect(two.claims.map(({ batch }) => batch)).toEqual([["1"]]), PATIENCE);
    await vi.waitFor(() => expect(one.stopped).toEqual([["1", "interrupted"]]), PATIENCE);
    await expect(one.work.finish(one.claims[0] as Claim<string>, [])).rejects.toMatchObject({ code: "SVC_STORE_FENCED" });
    expect(await two.work.finish(two.claims[0] as Claim<string>, [])).toBe("finished");
  });

  it("FAULT-06 what a daemon has given up and nobody has taken over is begun anew, there too, once its first turn has ended", async () => {
    const one = await daemon(server.schema());
    await one.work.enter("1", at("c"));
    await vi.waitFor(() => expect(one.claims).toHaveLength(1), PATIENCE);
    expect(one.work.giveUp()).toBe(1);
    expect(one.stopped).toEqual([["1", "interrupted"]]);
    expect(await one.work.finish(one.claims[0] as Claim<string>, [])).toBe("fenced");
    expect(one.claims).toHaveLength(1);
    await vi.waitFor(() => expect(one.claims.map(({ batch }) => batch)).toEqual([["1"], ["1"]]), PATIENCE);
    expect(await one.work.finish(one.claims[1] as Claim<string>, [])).toBe("finished");
  });

  it("an agent's limit counts the turns of all daemons", async () => {
    const place = server.schema();
    const [one, two] = [await daemon(place, 2), await daemon(place, 2)];
    for (const [n, { work }] of [one, two, one, two].entries()) await work.enter(`${n}`, at(`c${n}`));
    await vi.waitFor(() => expect(one.claims.length + two.claims.length).toBe(2), PATIENCE);
    // Of turns that another daemon runs nobody here can say that they wait for each other.
    const blocked = { c2: { by: "agent", agent: "a" }, c3: { by: "agent", agent: "a" } };
    expect(Object.fromEntries(await one.work.blockers())).toEqual(one.claims.length === 2 ? blocked : {});
    const [first] = [...one.claims, ...two.claims] as [Claim<string>];
    const owner = one.claims.includes(first) ? one : two;
    await owner.work.finish(first, []);
    await owner.work.leave(first);
    await vi.waitFor(() => expect(one.claims.length + two.claims.length).toBe(3), PATIENCE);
  });
});
