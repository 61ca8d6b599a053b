import type { Models } from "@svc/sdk";
import { checkSchema } from "@svc/sdk/testing";
import { afterEach, expect, it, vi } from "vitest";
import { keep, LIMIT_MS, makePlan, PLAN, question } from "./plan.ts";

afterEach(() => {
  vi.useRealTimers();
});

const history = [1, 2, 3].flatMap((turn) => [
  { role: "user" as const, text: `q${turn}` },
  { role: "assistant" as const, text: `a${turn}` },
]);

it("CTX-07 a small model that does not answer is given up after the limit, and told so", async () => {
  vi.useFakeTimers();
  let told: AbortSignal | undefined;
  const silent: Pick<Models, "extract"> = {
    extract: ({ signal }) => {
      told = signal;
      return new Promise(() => {});
    },
  };
  const plan = makePlan(silent, "hello", [], 0, new AbortController().signal);
  const outcome = plan.catch((error: Error) => error.message);
  await vi.advanceTimersByTimeAsync(LIMIT_MS);
  expect(await outcome).toBe("the small model did not answer within 8 s");
  expect(told?.aborted).toBe(true);
});

it("CTX-06 keeps the newest exchanges, none for 0, all when more are asked for than there are", () => {
  expect(keep(history, 0)).toEqual([]);
  expect(keep(history, 1)).toEqual(history.slice(4));
  expect(keep(history, 2)).toEqual(history.slice(2));
  expect(keep(history, 9)).toEqual(history);
  expect(keep([], 3)).toEqual([]);
});

it("shows the last exchange, and earlier requests without their answers", () => {
  const tags = (earlier: number) => [...question("now", history, earlier).matchAll(/<([a-z-]+)>\n(.*)\n/g)].map(([, tag, text]) => `${tag} ${text}`);
  expect(tags(0)).toEqual(["request q3", "answer a3", "newest-message now"]);
  expect(tags(1)).toEqual(["earlier-request q2", "request q3", "answer a3", "newest-message now"]);
  expect(tags(5)).toEqual(["earlier-request q1", "earlier-request q2", "request q3", "answer a3", "newest-message now"]);
});

it("takes a plan of the promised shape and no other", () => {
  expect(checkSchema(PLAN, { keepTurns: 2, retrieve: "tea", hints: false })).toBeUndefined();
  for (const wrong of [{ keepTurns: -1, hints: true }, { keepTurns: 1 }, { keepTurns: 1, hints: true, delete: "all" }, "no"]) {
    expect(checkSchema(PLAN, wrong)).toBeDefined();
  }
});
