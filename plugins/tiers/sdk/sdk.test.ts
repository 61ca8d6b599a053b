import type { ModelCall, ModelEvent, Models, Tier, TierEvent, Turn, TurnContext } from "@svc/sdk";
import { tierFailure } from "@svc/sdk";
import { createFakeContext } from "@svc/sdk/testing";
import { describe, expect, it } from "vitest";
import plugin from "./index.ts";

const said = (text: string): ModelEvent[] => [
  { type: "text", text },
  { type: "usage", usage: { input: 1, output: 1 }, model: "m-1" },
  { type: "end", stopped: "stop", reply: { role: "assistant", text } },
];

/** The tier on a model that answers each call with the next of these, and the calls that were made. */
function setUp(...answers: readonly ModelEvent[][]) {
  const calls: ModelCall[] = [];
  async function* stream(call: ModelCall): AsyncGenerator<ModelEvent> {
    calls.push(call);
    yield* answers[calls.length - 1] ?? [];
  }
  const usable: Models["usable"] = async (agent) => ({ ok: true, detail: `the model of ${agent}` });
  const ctx = createFakeContext(plugin, { models: { stream, usable } });
  plugin.setup(ctx);
  const tier = ctx.registered.tiers[0] as Tier;
  const ask = async (context: Partial<TurnContext> = {}, options: object = {}, signal = new AbortController().signal): Promise<TierEvent[]> => {
    const turn = { id: "task_1", agent: { id: "ada", settings: {} }, messages: [{ options }] } as unknown as Turn;
    const events: TierEvent[] = [];
    for await (const event of tier.run(turn, { system: "", layers: [], prompt: "hello", media: [], history: [], ...context }, signal)) events.push(event);
    return events;
  };
  return { tier, ask, calls };
}
const past = (n: number, size = 10) =>
  Array.from({ length: n }, (_, at) => ({ role: at % 2 === 0 ? ("user" as const) : ("assistant" as const), text: `${at} `.padEnd(size, "x") }));

describe("tier sdk", () => {
  it("asks for the agent's model with what the task allows, and passes on what it says", async () => {
    const { ask, calls } = setUp(said("good day"));
    const events = await ask({ system: "Be kind." }, { model: "m-2", maxOutputTokens: 77 });
    expect(events.map(({ type }) => type)).toEqual(["text", "usage", "done"]);
    expect(calls[0]).toMatchObject({ agent: "ada", model: "m-2", maxOutputTokens: 77, system: "Be kind.", messages: [{ role: "user", text: "hello" }] });
  });

  it("calls an answer without a word an error", async () => {
    const { ask } = setUp([{ type: "end", stopped: "content_filter", reply: { role: "assistant", text: "" } }]);
    expect(await ask()).toMatchObject([{ type: "error", kind: "no-answer", message: expect.stringContaining("content_filter") }]);
  });

  it("ENG-13 sends less of the history when the model finds the conversation too long, and says so", async () => {
    const tooLong = [tierFailure("context", "too long")];
    const { ask, calls } = setUp(tooLong, tooLong, said("at last"));
    const events = await ask({ history: past(20, 1_000) });
    expect(events.map(({ type }) => type)).toEqual(["step", "step", "text", "usage", "done"]);
    const sizes = calls.map(({ messages }) => messages.length);
    expect(sizes).toEqual([21, expect.any(Number), 1]);
    expect(sizes[1]).toBeGreaterThan(1);
    expect(sizes[1]).toBeLessThan(8);
  });

  it("ENG-13 a turn that is too long by itself fails as that", async () => {
    const tooLong = [tierFailure("context", "too long")];
    const { ask, calls } = setUp(tooLong);
    expect(await ask()).toMatchObject([{ type: "error", kind: "context" }]);
    expect(calls).toHaveLength(1);
    const withPast = setUp(tooLong, tooLong, tooLong);
    expect((await withPast.ask({ history: past(4) })).at(-1)).toMatchObject({ type: "error", kind: "context" });
    expect(withPast.calls).toHaveLength(3);
  });

  it("ENG-15 the words of earlier turns are sent without their layers, those of this turn once", async () => {
    const { ask, calls } = setUp(said("yes"));
    const layers = [{ name: "identity", priority: 4, text: "## Identity\nYou are Ada." }];
    await ask({ layers, history: past(10) });
    expect(JSON.stringify(calls[0]?.messages).match(/## Identity/g)).toHaveLength(1);
  });

  it("OPR-M5 is as usable as the model of the agent that is asked about", async () => {
    const { tier } = setUp();
    expect(await tier.probe?.({ id: "ada" } as never)).toEqual({ ok: true, detail: "the model of ada" });
    expect(await tier.probe?.()).toMatchObject({ ok: true });
  });
});

it("ENG-10 the requests of turns in a row begin alike: the history is cut in steps, and its end is marked for the cache", async () => {
  const exchanges = past(400, 500);
  const requests: string[][] = [];
  const marks: string[] = [];
  for (let turn = 0; turn < 200; turn += 1) {
    const { ask, calls } = setUp(said("yes"));
    await ask({ history: exchanges.slice(0, turn * 2), layers: [{ name: "intent", priority: 5, text: `turn ${turn}` }] });
    const { messages } = calls[0]!;
    requests.push(messages.map((message) => JSON.stringify("text" in message ? message.text : "")));
    marks.push(messages.map((message) => (message.cache === true ? "x" : ".")).join(""));
  }
  /** Whether all but the turn's own words of the request before stand at the start of this one. */
  const alike = requests.slice(1).map((request, at) => {
    const before = requests[at]!.slice(0, -1);
    return before.every((text, place) => request[place] === text);
  });
  const moved = alike.filter((same) => !same).length;
  expect(moved).toBeGreaterThan(0);
  // At 500 characters a message a quarter of the cap is six exchanges.
  expect(moved).toBeLessThan(200 / 5);
  // Never on the last message, which holds the layers of this turn.
  expect(marks.slice(1).every((line) => /^\.*x\.$/.test(line))).toBe(true);
});
