import { expect, it } from "vitest";
import { lanePlaces, MOST_LANES } from "./strip-lanes.ts";

const agents = (count: number) => Array.from({ length: count }, (_, at) => `a${at}`);

it("the busiest come first, then those that did nothing, no more than there is room for", () => {
  expect(lanePlaces([], ["a3", "a1"], agents(4))).toEqual(["a3", "a1", "a0", "a2"]);
  expect(lanePlaces([], ["a9"], agents(12))).toEqual(["a9", ...agents(7)]);
  expect(lanePlaces([], [], [])).toEqual([]);
});

it("an agent that begins to work or outdoes others keeps its place", () => {
  const before = lanePlaces([], ["a1"], agents(3));
  expect(lanePlaces(before, ["a2", "a1"], agents(3))).toEqual(before);
  expect(lanePlaces(before, [], agents(3))).toEqual(before);
});

it("where all lanes are taken, who begins to work takes the last idle one, and nobody's who works", () => {
  const before = lanePlaces([], ["a0", "a1"], agents(12));
  expect(lanePlaces(before, ["a0", "a1", "a11"], agents(12))).toEqual([...before.slice(0, MOST_LANES - 1), "a11"]);
  const full = lanePlaces([], agents(8), agents(12));
  expect(lanePlaces(full, ["a11", ...agents(7)], agents(12))).toEqual([...agents(7), "a11"]);
  expect(lanePlaces(full, [...agents(8), "a11"], agents(12))).toEqual(full);
});

it("the lane of an agent that is gone goes to another one, and a new agent gets the next free one", () => {
  expect(lanePlaces(["a0", "gone", "a1"], ["a0"], ["a0", "a1", "a2"])).toEqual(["a0", "a2", "a1"]);
  expect(lanePlaces(["a0", "gone"], [], ["a0"])).toEqual(["a0"]);
  expect(lanePlaces(["a0"], ["new", "a0"], ["a0", "new"])).toEqual(["a0", "new"]);
});
