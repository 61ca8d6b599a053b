import { expect, it } from "vitest";
import { runTurn } from "./run.ts";

const parts = (text: string) => [{ kind: "text", text }];
const piece = (text: string, append: boolean, artifactId = "a") => ({
  kind: "artifact-update",
  taskId: "t",
  artifact: { artifactId, parts: parts(text) },
  append,
});
const done = { kind: "status-update", taskId: "t", status: { state: "completed" }, final: true };

/** What a turn tells when its server says this: the pieces of text, and the end. */
async function toldBy(results: Iterable<object>) {
  const generation = { headers: {}, send: "", stream: "", resume: "", cancel: "", ask: () => ({}) };
  const remote = {
    card: async () => ({ generation, streaming: true, address: "http://server.test" }),
    async *stream() {
      for (const result of results) yield { answer: { result } };
    },
  };
  const context = { system: "", layers: [], history: [], prompt: "hello", media: [] };
  const texts: string[] = [];
  let end: string | undefined;
  for await (const event of runTurn(remote as never, "turn", context as never, new AbortController().signal)) {
    if (event.type === "text") texts.push(event.text);
    if (event.type === "done") end = event.text;
  }
  return { texts, end };
}

it.each([
  ["pieces are appended", [piece("one ", false), piece("two", true)], ["one ", "two"], "one two"],
  ["the whole so far comes each time", [piece("one ", false), piece("one two", false)], ["one ", "two"], "one two"],
  ["there are several artifacts", [piece("one", false), piece("two", false, "b"), piece(".", true, "b")], ["one", "\n\ntwo", "."], "one\n\ntwo."],
  ["one before the last goes on", [piece("one", false), piece("two", false, "b"), piece("!", true)], ["one", "\n\ntwo"], "one!\n\ntwo"],
  ["what was said is replaced", [piece("one", false), piece("two", false), piece(".", true)], ["one"], "two."],
  [
    "the task as it is comes in between",
    [piece("one", false), { kind: "task", id: "t", status: { state: "working" }, artifacts: [{ artifactId: "a", parts: parts("one two") }] }, piece(".", true)],
    ["one", " two", "."],
    "one two.",
  ],
] as const)("tells what is new, and all of it at the end, where %s", async (_how, results, texts, end) => {
  expect(await toldBy([...results, done])).toEqual({ texts, end });
});

it("a long answer in very many pieces takes no longer than its length", async () => {
  function* results() {
    yield piece("x".repeat(20_000_000), false);
    for (let count = 0; count < 20_000; count += 1) yield piece("y", true);
    yield done;
  }
  const { texts, end } = await toldBy(results());
  expect([texts.length, end?.length]).toEqual([20_001, 20_020_000]);
});
