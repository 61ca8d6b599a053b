import {
  type ActionEnvelope,
  coversName,
  type ModelCall,
  type ModelEvent,
  type PluginContext,
  type TierEvent,
  type Turn,
  type TurnContext,
  tierFailure,
} from "@svc/sdk";
import { checkSchema, createFakeContext, createMemoryFiles } from "@svc/sdk/testing";
import { atMost, byModelName, runCalls, summaryOf, type Tool, type ToolAnswer } from "@svc/sdk/tool-loop";
import { describe, expect, it } from "vitest";
import { actionTools } from "./actions.ts";
import plugin from "./index.ts";
import { agentConfig, readAgent } from "./settings.ts";

const tool = (name: string, run: Tool["run"] = async () => name): Tool => ({ name, description: name, input: { type: "object" }, run });

async function collect(calls: readonly { name: string; input: unknown }[], tools: readonly Tool[], signal = new AbortController().signal) {
  const events: TierEvent[] = [];
  const running = runCalls(
    calls.map((call) => ({ ...call, id: "call_0" })),
    byModelName(tools),
    3,
    signal,
  );
  let answers: readonly ToolAnswer[] | undefined;
  for (;;) {
    const next = await running.next();
    if (next.done) {
      answers = next.value;
      break;
    }
    events.push(next.value);
  }
  return { events, answers };
}

describe("what an agent may call", () => {
  it("is named by patterns, and is nothing by default", () => {
    expect(readAgent({ settings: {} } as never)).toEqual({ actions: [], maxSteps: 25, serverTimeoutSeconds: 10 });
    expect(["http.fetch", "http.post", "httpxfetch", "x.http.fetch"].filter((name) => coversName(["http.*"], name))).toEqual(["http.fetch", "http.post"]);
    expect(coversName(["*"], "anything.at.all")).toBe(true);
    expect(coversName(["file.read-lines"], "file.read-lines")).toBe(true);
    expect(coversName([], "http.fetch")).toBe(false);
  });

  it("refuses settings out of range", () => {
    for (const wrong of [{ maxSteps: 0 }, { maxSteps: 201 }, { actions: "*" }, { actions: [""] }, { serverTimeoutSeconds: 0 }, { unknown: 1 }])
      expect(checkSchema(agentConfig, { orchestrator: wrong }), JSON.stringify(wrong)).toBeDefined();
    expect(checkSchema(agentConfig, { orchestrator: { actions: ["a.*"], maxSteps: 200, serverTimeoutSeconds: 120 } })).toBeUndefined();
  });

  it("comes with the agent, the task and the chain", async () => {
    const asked: unknown[] = [];
    const actions = {
      list: () => [
        { name: "a.b", description: "", input: { type: "object" }, output: {}, timeoutMs: 1 },
        { name: "c", description: "", input: { type: "object" }, output: {}, timeoutMs: 1 },
      ],
      run: async (name: string, input: unknown, call: object): Promise<ActionEnvelope> => {
        asked.push([name, input, call]);
        return { action: name, status: "ok", input, output: { x: 1 }, durationMs: 1 };
      },
    } as unknown as PluginContext["actions"];
    const turn = { id: "task_1", agent: { id: "ada" }, messages: [{ options: { chain: ["bob"] } }] } as unknown as Turn;
    const tools = actionTools({ actions }, turn, ["a.*"]);
    expect(tools.map(({ name }) => name)).toEqual(["a.b"]);
    const { signal } = new AbortController();
    expect(await tools[0]?.run({ y: 2 }, signal, "step_1")).toBe('{"x":1}');
    expect(asked).toEqual([["a.b", { y: 2 }, { door: "agent", agent: "ada", taskId: "task_1", step: "step_1", chain: ["bob"], signal }]]);
  });
});

describe("tools", () => {
  it("have names that every API takes, each once", () => {
    const long = "x".repeat(80);
    const names = [...byModelName([tool("http.fetch"), tool("http_fetch"), tool("grüße"), tool(long), tool(`${long}y`)]).keys()];
    expect(names.slice(0, 3)).toEqual(["http_fetch", "http_fetch_2", "gr__e"]);
    expect(new Set(names).size).toBe(5);
    for (const name of names) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
  });

  it("are summed up, never shown whole", () => {
    expect(summaryOf({ path: "/a", deep: { b: 1 } })).toBe('path: /a, deep: {"b":1}');
    expect(summaryOf({ text: "s".repeat(1_000), more: "t".repeat(1_000) }).length).toBeLessThan(250);
    expect(atMost("👍".repeat(10), 3).isWellFormed()).toBe(true);
  });
});

describe("calls", () => {
  it("run side by side, end as they end, and are answered in their order", async () => {
    let release: (() => void) | undefined;
    const slow = tool("slow", () => new Promise((resolve) => (release = () => resolve("late"))));
    const quick = tool("quick", async () => {
      release?.();
      return "soon";
    });
    const { events, answers } = await collect(
      [
        { name: "slow", input: {} },
        { name: "quick", input: {} },
      ],
      [slow, quick],
    );
    expect(answers?.map(({ text }) => text)).toEqual(["late", "soon"]);
    const steps = events.flatMap((event) => (event.type === "step" ? [`${event.step.id} ${event.step.name} ${event.step.phase}`] : []));
    expect(steps.slice(0, 2)).toEqual(["3.0 slow start", "3.1 quick start"]);
    expect(steps.slice(2).toSorted()).toEqual(["3.0 slow end", "3.1 quick end"]);
  });

  it("answer the model when they fail, are unknown, or are no object", async () => {
    const broken = tool("broken", () => Promise.reject(new Error("out of order")));
    const { answers } = await collect(
      [
        { name: "broken", input: {} },
        { name: "other", input: {} },
        { name: "broken", input: "text" },
      ],
      [broken],
    );
    expect(answers?.map(({ text, failed }) => [text, failed])).toEqual([
      ["out of order", true],
      ["There is no tool 'other'.", true],
      ["The input must be a JSON object.", true],
    ]);
  });

  it("cut what is too long for the model, and say so", async () => {
    const { answers } = await collect([{ name: "wordy", input: {} }], [tool("wordy", async () => "w".repeat(50_000))]);
    expect(answers?.[0]?.text).toMatch(/^w{30000}… \(cut; 50000 characters in all\)$/);
  });

  it("are left alone when the turn is ended, even by a tool that hears no signal", async () => {
    const stop = new AbortController();
    const deaf = tool("deaf", () => {
      setImmediate(() => stop.abort());
      return new Promise(() => undefined);
    });
    expect((await collect([{ name: "deaf", input: {} }], [deaf], stop.signal)).answers).toBeUndefined();
  });
});

/** The tier on a model that answers each call with the next of these, and the calls that were made. */
function setUp(...answers: readonly ModelEvent[][]) {
  const calls: ModelCall[] = [];
  async function* stream(call: ModelCall): AsyncGenerator<ModelEvent> {
    calls.push(call);
    yield* answers[calls.length - 1] ?? [];
  }
  const ctx = createFakeContext(plugin, { models: { stream }, files: createMemoryFiles(), actions: [adding] });
  plugin.setup(ctx);
  const ask = async (context: Partial<TurnContext> = {}, signal = new AbortController().signal): Promise<TierEvent[]> => {
    const agent = { id: "ada", workspace: "/w", settings: { orchestrator: { actions: ["*"] } } };
    const turn = { id: "task_1", agent, messages: [{}] } as unknown as Turn;
    const whole = { system: "", layers: [], prompt: "hello", media: [], history: [], ...context };
    const events: TierEvent[] = [];
    for await (const event of ctx.registered.tiers[0]?.run(turn, whole, signal) ?? []) events.push(event);
    return events;
  };
  return { ask, calls };
}
const adding = {
  name: "math.add",
  description: "Adds.",
  input: { type: "object", properties: { a: { type: "number" } } },
  output: { type: "number" },
  timeoutMs: 1_000,
  run: async (input: Record<string, unknown>) => (input.a as number) + 1,
} as const;
const usage = (input: number): ModelEvent => ({ type: "usage", usage: { input, output: 1, cacheRead: 2, cacheCreate: 0 }, model: "m-1" });
const calling: ModelEvent[] = [
  usage(10),
  {
    type: "end",
    stopped: "tool_use",
    reply: { role: "assistant", text: "", calls: [{ id: "c1", name: "math_add", input: { a: 41 } }], own: { as: "it came" } },
  },
];
const done: ModelEvent[] = [{ type: "text", text: "42" }, usage(20), { type: "end", stopped: "stop", reply: { role: "assistant", text: "42" } }];
const past = [
  { role: "user" as const, text: "before" },
  { role: "assistant" as const, text: "answered" },
];

describe("the loop", () => {
  it("RUN-13 a turn without a key ends as the model's failure", async () => {
    const { ask, calls } = setUp([tierFailure("no-key", "No API key for provider")]);
    expect(await ask()).toEqual([{ type: "error", kind: "no-key", message: "No API key for provider" }]);
    expect(calls).toHaveLength(1);
  });

  it("gives an answer back as it came, then the results, and sums up what the calls have cost", async () => {
    const { ask, calls } = setUp(calling, done);
    expect((await ask()).slice(-2)).toEqual([{ type: "usage", usage: { input: 30, output: 2, cacheRead: 4, cacheCreate: 0 }, model: "m-1" }, { type: "done" }]);
    expect(calls[1]?.messages.slice(-2)).toEqual([
      (calling[1] as { reply: object }).reply,
      { role: "tool", results: [{ id: "c1", name: "math_add", text: "42" }], cache: true },
    ]);
  });

  it("ENG-10 marks the end of the history, and in later steps the end of the conversation", async () => {
    const { ask, calls } = setUp(calling, done);
    await ask({ history: past });
    expect(calls.map(({ messages }) => messages.map(({ cache }) => cache === true))).toEqual([
      [false, true, false],
      [false, true, false, false, true],
    ]);
  });

  it("ENG-11 a run that is cancelled in its second call tells what the first has cost", async () => {
    const stop = new AbortController();
    const { ask, calls } = setUp(calling, []);
    setTimeout(() => stop.abort(), 0);
    const events = await ask({}, stop.signal);
    expect(calls.length).toBeGreaterThan(0);
    expect(events.at(-1)).toMatchObject({ type: "usage", usage: { input: 10, output: 1 } });
    expect(events.some(({ type }) => type === "done")).toBe(false);
  });

  it("ENG-13 sends less of the history when the model finds the conversation too long, in any step", async () => {
    const tooLong = [tierFailure("context", "too long")];
    const { ask, calls } = setUp(calling, tooLong, tooLong, done);
    expect((await ask({ history: past })).at(-1)).toEqual({ type: "done" });
    expect(calls.map(({ messages }) => messages.length)).toEqual([3, 5, 5, 3]);
  });
});
