import type { Op } from "@svc/sdk";
import { describe, expect, it, vi } from "vitest";
import type { Ending } from "../../kernel/core/flow/run-facts.ts";
import type { Claim, Placement, QueueMode, Work, Worker } from "../../kernel/core/flow/work.ts";

/** A `Work` under test, and what its commits have written. */
export interface WorkUnderTest {
  readonly work: Work<string>;
  /** Keys of the documents that `finish` has written, in order. */
  written(): Promise<readonly string[]>;
  /** Makes the next commit fail with this. */
  failNext(error: Error): void;
  end?(): Promise<void>;
}

/** Collect makes one turn of at most so many items and such a size. */
export const CONTRACT_LIMITS = { items: 4, size: 100 };

const ENDING: Ending = { kind: "cancelled", text: "cancelled by the test" };

/** What every implementation of `Work` must hold, whether it answers at once or with promises, and claims at once or soon. */
export function workContract(name: string, open: (worker: Worker<string>) => WorkUnderTest | Promise<WorkUnderTest>): void {
  async function setUp() {
    const claims: Claim<string>[] = [];
    const stopped: string[] = [];
    const limits = new Map<string, number>();
    const under = await open({ start: (claim) => void claims.push(claim), stop: (item) => void stopped.push(item) });
    const { work } = under;
    const at = (conversation: string, mode: QueueMode, extra: Partial<Placement> = {}): Placement => ({
      conversation,
      agent: "a",
      mode: () => mode,
      limit: () => limits.get(extra.agent ?? "a") ?? 1,
      ...extra,
    });
    /** Waits until so many claims were made, and a moment longer for one too many. */
    const claimed = async (count: number): Promise<Claim<string>> => {
      await vi.waitFor(() => expect(claims.length).toBeGreaterThanOrEqual(count), { timeout: 10_000 });
      expect(claims.map(({ batch }) => batch)).toHaveLength(count);
      return claims.at(-1) as Claim<string>;
    };
    const batches = () => claims.map(({ batch }) => [...batch]);
    const put = (key: string): Op[] => [{ op: "put", collection: "done", key, value: { key } }];
    /** Ends the newest claim and waits for the next one. */
    const next = async (): Promise<Claim<string>> => {
      const last = claims.at(-1) as Claim<string>;
      expect(await work.finish(last, put(last.batch[0]))).toBe("finished");
      await work.leave(last);
      return claimed(claims.indexOf(last) + 2);
    };
    return { ...under, work, claims, stopped, limits, at, claimed, batches, put, next };
  }
  type Stage = Awaited<ReturnType<typeof setUp>>;
  const check = (sentence: string, run: (stage: Stage) => Promise<void>) =>
    it(sentence, async () => {
      const stage = await setUp();
      await run(stage).finally(() => stage.end?.());
    });

  describe(`${name}: the contract of Work`, () => {
    check("SES-10 a conversation has one claim at a time, whatever its agent may run side by side", async ({ work, at, claimed, limits, batches, next }) => {
      limits.set("a", 8);
      await work.enter("1", at("c", "followup"));
      expect(await work.enter("2", at("c", "followup"))).toBe("queued");
      await claimed(1);
      await next();
      expect(batches()).toEqual([["1"], ["2"]]);
    });

    check("an agent runs no more turns than its limit, first come first served, and more once `resume` is told of a larger one", async (stage) => {
      const { work, at, claimed, limits, batches } = stage;
      for (const item of ["1", "2", "3"]) await work.enter(item, at(`c${item}`, "collect"));
      await claimed(1);
      limits.set("a", 2);
      await work.resume();
      await claimed(2);
      expect(batches()).toEqual([["1"], ["2"]]);
      expect(await work.waiting()).toEqual(["3"]);
    });

    check("RUN-07 collect, followup and drop decide what becomes of what waits", async ({ work, at, claimed, next, batches }) => {
      for (const item of ["1", "2", "3"]) await work.enter(item, at("c", "collect"));
      await claimed(1);
      expect(await work.enter("4", at("c", "drop"))).toBe("dropped");
      expect(await work.enter("5", at("c", "drop", { keep: true }))).toBe("queued");
      await next();
      expect(batches()).toEqual([["1"], ["2", "3", "5"]]);
    });

    check("collect keeps to its limits, and to items of one agent and one sort", async ({ work, at, claimed, next, batches, limits }) => {
      limits.set("b", 1);
      await work.enter("0", at("c", "collect"));
      for (const item of ["1", "2", "3", "4", "5"]) await work.enter(item, at("c", "collect", { size: 1 }));
      await work.enter("6", at("c", "collect", { size: CONTRACT_LIMITS.size }));
      await work.enter("7", at("c", "collect", { sort: () => "other" }));
      await work.enter("8", at("c", "collect", { agent: "b", sort: () => "other" }));
      await claimed(1);
      for (let turn = 0; turn < 5; turn += 1) await next();
      expect(batches()).toEqual([["0"], ["1", "2", "3", "4"], ["5"], ["6"], ["7"], ["8"]]);
    });

    check("API-08 what comes to the front runs next and alone", async ({ work, at, claimed, next, batches }) => {
      for (const item of ["1", "2", "3"]) await work.enter(item, at("c", "collect"));
      await work.enter("urgent", at("c", "collect", { front: true }));
      await claimed(1);
      await next();
      await next();
      expect(batches()).toEqual([["1"], ["urgent"], ["2", "3"]]);
    });

    check("API-08 replace stands at the front and stops what runs, in one step", async ({ work, at, claimed, next, stopped, batches }) => {
      await work.enter("old", at("c", "drop"));
      await work.enter("waits", at("c", "collect"));
      await claimed(1);
      expect(await work.replace("new", at("c", "drop"), "old", ENDING)).toBe("queued");
      await vi.waitFor(() => expect(stopped).toEqual(["old"]));
      await next();
      expect(batches()).toEqual([["old"], ["new"]]);
    });

    check("cancel takes out what waits, asks what runs to stop, and knows what has ended", async ({ work, at, claimed, stopped, put }) => {
      await work.enter("1", at("c", "followup"));
      await work.enter("2", at("c", "followup"));
      const claim = await claimed(1);
      expect(await work.cancel("2", ENDING)).toBe("removed");
      expect(await work.cancel("2", ENDING)).toBe("absent");
      expect(await work.cancel("1", ENDING)).toBe("asked");
      await vi.waitFor(() => expect(stopped).toEqual(["1"]));
      await work.finish(claim, put("1"));
      await work.leave(claim);
      expect(await work.cancel("1", ENDING)).toBe("absent");
      expect(await work.waiting()).toEqual([]);
    });

    check("the lane stays closed after finish until leave", async ({ work, at, claimed, put, batches }) => {
      await work.enter("1", at("c", "followup"));
      await work.enter("2", at("c", "followup"));
      const claim = await claimed(1);
      await work.finish(claim, put("1"));
      await claimed(1);
      await work.leave(claim);
      await claimed(2);
      expect(batches()).toEqual([["1"], ["2"]]);
    });

    check("finish writes once; a second call is told so", async ({ work, at, claimed, put, written }) => {
      await work.enter("1", at("c", "followup"));
      const claim = await claimed(1);
      expect(await work.finish(claim, put("one"))).toBe("finished");
      expect(await work.finish(claim, put("two"))).toBe("repeated");
      await work.leave(claim);
      expect(await work.finish(claim, put("three"))).toBe("repeated");
      expect(await written()).toEqual(["one"]);
    });

    check("a commit that fails leaves the claim held: it can be finished with other writes", async ({ work, at, claimed, put, written, failNext }) => {
      await work.enter("1", at("c", "followup"));
      const claim = await claimed(1);
      failNext(new Error("no room"));
      await expect(work.finish(claim, put("one"))).rejects.toThrow("no room");
      expect(await work.finish(claim, put("two"))).toBe("finished");
      expect(await written()).toEqual(["two"]);
    });

    check("release gives the batch back, whole and before all that waits; the old claim is fenced", async ({ work, at, claimed, put, written, batches }) => {
      for (const item of ["0", "1", "2"]) await work.enter(item, at("c", "collect"));
      const first = await claimed(1);
      await work.finish(first, put("0"));
      await work.leave(first);
      const claim = await claimed(2);
      await work.enter("3", at("c", "collect", { front: true }));
      expect(await work.release(claim)).toBe(true);
      const again = await claimed(3);
      expect(batches()).toEqual([["0"], ["1", "2"], ["1", "2"]]);
      expect(again.token).not.toBe(claim.token);
      expect(await work.finish(claim, put("late"))).toBe("fenced");
      expect(await work.release(claim)).toBe(false);
      await work.leave(claim);
      expect(await work.finish(again, put("1"))).toBe("finished");
      expect(await written()).toEqual(["0", "1"]);
    });

    check("a released batch waits while nothing is claimed, and is the first after that", async ({ work, at, claimed, batches }) => {
      await work.enter("1", at("c", "followup"));
      const claim = await claimed(1);
      await work.pause();
      await work.release(claim);
      await work.enter("2", at("d", "followup"));
      expect(await work.waiting()).toEqual(["1", "2"]);
      await claimed(1);
      await work.resume();
      await claimed(2);
      expect(batches()).toEqual([["1"], ["1"]]);
    });

    check("cancel takes an item out of a batch that was given back; with its last one the lane goes on", async (stage) => {
      const { work, at, claimed, put, batches } = stage;
      for (const item of ["0", "1", "2", "3"]) await work.enter(item, at("c", "collect", { sort: () => (item === "3" ? "other" : "one") }));
      const first = await claimed(1);
      await work.finish(first, put("0"));
      await work.leave(first);
      const claim = await claimed(2);
      await work.pause();
      expect(await work.release(claim)).toBe(true);
      expect(await work.cancel("1", ENDING)).toBe("removed");
      expect(await work.waiting()).toEqual(["2", "3"]);
      await work.resume();
      const again = await claimed(3);
      await work.pause();
      await work.release(again);
      expect(await work.cancel("2", ENDING)).toBe("removed");
      await work.resume();
      await claimed(4);
      expect(batches()).toEqual([["0"], ["1", "2"], ["2"], ["3"]]);
    });

    check("park frees the agent's slot and keeps the lane closed; unpark takes a slot again", async ({ work, at, claimed, put, batches }) => {
      await work.enter("1", at("c", "followup"));
      await work.enter("2", at("c", "followup"));
      await work.enter("3", at("d", "followup"));
      const parked = await claimed(1);
      expect(await work.park(parked)).toBe(true);
      expect(await work.park(parked)).toBe(false);
      const other = await claimed(2);
      expect(other.batch).toEqual(["3"]);
      expect(await work.unpark(parked)).toBe(true);
      expect(await work.unpark(parked)).toBe(false);
      await work.finish(other, put("3"));
      await work.leave(other);
      const again = await claimed(3);
      expect(await work.finish(again, put("1"))).toBe("finished");
      await work.leave(again);
      await claimed(4);
      expect(batches()).toEqual([["1"], ["3"], ["1"], ["2"]]);
    });

    check("five conversations are parked at once under a limit of one, and each ends without a slot", async (stage) => {
      const { work, at, claimed, claims, put, written } = stage;
      for (const n of [1, 2, 3, 4, 5]) {
        await work.enter(`${n}`, at(`c${n}`, "followup"));
        expect(await work.park(await claimed(n))).toBe(true);
      }
      await work.enter("6", at("c6", "followup"));
      await claimed(6);
      for (const claim of claims.slice(0, 5)) {
        expect(await work.finish(claim, put(claim.batch[0]))).toBe("finished");
        await work.leave(claim);
      }
      expect(await written()).toEqual(["1", "2", "3", "4", "5"]);
      await work.enter("7", at("c1", "followup"));
      expect(await work.blockers()).toEqual(new Map([["c1", { by: "agent", agent: "a" }]]));
    });

    check("what waits behind a parked batch is blocked by its turn and starts when it has left", async ({ work, at, claimed, put, batches }) => {
      await work.enter("1", at("c", "collect"));
      await work.enter("2", at("c", "collect"));
      const parked = await claimed(1);
      await work.park(parked);
      expect(await work.blockers()).toEqual(new Map([["c", { by: "turn" }]]));
      await claimed(1);
      await work.finish(parked, put("1"));
      await work.leave(parked);
      await claimed(2);
      expect(batches()).toEqual([["1"], ["2"]]);
    });

    check("unparked batches go on before all that waits, in the order in which they were", async ({ work, at, claimed, claims, next, batches }) => {
      for (const n of [1, 2]) {
        await work.enter(`${n}`, at(`c${n}`, "followup"));
        await work.park(await claimed(n));
      }
      await work.enter("3", at("c3", "followup"));
      await claimed(3);
      await work.enter("4", at("c4", "followup"));
      for (const claim of claims.slice(0, 2)) expect(await work.unpark(claim)).toBe(true);
      for (let turn = 0; turn < 3; turn += 1) await next();
      expect(batches()).toEqual([["1"], ["2"], ["3"], ["1"], ["2"], ["4"]]);
    });

    check("park takes an unpark back that has led to no other claim; then it can be finished, or unparked again", async (stage) => {
      const { work, at, claimed, put, written, next } = stage;
      await work.enter("1", at("c", "followup"));
      const parked = await claimed(1);
      await work.park(parked);
      await work.enter("2", at("d", "followup"));
      await claimed(2);
      expect(await work.unpark(parked)).toBe(true);
      expect(await work.park(parked)).toBe(true);
      expect(await work.park(parked)).toBe(false);
      expect(await work.unpark(parked)).toBe(true);
      const again = await next();
      expect(again.batch).toEqual(["1"]);
      expect(await work.park(parked)).toBe(false);
      expect(await work.finish(parked, put("late"))).toBe("fenced");
      expect(await work.park(again)).toBe(true);
      expect(await work.unpark(again)).toBe(true);
      await claimed(4);
      expect(await written()).toEqual(["2"]);
    });

    check("cancel and replace ask a parked batch to stop, also when it waits for a slot again", async ({ work, at, claimed, stopped, put, batches }) => {
      await work.enter("1", at("c", "followup"));
      const parked = await claimed(1);
      await work.park(parked);
      expect(await work.cancel("1", ENDING)).toBe("asked");
      await work.enter("2", at("d", "followup"));
      await claimed(2);
      await work.unpark(parked);
      expect(await work.cancel("1", ENDING)).toBe("asked");
      expect(await work.replace("new", at("c", "followup"), "1", ENDING)).toBe("queued");
      await vi.waitFor(() => expect(stopped).toEqual(["1", "1", "1"]));
      expect(await work.park(parked)).toBe(true);
      await work.finish(parked, put("1"));
      await work.leave(parked);
      expect(await work.waiting()).toEqual(["new"]);
      expect(batches()).toEqual([["1"], ["2"]]);
    });

    check("a limit that was lowered meanwhile holds for an unparked batch, too", async ({ work, at, claimed, claims, limits, put, next, batches }) => {
      limits.set("a", 2);
      for (const n of [1, 2, 3]) await work.enter(`${n}`, at(`c${n}`, "followup"));
      const [first, second] = (await claimed(2)) && claims;
      await work.park(first as Claim<string>);
      await claimed(3);
      limits.set("a", 1);
      await work.resume();
      await work.unpark(first as Claim<string>);
      await work.finish(second as Claim<string>, put("2"));
      await work.leave(second as Claim<string>);
      await claimed(3);
      await next();
      expect(batches()).toEqual([["1"], ["2"], ["3"], ["1"]]);
    });

    check("blockers tell a running turn from an agent without a slot", async ({ work, at, claimed }) => {
      await work.enter("1", at("c", "followup"));
      await work.enter("2", at("c", "followup"));
      await work.enter("3", at("d", "followup"));
      await claimed(1);
      expect(Object.fromEntries(await work.blockers())).toEqual({ c: { by: "turn" }, d: { by: "agent", agent: "a" } });
    });

    check("nothing is claimed while paused", async ({ work, at, claimed, claims }) => {
      await work.pause();
      expect(await work.enter("1", at("c", "followup"))).toBe("queued");
      expect(claims).toEqual([]);
      await work.resume();
      await claimed(1);
    });
  });
}
