import { definePlugin, type Plugin, type Schema, type TierEvent, type TurnContext } from "@svc/sdk";
import { describe, expect, it } from "vitest";
import { action, runIsolated } from "../faults/isolation.harness.ts";
import { type RunOptions, runKernel } from "../kit/kernel.ts";

const SHAPE: Schema = {
  type: "object",
  required: ["verdict", "count"],
  properties: { verdict: { enum: ["yes", "no"] }, count: { type: "integer", minimum: 0 } },
};
const GOOD = '{"verdict":"yes","count":3}';

/** A tier that gives these answers one after the other, and keeps what it was asked. */
async function runAnswers(answers: readonly string[], { sessions = false, inline = [] }: { sessions?: boolean; inline?: RunOptions["inline"] } = {}) {
  const asked: TurnContext[] = [];
  const plugin = definePlugin({
    kind: "tier",
    name: "scripted",
    version: "1.0.0",
    svc: "*",
    capabilities: [],
    setup: (ctx) =>
      ctx.provide.tier({
        name: "scripted",
        abilities: { nativeSessions: sessions },
        async *run(_, context): AsyncIterable<TierEvent> {
          const text = answers[asked.length] ?? "";
          asked.push(context);
          yield { type: "text", text };
          yield { type: "usage", usage: { input: 10, output: 5, cost: 0.5 } };
          yield { type: "session", id: "s1" };
          yield { type: "done" };
        },
      }),
  });
  const running = await runKernel({ tier: { plugin } as never, inline: inline ?? [] });
  const told: string[] = [];
  const ask = (output: Schema | undefined = SHAPE) =>
    running.kernel.tasks.run(running.message("How many?", { options: { output } }), (event) => {
      if (event.type === "text") told.push(event.text);
    });
  return { ...running, asked, told, ask };
}

describe("an answer that is asked for in a shape", () => {
  it("is told to the engine as a schema, and its value is the result's", async () => {
    const { kernel, asked, told, ask } = await runAnswers([GOOD]);
    const result = await ask();
    expect(result).toMatchObject({ ok: true, reply: GOOD, output: { verdict: "yes", count: 3 } });
    expect(asked.map(({ prompt }) => prompt)).toEqual([expect.stringMatching(/^How many\?\n\nAnswer with JSON only[\s\S]*"enum":\["yes","no"\]/)]);
    expect(told).toEqual([GOOD]);
    expect(await kernel.tasks.result(result.taskId)).toMatchObject({ output: { verdict: "yes", count: 3 } });
    expect(await kernel.traces.get(result.taskId)).toMatchObject({ output: { verdict: "yes", count: 3 } });
  });

  it.each([`\`\`\`json\n${GOOD}\n\`\`\``, `Here it is:\n${GOOD}\nThat is all.`, ` ${GOOD}\n`])(
    "is read in a fence and with words around it: %j",
    async (answer) => {
      const { ask, asked } = await runAnswers([answer]);
      expect(await ask()).toMatchObject({ ok: true, output: { verdict: "yes", count: 3 } });
      expect(asked).toHaveLength(1);
    },
  );

  it.each([
    ["I think three.", "it is no JSON"],
    ['{"verdict":"yes"}', "it must have required property 'count'"],
    ['{"verdict":"maybe","count":3}', "verdict must be equal to one of the allowed values"],
    ['{"verdict":"yes","count":3,"note":"x"}', "it must NOT have additional properties ('note')"],
  ])("that does not fit is asked for once more with the finding: %j", async (wrong, finding) => {
    const { kernel, ask, asked, told } = await runAnswers([wrong, GOOD]);
    const result = await ask();
    expect(result).toMatchObject({ ok: true, reply: GOOD, output: { count: 3 }, usage: { input: 20, output: 10, cost: 1 } });
    expect(asked[1]?.prompt).toContain(`How many?`);
    expect(asked[1]?.prompt).toContain(wrong);
    expect(asked[1]?.prompt).toContain(`That answer cannot be used: ${finding}. Answer with JSON only`);
    expect((await kernel.traces.get(result.taskId))?.steps).toMatchObject([{ name: "output", error: `asked once more: ${finding}` }]);
    expect(told).toEqual([GOOD]);
  });

  it("is asked for once more in the session of an engine that keeps one", async () => {
    const { ask, asked } = await runAnswers(["three", GOOD], { sessions: true });
    expect(await ask()).toMatchObject({ ok: true, output: { count: 3 } });
    expect(asked[1]).toMatchObject({ session: "s1", prompt: expect.stringMatching(/^That answer cannot be used/) });
  });

  it("that does not fit twice is an error of kind output with the finding, and there is no third try", async () => {
    const { ask, asked } = await runAnswers(["three", '{"verdict":"yes","count":-1}', GOOD]);
    const result = await ask();
    expect(result).toMatchObject({ ok: false, status: "error", errorKind: "output", error: "The answer does not fit options.output: count must be >= 0." });
    expect(result).not.toHaveProperty("output");
    expect(asked).toHaveLength(2);
  });

  it("is refused before the engine is asked where the schema cannot be used", async () => {
    const { ask, asked } = await runAnswers(["three"]);
    expect(await ask({ type: "nonsense" } as never)).toMatchObject({
      ok: false,
      errorKind: "SVC_OUTPUT_SCHEMA",
      error: expect.stringContaining("options.output"),
    });
    expect(asked).toEqual([]);
  });

  it("is judged again when a `deliver` tap changes it, and no value goes past one that withholds it", async () => {
    const taps = (change: (text: string) => { text?: string; held?: string }) =>
      definePlugin({
        kind: "feature",
        name: "changes",
        version: "1.0.0",
        svc: "*",
        capabilities: [],
        setup: (ctx) => ctx.hooks.deliver.tap((delivery) => ({ ...delivery, ...change(delivery.text) })),
      }) as unknown as Plugin<never>;
    const changed = await runAnswers([GOOD], { inline: [taps((text) => ({ text: text.replace("yes", "no") }))] });
    expect(await changed.ask()).toMatchObject({ ok: true, output: { verdict: "no", count: 3 } });
    const spoilt = await runAnswers([GOOD], { inline: [taps(() => ({ text: "[removed]" }))] });
    const result = await spoilt.ask();
    expect(result).toMatchObject({ ok: false, errorKind: "output", error: expect.stringContaining("deliver taps") });
    const held = await runAnswers([GOOD], { inline: [taps(() => ({ held: "to be looked at" }))] });
    const kept = await held.ask();
    expect(kept).toMatchObject({ ok: false, errorKind: "held", reply: "" });
    for (const one of [result, kept]) expect(one).not.toHaveProperty("output");
  });

  it("of an engine that a plugin hands over is asked for once: nobody is there to be corrected", async () => {
    const person = definePlugin({
      kind: "feature",
      name: "person",
      version: "1.0.0",
      svc: "*",
      capabilities: [],
      setup: (ctx) =>
        ctx.hooks.dispatch.tap(() =>
          (async function* (): AsyncIterable<TierEvent> {
            yield { type: "done", text: "three" };
          })(),
        ),
    }) as unknown as Plugin<never>;
    const { ask, asked } = await runAnswers([GOOD], { inline: [person] });
    expect(await ask()).toMatchObject({ ok: false, errorKind: "output", error: expect.stringContaining("it is no JSON") });
    expect(asked).toEqual([]);
  });

  it("crosses to an isolated plugin with its schema and its value", async () => {
    const { act } = await runIsolated([
      {
        name: "asks",
        capabilities: ["tasks"],
        setup: action(
          "asks.typed",
          `const ask = (text) => ctx.tasks.run({ entry: "task", channel: "http", chat: "c9", text, agent: "a", options: { output: { type: "object", required: ["type"] } } });
           const { output, errorKind } = await ask("hello");
           return { output, errorKind };`,
        ),
      },
    ]);
    // The scripted engine says its prompt back, in which the schema is the only JSON, and fits itself.
    expect(await act("asks.typed")).toEqual({ output: { type: "object", required: ["type"] } });
  });
});
