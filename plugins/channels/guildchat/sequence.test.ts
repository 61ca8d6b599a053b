import { afterEach, describe, expect, it } from "vitest";
import { createSequence, type Sequence } from "./sequence.ts";

const open: Sequence[] = [];
afterEach(() => {
  for (const one of open.splice(0)) one.stop();
});

function setUp(patienceMs = 20) {
  const taken: number[] = [];
  let lost = 0;
  const sequence = createSequence(
    ({ s }) => taken.push(s),
    () => (lost += 1),
    patienceMs,
  );
  open.push(sequence);
  const push = (...numbers: readonly number[]) => {
    for (const s of numbers) sequence.push({ s, t: "X", d: null });
  };
  return { sequence, taken, push, lost: () => lost };
}

const until = async (condition: () => boolean) => {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 2));
};

describe("the order of events", () => {
  it("is that of their numbers, each once", () => {
    const { push, taken, sequence } = setUp();
    push(1, 3, 2, 2, 3, 4, 1);
    expect(taken).toEqual([1, 2, 3, 4]);
    expect(sequence.last).toBe(4);
  });

  it("a number that does not come holds the others up for a moment only, and is told as lost", async () => {
    const { push, taken, lost, sequence } = setUp();
    push(1, 3, 4);
    expect(taken).toEqual([1]);
    await until(() => lost() === 1);
    expect(taken).toEqual([1, 3, 4]);
    expect(sequence.last).toBe(4);
  });

  it("one that comes after it was given up is taken then, once", async () => {
    const { push, taken, lost } = setUp();
    push(1, 3);
    await until(() => lost() === 1);
    push(2, 2);
    expect(taken).toEqual([1, 3, 2]);
  });

  it("two holes are given up one after the other", async () => {
    const { push, taken, lost } = setUp();
    push(2, 4);
    await until(() => lost() === 2);
    expect(taken).toEqual([2, 4]);
  });

  it("a session that goes on begins after its last number, and forgets what was held", () => {
    const { push, taken, sequence } = setUp();
    push(1, 5);
    sequence.begin(40);
    push(5, 41);
    expect(taken).toEqual([1, 41]);
  });
});
