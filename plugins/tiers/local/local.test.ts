import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Action, Tier, TierEvent, Turn, TurnContext } from "@svc/sdk";
import { createFakeContext, tierContract } from "@svc/sdk/testing";
import { afterEach, describe, expect, it } from "vitest";
import local from "./index.ts";
import { realFiles } from "./local.harness.ts";
import { piecesOf } from "./pieces.ts";
import { createRanking } from "./ranking.ts";
import { wordsOf } from "./words.ts";

const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true });
});

async function setUp(files: Record<string, string | Uint8Array> = {}) {
  const workspace = await mkdtemp(join(tmpdir(), "svc-local-"));
  folders.push(workspace);
  for (const [name, content] of Object.entries(files)) await writeFile(join(workspace, name), content);
  const reads: string[] = [];
  const ran: unknown[] = [];
  const action = (name: string): Action => ({
    name,
    description: "reads",
    input: { type: "object", additionalProperties: true },
    output: {},
    timeoutMs: 1_000,
    run: async (input) => ran.push(input),
  });
  const ctx = createFakeContext(local, {
    files: await realFiles(reads),
    agents: [{ id: "assistant" }],
    actions: [action("file.read_lines"), action("pwn")],
  });
  local.setup(ctx as never);
  const tier = ctx.registered.tiers[0] as Tier;
  const ask = async (prompt: string, settings: object = {}, agent: object = {}, signal = new AbortController().signal, before: object = {}) => {
    const turn = { id: "task_1", agent: { id: "assistant", name: "Assistant", workspace, settings: { local: settings }, ...agent } } as unknown as Turn;
    const events: TierEvent[] = [];
    for await (const event of tier.run(turn, { prompt, history: [], ...before } as unknown as TurnContext, signal)) events.push(event);
    return { events, text: events.map((event) => (event.type === "text" ? event.text : "")).join("") };
  };
  return { workspace, tier, ask, reads, ran };
}

describe("tier local", () => {
  it("answers from the workspace with file and line, and says that it is no language model", async () => {
    const { ask } = await setUp({ "notes.md": "# Notes\n\nThe spare key lies under the blue flowerpot.\n", "other.txt": "Nothing of interest here." });
    const { text, events } = await ask("Where is the spare key?");
    expect(text).toContain("under the blue flowerpot");
    expect(text).toContain("notes.md:3");
    expect(text).toContain("no language model");
    expect(text).toContain("svc setup");
    expect(events.filter(({ type }) => type === "text").length).toBeGreaterThan(1);
    expect(events.at(-1)?.type).toBe("done");
  });

  it("sees a file that changed, passes over binary files, and reads nothing twice", async () => {
    const { ask, workspace, reads } = await setUp({ "notes.md": "alpha", "image.bin": new Uint8Array([0, 255, 254, 1]) });
    expect((await ask("gamma")).text).not.toContain("notes.md:");
    await writeFile(join(workspace, "notes.md"), "beta gamma delta");
    expect((await ask("gamma")).text).toContain("notes.md:1");
    expect((await ask("/status")).text).toContain("1 files");
    expect(reads.toSorted()).toEqual(["image.bin", "notes.md", "notes.md"]);
  });

  it("says what it looked through when nothing fits", async () => {
    const { ask } = await setUp({ "a.txt": "one" });
    expect((await ask("zebra")).text).toContain("Nothing in the 1 text files");
  });

  it("OPR-m28 says once a conversation what it is and how to get an engine, and greets back", async () => {
    const { ask } = await setUp({ "notes.md": "The spare key lies under the blue flowerpot.\n" });
    const first = (await ask("Where is the spare key?")).text;
    const history = [
      { role: "user", text: "Where is the spare key?" },
      { role: "assistant", text: first },
    ];
    const second = (await ask("and the flowerpot?", {}, {}, undefined, { history })).text;
    expect(second).toContain("notes.md:1");
    expect(second).not.toContain("svc setup");
    expect((await ask("zebra", {}, {}, undefined, { history })).text).not.toContain("svc setup");
    expect((await ask("hello")).text).toMatch(/^Hello from Assistant\. Ask me[^\n]*\n\nI am no language model: I search .* svc setup$/);
  });

  it("knows its chat commands", async () => {
    const { ask } = await setUp({ "a.txt": "one" });
    expect((await ask("/status")).text).toContain("1 files");
    expect((await ask("/dance")).text).toContain("no command /dance");
  });

  it("SEC-S1 runs no action that the operator did not name for the agent, and names none in its help", async () => {
    const { ask, ran } = await setUp({ "a.txt": "one" });
    for (const text of ["/run file.read_lines {}", "/run pwn {}", "/actions"]) expect((await ask(text)).text).toContain("agents.assistant.local.actions");
    expect((await ask("/help")).text).not.toContain("/run");
    const some = { actions: ["file.*"] };
    expect((await ask("/run pwn {}", some)).text).toContain("may not be run");
    expect((await ask("/actions", some)).text).toBe("file.read_lines  reads");
    expect((await ask('/run file.read_lines {"path":"svc.json"}', { actions: ["*"] }, { access: "public" })).text).toContain("is public");
    expect((await ask("/help", { actions: ["*"] }, { access: "public" })).text).not.toContain("/run");
    expect(ran).toEqual([]);
  });

  it("runs the actions that were named through the registry, and says an example of one", async () => {
    const { ask, ran } = await setUp({ "a.txt": "one" });
    const some = { actions: ["file.*"] };
    const [, example = ""] = /for example: (.*)/.exec((await ask("/help", some)).text) ?? [];
    expect((await ask(example, some)).text).toContain('"status": "ok"');
    expect(ran).toEqual([{ path: "notes.txt" }]);
    expect((await ask("/run file.read_lines {broken", some)).text).toContain("must be JSON");
    expect((await ask("/run", some)).text).toContain("Which action?");
    expect((await ask("/help", { actions: ["pwn"] })).text).not.toContain("file.read_lines");
  });

  it("quotes the start of a long line only, and the rest of it is found, too", async () => {
    const { ask } = await setUp({ "data.json": `first\n${"filler 👍 ".repeat(2000)} needle ${"filler ".repeat(2000)}` });
    const { text } = await ask("needle");
    expect(text).toContain("data.json:2");
    expect(text.isWellFormed()).toBe(true);
    expect(text.length).toBeLessThan(5 * 800);
  });

  it("several questions at once share one reading, and one that is cancelled leaves the others", async () => {
    const { ask } = await setUp(Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`${at}.txt`, `topic number${at} `.repeat(500)])));
    const [cancelled, first, second] = await Promise.all([ask("number7", {}, {}, AbortSignal.abort()), ask("number8"), ask("number9")]);
    expect(cancelled.events.at(-1)?.type).not.toBe("done");
    expect(first.text).toContain("8.txt:1");
    expect(second.text).toContain("9.txt:1");
  });

  it("echo says the message back whole, in pieces that never cut a character", async () => {
    const { ask } = await setUp();
    const message = "Grüße 你好 مرحبا 👩‍👩‍👧 ".repeat(50);
    const { text, events } = await ask(message, { mode: "echo", chunks: 97, step: true });
    expect(text).toBe(message);
    expect(events.filter(({ type }) => type === "text").length).toBeGreaterThan(3);
    expect(events.filter(({ type }) => type === "step")).toHaveLength(2);
    for (const piece of piecesOf("a👍b👍", 4)) expect(piece.isWellFormed()).toBe(true);
  });

  it("ranks the rarer word higher, and splits scripts without spaces", async () => {
    const ranking = await createRanking(["the cat", "the dog", "the zebra"], (text) => text, new AbortController().signal);
    expect(ranking.best("the zebra", 1)).toEqual(["the zebra"]);
    expect(wordsOf("東京都 Straße")).toEqual(["東京", "京都", "straße"]);
    // Within the limit of a test: no pattern takes the square of a hostile word's length.
    for (const letter of ["a", "e", "s", "é", "東", "1"]) expect(wordsOf(letter.repeat(1_000_000)).length).toBeGreaterThan(0);
  });
});

tierContract(
  { describe, it },
  async () => {
    const { tier } = await setUp();
    const settings = (prompt: string) => ({
      mode: "echo",
      step: true,
      ...(prompt === "fail" ? { fail: "as asked" } : prompt === "endless" ? { delayMs: 600_000 } : {}),
    });
    const bySettings: Tier = {
      ...tier,
      run: (turn, context, signal) => tier.run({ ...turn, agent: { ...turn.agent, settings: { local: settings(context.prompt) } } }, context, signal),
    };
    return {
      tier: bySettings,
      works: { prompt: "one two three", answer: "two" },
      other: { prompt: "four five six", answer: "five" },
      fails: "fail",
      endless: "endless",
    };
    // It begins with its step, and asks no model.
  },
  { lacks: ["silence", "tokens of a cancelled run"] },
);
