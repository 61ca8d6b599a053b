import { afterEach, describe, expect, it } from "vitest";
import { createSequence, type Sequence } from "./sequence.ts";

const open: Sequence[] = [];
afterEach(() => {
  for (const one of open.splice(0)) one.stop();
});

function setUp(patienceMs = 20) {
  const taken: number[] = [];
  let lost = 0;
  let again = 0;
  const sequence = createSequence({ take: ({ s }) => taken.push(s), again: () => (again += 1), lost: () => (lost += 1) }, patienceMs);
  open.push(sequence);
  const push = (...numbers: readonly number[]) => {
    for (const s of numbers) sequence.push({ s, t: "X", d: null });
  };
  return { sequence, taken, push, lost: () => lost, again: () => again };
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

  it("for a number that does not come the session is taken up again after the last one, and told anew from there", async () => {
    const { push, taken, lost, again, sequence } = setUp();
    push(1, 3, 4);
    expect(taken).toEqual([1]);
    await until(() => again() === 1);
    expect([taken, sequence.last]).toEqual([[1], 1]);
    push(2, 3, 4, 5);
    expect([taken, lost()]).toEqual([[1, 2, 3, 4, 5], 0]);
  });

  it("where it does not come then either numbers are left out: holes hold nothing up any more, and late ones are taken once", async () => {
    const { push, taken, lost, again } = setUp();
    push(1, 3, 4);
    await until(() => again() === 1);
    push(3, 4);
    await until(() => lost() === 1);
    expect(taken).toEqual([1, 3, 4]);
    push(7, 6, 6, 9, 3);
    expect([taken, again(), lost()]).toEqual([[1, 3, 4, 7, 6, 9], 1, 1]);
  });

  it("where the session was lost by asking, it is not asked again", async () => {
    const { push, taken, again, sequence } = setUp();
    push(1, 3);
    await until(() => again() === 1);
    sequence.begin(0);
    push(1, 4, 8);
    expect([taken, again()]).toEqual([[1, 1, 4, 8], 1]);
  });

  it("a session that goes on begins after its last number, and forgets what was held", () => {
    const { push, taken, sequence } = setUp();
    push(1, 5);
    sequence.begin(40);
    push(5, 41);
    expect(taken).toEqual([1, 41]);
  });
});
