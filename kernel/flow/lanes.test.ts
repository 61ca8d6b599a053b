import { describe, expect, it } from "vitest";
import { createLanes, type Place, type QueueMode } from "./lanes.ts";

/** Lanes whose turns end when the test says so. */
function setUp(limit = 1) {
  const batches: string[][] = [];
  const lanes = createLanes<string>((batch) => batches.push([...batch]));
  const place = (conversation: string, mode: QueueMode, extra: Partial<Place> = {}): Place => ({
    conversation,
    agent: "a",
    mode: () => mode,
    limit: () => limit,
    ...extra,
  });
  return { lanes, batches, place };
}

describe("lanes", () => {
  it("RUN-07 collect makes one turn of all that arrived meanwhile, in order", () => {
    const { lanes, batches, place } = setUp();
    for (const item of ["1", "2", "3", "4"]) lanes.enter(item, place("c", "collect"));
    lanes.release("c");
    lanes.release("c");
    expect(batches).toEqual([["1"], ["2", "3", "4"]]);
  });

  it("RUN-07 followup runs each as a turn of its own", () => {
    const { lanes, batches, place } = setUp();
    for (const item of ["1", "2", "3", "4"]) lanes.enter(item, place("c", "followup"));
    for (let turn = 0; turn < 4; turn += 1) lanes.release("c");
    expect(batches).toEqual([["1"], ["2"], ["3"], ["4"]]);
  });

  it("RUN-07 drop discards what arrives mid-turn", () => {
    const { lanes, batches, place } = setUp();
    const answers = ["1", "2", "3", "4"].map((item) => lanes.enter(item, place("c", "drop")));
    lanes.release("c");
    expect(answers).toEqual(["started", "dropped", "dropped", "dropped"]);
    expect(batches).toEqual([["1"]]);
  });

  it("RUN-07 texts of two chats are never batched together", () => {
    const { lanes, batches, place } = setUp();
    lanes.enter("a1", place("a", "collect"));
    lanes.enter("b1", place("b", "collect"));
    lanes.enter("a2", place("a", "collect"));
    lanes.enter("b2", place("b", "collect"));
    lanes.release("a");
    lanes.release("b");
    lanes.release("a");
    expect(batches).toEqual([["a1"], ["b1", "b2"], ["a2"]]);
  });

  it("SES-10 two turns of one conversation never run side by side, whatever maxConcurrent says", () => {
    const { lanes, batches, place } = setUp(8);
    lanes.enter("1", place("c", "followup"));
    lanes.enter("2", place("c", "followup"));
    lanes.enter("other", place("d", "followup"));
    expect(batches).toEqual([["1"], ["other"]]);
    lanes.release("c");
    expect(batches.at(-1)).toEqual(["2"]);
  });

  it("API-08 what comes to the front runs next and alone, ahead of all that waits", () => {
    const { lanes, batches, place } = setUp();
    lanes.enter("1", place("c", "collect"));
    lanes.enter("2", place("c", "collect"));
    lanes.enter("other", place("d", "collect"));
    lanes.enter("urgent", place("c", "collect", { front: true }));
    lanes.release("c");
    expect(batches.at(-1)).toEqual(["urgent"]);
    lanes.release("c");
    lanes.release("d");
    expect(batches).toEqual([["1"], ["urgent"], ["other"], ["2"]]);
  });

  it("API-09 a kept item is held even under drop", () => {
    const { lanes, batches, place } = setUp();
    lanes.enter("1", place("c", "drop"));
    expect(lanes.enter("follow-up", place("c", "drop", { keep: true }))).toBe("held");
    lanes.release("c");
    expect(batches).toEqual([["1"], ["follow-up"]]);
  });

  it("takes a waiting item out, and leaves nothing behind when all is done", () => {
    const { lanes, batches, place } = setUp();
    lanes.enter("1", place("c", "followup"));
    lanes.enter("2", place("c", "followup"));
    lanes.enter("3", place("d", "followup"));
    expect(lanes.remove("2")).toBe(true);
    expect(lanes.remove("2")).toBe(false);
    expect(lanes.remove("3")).toBe(true);
    lanes.release("c");
    expect(lanes.waiting()).toEqual([]);
    expect(batches).toEqual([["1"]]);
    expect(lanes.enter("4", place("d", "drop"))).toBe("started");
  });

  it("keeps to the agent's limit over conversations, first come first served", () => {
    const { lanes, batches, place } = setUp(2);
    for (const item of ["a", "b", "c", "d"]) lanes.enter(item, place(item, "collect"));
    expect(batches).toEqual([["a"], ["b"]]);
    lanes.release("b");
    lanes.release("a");
    expect(batches).toEqual([["a"], ["b"], ["c"], ["d"]]);
  });
});
