import { expect, it } from "vitest";
import { contextDigest, contextTexts } from "./context-parts.ts";

const said = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ role: at % 2 === 0 ? ("user" as const) : ("assistant" as const), text: `words ${at}` }));
const layer = (name: string, text: string, priority = 5) => ({ name, text, priority });
const words = { system: "You are Eve.", layers: [layer("b", "second", 9), layer("a", "first", 1), layer("a", "again", 2), layer("none", "")], prompt: "hello" };

it("the digest has one entry for each text, in the same order and by the same names", () => {
  for (const history of [[], said(3), said(500)]) {
    const context = { ...words, history };
    expect(contextDigest(context).map(({ name }) => name)).toEqual(contextTexts(context).map(({ name }) => name));
  }
  expect(contextTexts({ ...words, history: said(1) }).map(({ name }) => name)).toEqual(["system", "a", "a (2)", "b", "messages", "prompt"]);
  expect(contextDigest({ system: "", layers: [], history: [], prompt: "" })).toEqual([]);
});

it("of a long history another number of messages, another length and other newest messages are told", () => {
  const digestOf = (history: ReturnType<typeof said>) => contextDigest({ ...words, history }).find(({ name }) => name === "messages");
  const history = said(500);
  const changed = (at: number, text: string) => history.with(at, { role: "user", text });
  expect(digestOf(said(500))).toEqual(digestOf(history));
  const hashes = [history, history.slice(1), changed(0, "other"), changed(499, "words 49_"), changed(492, "words 49_")].map((one) => digestOf(one)?.hash);
  expect(new Set(hashes).size).toBe(hashes.length);
});
