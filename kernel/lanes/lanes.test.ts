import { describe, expect, it } from "vitest";
import type { Claim, Placement, QueueMode } from "../core/flow/work.ts";
import { Lanes } from "./lanes.ts";

const LIMITS = { items: 4, size: 100 };

/** Lanes in memory whose turns end when the test says so. */
function lanesOf(start: (batch: readonly string[], conversation: string) => void) {
  const claims = new Map<string, Claim<string>>();
  const worker = {
    start(claim: Claim<string>) {
      claims.set(claim.conversation, claim);
      start(claim.batch, claim.conversation);
    },
    stop() {},
  };
  const lanes = new Lanes<string>(worker, async () => {}, LIMITS);
  return { lanes, leave: (conversation: string) => lanes.leave(claims.get(conversation) as Claim<string>) };
}

function setUp(limit = 1) {
  const batches: string[][] = [];
  const { lanes, leave } = lanesOf((batch) => batches.push([...batch]));
  const place = (conversation: string, mode: QueueMode, extra: Partial<Placement> = {}): Placement => ({
    conversation,
    agent: "a",
    mode: () => mode,
    limit: () => limit,
    ...extra,
  });
  return { lanes, leave, batches, place };
}

const ENDING = { kind: "cancelled", text: "cancelled" } as const;

describe("lanes", () => {
  it("RUN-07 collect makes one turn of all that arrived meanwhile, in order", () => {
    const { lanes, leave, batches, place } = setUp();
    for (const item of ["1", "2", "3", "4"]) lanes.enter(item, place("c", "collect"));
    leave("c");
    leave("c");
    expect(batches).toEqual([["1"], ["2", "3", "4"]]);
  });

  it("FLT-1 collect makes turns of so many items and such a size; one that is too large runs alone", () => {
    const { lanes, leave, batches, place } = setUp();
    for (let n = 0; n < 7; n += 1) lanes.enter(`${n}`, place("many", "collect", { size: 1 }));
    for (let turn = 0; turn < 3; turn += 1) leave("many");
    expect(batches.splice(0)).toEqual([["0"], ["1", "2", "3", "4"], ["5", "6"]]);
    for (const [n, size] of [0, 50, 40, 20, 101, 1].entries()) lanes.enter(`${n}`, place("large", "collect", { size }));
    for (let turn = 0; turn < 5; turn += 1) leave("large");
    expect(batches).toEqual([["0"], ["1", "2"], ["3"], ["4"], ["5"]]);
  });

  it("RUN-07 followup runs each as a turn of its own", () => {
    const { lanes, leave, batches, place } = setUp();
    for (const item of ["1", "2", "3", "4"]) lanes.enter(item, place("c", "followup"));
    for (let turn = 0; turn < 4; turn += 1) leave("c");
    expect(batches).toEqual([["1"], ["2"], ["3"], ["4"]]);
  });

  it("RUN-07 drop discards what arrives mid-turn", () => {
    const { lanes, leave, batches, place } = setUp();
    const answers = ["1", "2", "3", "4"].map((item) => lanes.enter(item, place("c", "drop")));
    leave("c");
    expect(answers).toEqual(["started", "dropped", "dropped", "dropped"]);
    expect(batches).toEqual([["1"]]);
  });

  it("RUN-07 texts of two chats are never batched together", () => {
    const { lanes, leave, batches, place } = setUp();
    lanes.enter("a1", place("a", "collect"));
    lanes.enter("b1", place("b", "collect"));
    lanes.enter("a2", place("a", "collect"));
    lanes.enter("b2", place("b", "collect"));
    leave("a");
    leave("b");
    leave("a");
    expect(batches).toEqual([["a1"], ["b1", "b2"], ["a2"]]);
  });

  it("SES-10 two turns of one conversation never run side by side, whatever maxConcurrent says", () => {
    const { lanes, leave, batches, place } = setUp(8);
    lanes.enter("1", place("c", "followup"));
    lanes.enter("2", place("c", "followup"));
    lanes.enter("other", place("d", "followup"));
    expect(batches).toEqual([["1"], ["other"]]);
    leave("c");
    expect(batches.at(-1)).toEqual(["2"]);
  });

  it("API-08 what comes to the front runs next and alone, ahead of all that waits", () => {
    const { lanes, leave, batches, place } = setUp();
    lanes.enter("1", place("c", "collect"));
    lanes.enter("2", place("c", "collect"));
    lanes.enter("other", place("d", "collect"));
    lanes.enter("urgent", place("c", "collect", { front: true }));
    leave("c");
    expect(batches.at(-1)).toEqual(["urgent"]);
    leave("c");
    leave("d");
    expect(batches).toEqual([["1"], ["urgent"], ["other"], ["2"]]);
  });

  it("API-09 a kept item is queued even under drop", () => {
    const { lanes, leave, batches, place } = setUp();
    lanes.enter("1", place("c", "drop"));
    expect(lanes.enter("follow-up", place("c", "drop", { keep: true }))).toBe("queued");
    leave("c");
    expect(batches).toEqual([["1"], ["follow-up"]]);
  });

  it("takes a waiting item out, and leaves nothing behind when all is done", () => {
    const { lanes, leave, batches, place } = setUp();
    lanes.enter("1", place("c", "followup"));
    lanes.enter("2", place("c", "followup"));
    lanes.enter("3", place("d", "followup"));
    expect(lanes.cancel("2", ENDING)).toBe("removed");
    expect(lanes.cancel("2", ENDING)).toBe("absent");
    expect(lanes.cancel("3", ENDING)).toBe("removed");
    leave("c");
    expect(lanes.waiting()).toEqual([]);
    expect(batches).toEqual([["1"]]);
    expect(lanes.enter("4", place("d", "drop"))).toBe("started");
  });

  it("keeps to the agent's limit over conversations, first come first served", () => {
    const { lanes, leave, batches, place } = setUp(2);
    for (const item of ["a", "b", "c", "d"]) lanes.enter(item, place(item, "collect"));
    expect(batches).toEqual([["a"], ["b"]]);
    leave("b");
    leave("a");
    expect(batches).toEqual([["a"], ["b"], ["c"], ["d"]]);
  });
});

describe("lanes over many turns", () => {
  it("SES-10 whatever comes in which order: one turn a conversation, no more than the limit an agent, each item once, in order", () => {
    let seed = 7;
    const random = (below: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return Math.floor((seed / 2_147_483_648) * below);
    };
    const running = new Map<string, string>();
    const seen: string[] = [];
    const entered = new Map<string, string[]>();
    const { lanes, leave } = lanesOf((batch, conversation) => {
      expect(running.has(conversation)).toBe(false);
      const agents = new Set(batch.map((item) => item.split("/")[0] as string));
      expect(agents.size).toBe(1);
      running.set(conversation, [...agents][0] as string);
      expect([...running.values()].filter((agent) => agents.has(agent)).length).toBeLessThanOrEqual(2);
      seen.push(...batch);
    });
    for (let step = 0; step < 4_000; step += 1) {
      const busy = [...running.keys()];
      if (busy.length > 0 && random(2) === 0) {
        const conversation = busy[random(busy.length)] as string;
        running.delete(conversation);
        leave(conversation);
        continue;
      }
      const [agent, conversation] = [`a${random(3)}`, `c${random(4)}`];
      const item = `${agent}/${conversation}/${step}`;
      entered.set(conversation, [...(entered.get(conversation) ?? []), item]);
      lanes.enter(item, { conversation, agent, mode: () => (random(2) === 0 ? "collect" : "followup"), limit: () => 2 });
    }
    while (running.size > 0) {
      const [conversation] = running.keys();
      running.delete(conversation as string);
      leave(conversation as string);
    }
    expect(lanes.waiting()).toEqual([]);
    for (const [conversation, items] of entered) expect(seen.filter((item) => item.split("/")[1] === conversation)).toEqual(items);
  });

  it("starts nothing while paused, and what may start when that is over or a limit has grown", () => {
    let limit = 1;
    const batches: string[][] = [];
    const { lanes } = lanesOf((batch) => batches.push([...batch]));
    const place = (conversation: string): Placement => ({ conversation, agent: "a", mode: () => "followup", limit: () => limit });
    lanes.pause();
    for (const item of ["1", "2", "3"]) expect(lanes.enter(item, place(item))).toBe("queued");
    expect(batches).toEqual([]);
    lanes.resume();
    expect(batches).toEqual([["1"]]);
    limit = 2;
    lanes.resume();
    expect(batches).toEqual([["1"], ["2"]]);
  });
});
