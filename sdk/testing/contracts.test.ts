import { describe, expect, it } from "vitest";
import type { Action } from "../action.ts";
import type { Tier, TierEvent } from "../tier.ts";
import { type ActionSubject, actionContract } from "./action-contract.ts";
import { type TierSubject, tierContract } from "./tier-contract.ts";

const aborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => (signal.aborted ? resolve() : signal.addEventListener("abort", () => resolve(), { once: true })));

const action: Action = {
  name: "echo.wait",
  description: "Answers its text, or waits for the abort.",
  input: { type: "object", properties: { text: { type: "string", description: "what to say" } }, required: ["text"], additionalProperties: false },
  output: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  timeoutMs: 1000,
  async run({ text }, { signal }) {
    signal.throwIfAborted();
    if (text !== "wait") return { text };
    await aborted(signal);
    throw signal.reason;
  },
};
const actionSubject = (changed: Partial<Action> = {}): ActionSubject => ({
  action: { ...action, ...changed },
  works: [{ name: "says hello", input: { text: "hello" } }],
  refused: [{ text: 1 }],
  endless: { text: "wait" },
});

/** An engine of four prompts. `seen` is state over turns, as an engine with a warm session has. */
const tier: Tier = {
  name: "scripted",
  async *run(_, { prompt }, signal) {
    if (signal.aborted) return;
    if (prompt === "fail") return yield { type: "error", kind: "engine", message: "broken" };
    if (prompt === "endless") return await aborted(signal);
    yield { type: "step", step: { id: "1", name: "think", phase: "start" } };
    yield { type: "text", text: `the answer to ` };
    await new Promise((resolve) => setTimeout(resolve, 5));
    yield { type: "step", step: { id: "1", name: "think", phase: "end" } };
    yield { type: "text", text: prompt };
    yield { type: "usage", usage: { input: 3, output: 4 } };
    yield { type: "done", text: `the answer to ${prompt}` };
  },
};
const tierSubject = (changed: Partial<Tier> = {}): TierSubject => ({
  tier: { ...tier, ...changed },
  works: { prompt: "one", answer: "answer to one" },
  other: { prompt: "two", answer: "answer to two" },
  fails: "fail",
  endless: "endless",
});

actionContract({ describe, it }, () => actionSubject());
tierContract({ describe, it }, () => tierSubject());

/** Runs a suite without a runner and answers the names of the tests that failed. */
async function failures(
  suite: (runner: { describe(name: string, define: () => void): void; it(name: string, run: () => Promise<void>): void }) => void,
): Promise<string[]> {
  const tests: [string, () => Promise<void>][] = [];
  suite({ describe: (_, define) => define(), it: (name, run) => void tests.push([name, run]) });
  const failed: string[] = [];
  for (const [name, run] of tests) await run().catch(() => failed.push(name));
  return failed;
}
const after = (change: (events: AsyncIterable<TierEvent>, prompt: string) => AsyncIterable<TierEvent>): Partial<Tier> => ({
  run: (turn, context, signal) => change(tier.run(turn, context, signal), context.prompt),
});

it.each<[string, Partial<Action>]>([
  ["describes itself", { description: "" }],
  ["has a time limit", { timeoutMs: 0 }],
  ["has plain JSON schemas", { input: { type: "object", properties: { text: { type: "string", description: "x" } }, required: ["missing"] } }],
  ["refuses unknown keys", { input: { ...action.input, additionalProperties: true } }],
  ["answers in the shape", { run: async () => ({ text: 1 }) }],
  ["answers in the shape", { run: async () => ({ text: "x", at: new Date() }), output: {} }],
  ["ends soon after an abort", { run: async () => ({ text: "never mind the abort" }) }],
])("the action contract finds what breaks '%s'", async (name, changed) => {
  const failed = await failures((runner) => actionContract(runner, () => actionSubject(changed)));
  expect(
    failed.some((one) => one.startsWith(name)),
    failed.join("; "),
  ).toBe(true);
});

it.each<[string, () => Partial<Tier>]>([
  [
    "ends with exactly one done",
    () =>
      after(async function* (events) {
        yield* events;
        yield { type: "done" };
      }),
  ],
  [
    "streams the text that done.text repeats",
    () =>
      after(async function* (events) {
        for await (const event of events)
          if (event.type !== "text") yield event;
          else yield { type: "text", text: `${event.text}!` };
      }),
  ],
  [
    "pairs the start and end",
    () =>
      after(async function* (events) {
        for await (const event of events) if (event.type !== "step" || event.step.phase === "start") yield event;
      }),
  ],
  [
    "tells a failing engine",
    () =>
      after(async function* (events, prompt) {
        if (prompt === "fail") throw new Error("thrown");
        yield* events;
      }),
  ],
  [
    "ends within 5 s of an abort",
    () =>
      after(async function* (events) {
        yield* events;
        yield { type: "done" };
      }),
  ],
  [
    "tells the tokens of the turn",
    () => {
      let sum = 0;
      return after(async function* (events) {
        for await (const event of events)
          if (event.type === "usage") {
            sum += 4;
            yield { ...event, usage: { input: 3, output: sum } };
          } else yield event;
      });
    },
  ],
  [
    "keeps two runs side by side apart",
    () => {
      let last = "";
      return after(async function* (events, prompt) {
        last = prompt;
        for await (const event of events) yield event.type === "done" ? { type: "done", text: `the answer to ${last}` } : event;
      });
    },
  ],
  [
    "yields events that are plain JSON",
    () =>
      after(async function* (events) {
        for await (const event of events) yield { ...event, extra: undefined } as TierEvent;
      }),
  ],
])("the tier contract finds what breaks '%s'", async (name, changed) => {
  const failed = await failures((runner) => tierContract(runner, () => tierSubject(changed())));
  expect(
    failed.some((one) => one.startsWith(name)),
    failed.join("; "),
  ).toBe(true);
});
