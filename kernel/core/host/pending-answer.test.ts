import { describe, expect, it } from "vitest";
import { begin, type Callee } from "./call.ts";
import { PendingAnswer } from "./pending-answer.ts";
import { createScope, type Scope } from "./scope.ts";

const owner = createScope("feature-one" as Scope["id"], () => {});

/** What is heard of a call that answers this, in the order it is heard. */
function hear(answer: unknown, { limitMs = 60_000, late, also }: { limitMs?: number; late?: (value: unknown) => void; also?: () => void } = {}): string[] {
  const heard: string[] = [];
  const callee: Callee<[], unknown> = {
    scope: owner,
    what: "hook inbound",
    limitMs,
    run: () => answer as Promise<unknown>,
    ...(late === undefined ? {} : { late }),
  };
  const pending = begin(callee, []);
  if (!(pending instanceof PendingAnswer)) throw new Error("no promise");
  pending.settle(
    (value) => heard.push(`done ${value}`),
    (error) => {
      heard.push((error as Error).message);
      also?.();
    },
  );
  return heard;
}

const soon = () => new Promise((resolve) => setTimeout(resolve, 60));

describe("an answer that a plugin promised", () => {
  it("FAULT-66 is heard once, whatever a promise of foreign making does", async () => {
    const twice = hear({
      then(done: (value: string) => void, failed: (error: Error) => void) {
        done("a");
        done("b");
        failed(new Error("c"));
      },
    });
    const thrower = hear({
      then() {
        throw new Error("no");
      },
    });
    const both = hear({
      then(done: (value: string) => void) {
        done("a");
        throw new Error("after its answer");
      },
    });
    expect([twice, thrower, both]).toEqual([["done a"], ["no"], ["done a"]]);
  });

  it("FAULT-66 is not heard after its deadline, but put away", async () => {
    const late: unknown[] = [];
    let answer: (value: string) => void = () => {};
    const heard = hear(new Promise((resolve) => (answer = resolve)), { limitMs: 5, late: (value) => late.push(value) });
    await expect.poll(() => heard.length).toBe(1);
    answer("too late");
    await soon();
    expect([heard, late]).toEqual([[expect.stringContaining("5 ms")], ["too late"]]);
  });

  it("FAULT-66 of which one expires and settles the other is heard once each", async () => {
    let answer: (value: string) => void = () => {};
    const other = hear(
      {
        then(done: (value: string) => void) {
          answer = done;
        },
      },
      { limitMs: 5 },
    );
    const first = hear(new Promise(() => {}), { limitMs: 5, also: () => answer("settled") });
    await expect.poll(() => first.length).toBe(1);
    await soon();
    expect([first.length, other]).toEqual([1, ["done settled"]]);
  });
});
