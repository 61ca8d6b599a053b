import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Action, definePlugin, type Message, type Plugin } from "@svc/sdk";
import { expect, it } from "vitest";
import { runContext, textOf } from "../kit/context.ts";
import { temporaryFolder } from "../kit/kernel.ts";
import { type SmallAnswer, smallModel } from "../kit/small-model.ts";
import { hasten } from "../kit/time.ts";

/** `rag.lexical` as the plugin of that name provides it, with what was asked of it. */
function memory() {
  const queries: unknown[] = [];
  const action: Action = {
    name: "rag.lexical",
    description: "search",
    input: { type: "object", additionalProperties: true },
    output: { type: "object", additionalProperties: true },
    timeoutMs: 1_000,
    async run(input) {
      queries.push(input);
      return { results: [{ path: "notes.md", line: 3, score: 1, snippet: "Ann likes tea" }] };
    },
  };
  const plugin = definePlugin({
    kind: "action",
    name: "memory",
    version: "1.0.0",
    svc: "*",
    capabilities: [],
    setup: (ctx) => void ctx.provide.action(action),
  }) as Plugin<never>;
  return { plugin, queries };
}

const planned: Partial<Message> = { options: { contextStrategy: "planner" } };

it("CTX-06 the planner tells only what was asked for: no history, no wiki hint, no search by itself", async () => {
  const { asked, env } = await smallModel(() => ({ keepTurns: 0, hints: false }));
  const { plugin, queries } = memory();
  const { say } = await runContext({ env, inline: [plugin] });
  for (let turn = 0; turn < 3; turn += 1) {
    const context = await say(`turn ${turn}`, planned);
    expect(context).toMatchObject({ strategy: "planner", history: [] });
    expect(context.session).toBeUndefined();
    expect(context.layers.map(({ name }) => name)).toEqual(["identity"]);
  }
  expect(queries).toEqual([]);
  expect(asked).toHaveLength(3);
  expect(asked[2]).toBe("<request>\nturn 1\n</request>\n<answer>\nturn 1\n</answer>\n<newest-message>\nturn 2\n</newest-message>");
});

it("CTX-06 a plan that asks gets the newest exchanges, the memory search and the other chats", async () => {
  const { env } = await smallModel(() => ({ keepTurns: 1, retrieve: "tea", hints: true }));
  const { plugin, queries } = memory();
  const { say } = await runContext({ env, inline: [plugin] });
  await say("elsewhere", { chat: "other" });
  await say("one");
  await say("two");
  const context = await say("three", planned);
  expect(textOf(context, "history")).toBe("## Earlier in this conversation\nUser: two\nYou: two");
  expect(textOf(context, "memory")).toBe("## From memory\n- notes.md:3: Ann likes tea");
  expect(textOf(context, "cross-chat hints")).toMatch(/^## In other chats\n- http other, .* UTC: elsewhere$/);
  expect(queries).toEqual([{ agentId: "a", query: "tea", limit: 5 }]);
});

it("CTX-06 continuityStateTurns shows earlier requests to the decision", async () => {
  const { asked, env } = await smallModel(() => ({ keepTurns: 0, hints: false }));
  const { say } = await runContext({ env, config: { session: { continuityStateTurns: 2 } } });
  for (const text of ["one", "two", "three", "four"]) await say(text);
  await say("five", planned);
  const tags = [...(asked[0]?.matchAll(/<(earlier-request|request|answer|newest-message)>\n(.*)\n/g) ?? [])].map(([, tag, text]) => `${tag} ${text}`);
  expect(tags).toEqual(["earlier-request two", "earlier-request three", "request four", "answer four", "newest-message five"]);
});

const failures: [string, () => SmallAnswer][] = [
  ["an API error", () => 400],
  ["bad JSON", () => ({ keepTurns: "many" })],
  ["prose", () => "prose"],
  ["a time-out", () => "silence"],
];
it.each(failures)("CTX-07 %s of the planner leaves the turn to layered, and the user has an answer", async (_what, answer) => {
  const { asked, env } = await smallModel(answer);
  const { kernel, message, tier, say } = await runContext({ env });
  await say("before");
  const run = () => kernel.tasks.run(message("now", planned));
  expect(await hasten(run, () => answer() === "silence" && asked.length > 0)).toMatchObject({ ok: true, reply: "now" });
  const { context } = tier.turns.at(-1)!;
  expect(context.strategy).toBe("layered");
  expect(textOf(context, "wiki hint")).not.toBe("");
  expect(textOf(context, "history")).toContain("User: before");
  expect(context.session).toBeUndefined();
  expect(asked.length).toBeGreaterThan(0);
});

it("CTX-07 without a key for the small model the turn is left to layered", async () => {
  const { say } = await runContext();
  expect((await say("hello", planned)).strategy).toBe("layered");
});

it.each([
  ["1", 1],
  ["0", 0],
  ["true", 0],
])("CTX-07 SVC_PLANNER_DEBUG=%s logs %i plans", async (value, count) => {
  const log = join(await temporaryFolder(), "log");
  const { env } = await smallModel(() => ({ keepTurns: 0, hints: false }));
  const { kernel, say } = await runContext({ env: { ...env, SVC_PLANNER_DEBUG: value }, log: { level: "info", destination: log } });
  await say("hello", planned);
  await kernel.stop({ drainSeconds: 0 });
  const lines = (await readFile(log, "utf8")).split("\n").filter((line) => line.includes('"plan"'));
  expect(lines).toHaveLength(count);
});
