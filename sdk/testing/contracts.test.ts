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
    if (prompt === "endless" || prompt === "silent") return await aborted(signal);
    if (prompt === "spends") {
      await aborted(signal);
      return yield { type: "usage", usage: { input: 3, output: 0 } };
    }
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
  silent: ["silent"],
  spends: "spends",
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

/** Takes its time before the answer. */
async function* slow(events: AsyncIterable<TierEvent>, signal: AbortSignal): AsyncIterable<TierEvent> {
  await new Promise((resolve) => setTimeout(resolve, 150));
  if (!signal.aborted) yield* events;
}

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
    "tells the tokens of a cancelled run",
    () =>
      after(async function* (events, prompt) {
        for await (const event of events) if (event.type !== "usage" || prompt !== "spends") yield event;
      }),
  ],
  [
    "hears an abort after the garbage collector",
    () => ({
      run: (turn, context, signal) => {
        const controller = new AbortController();
        // As a model library does it: nothing but this listener, which goes with the first collection, holds the two together.
        const held = new WeakRef(() => controller.abort());
        signal.addEventListener("abort", () => held.deref()?.(), { once: true });
        return tier.run(turn, context, controller.signal);
      },
    }),
  ],
  [
    "leaves a conversation alone",
    () => {
      const all = new Set<AbortController>();
      return {
        run: (turn, context, signal) => {
          const controller = new AbortController();
          all.add(controller);
          signal.addEventListener("abort", () => [...all].map((one) => one.abort()), { once: true });
          return context.prompt === "one" ? slow(tier.run(turn, context, controller.signal), controller.signal) : tier.run(turn, context, controller.signal);
        },
      };
    },
  ],
  [
    "goes on with a session",
    () => ({
      nativeSessions: true,
      async *run(turn, context, signal) {
        yield { type: "session", id: "s1" };
        if (context.session !== undefined) yield { type: "error", kind: "session", message: "not known" };
        else yield* tier.run(turn, context, signal);
      },
    }),
  ],
  [
    "yields events that are plain JSON",
    () =>
      after(async function* (events) {
        for await (const event of events) yield Object.assign({ extra: undefined }, event);
      }),
  ],
])("the tier contract finds what breaks '%s'", async (name, changed) => {
  const failed = await failures((runner) => tierContract(runner, () => tierSubject(changed())));
  expect(
    failed.some((one) => one.startsWith(name)),
    failed.join("; "),
  ).toBe(true);
});

it("AUT-B15 a failure of the contract says what the tier said, and the subject names model and settings of the agent", async () => {
  const messages: string[] = [];
  const seen: unknown[] = [];
  const subject: TierSubject = {
    ...tierSubject({
      run({ agent }) {
        seen.push([agent.model, agent.settings]);
        return (async function* (): AsyncIterable<TierEvent> {
          yield { type: "error", kind: "auth", message: "the key of the far end is wrong" };
        })();
      },
    }),
    agent: { model: "m-1", settings: { provider: "mine" } },
  };
  const tests: (() => Promise<void>)[] = [];
  tierContract({ describe: (_, define) => define(), it: (_, run) => void tests.push(run) }, () => subject);
  for (const run of tests) await run().catch((error: Error) => messages.push(error.message));
  expect(messages.filter((message) => message.includes("the key of the far end is wrong")).length).toBeGreaterThan(2);
  expect(seen[0]).toEqual(["m-1", { provider: "mine" }]);
});

it("ENG-3 a subject that leaves out a prompt is told which, unless it declares that its tier lacks it", async () => {
  const { silent: _, spends: __, ...rest } = tierSubject();
  expect(await failures((runner) => tierContract(runner, () => rest))).toHaveLength(2);
  expect(await failures((runner) => tierContract(runner, () => rest, { lacks: ["silence", "tokens of a cancelled run"] }))).toEqual([]);
});
