import { createMemoryFiles } from "@svc/sdk/testing";
import fc from "fast-check";
import { expect, it } from "vitest";
import { createHistory, type Exchange, fileOf, fitMessages } from "./history.ts";
import { safeName } from "./safe-name.ts";

const place = { agent: "a", channel: "botmsg", chat: "42" };
const noon = new Date(2026, 1, 1, 12).getTime();
const DAY = 86_400_000;
const said = (text: string, at = noon): Exchange => ({ at, text, answer: `${text}!` });
const asMessages = (exchanges: readonly Exchange[]) =>
  exchanges.flatMap(({ text, answer }) => [
    { role: "user", text },
    { role: "assistant", text: answer },
  ]);

function historyOn(content = new Map<string, string | Uint8Array>()) {
  const failures: unknown[] = [];
  const { own } = createMemoryFiles(content);
  const open = () =>
    createHistory(
      () => own,
      (error) => failures.push(error),
    );
  return { open, own, content, failures };
}

it("CTX-05 two ids never share a name, whatever the case, and every name is safe", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", maxLength: 400 }), fc.string({ unit: "grapheme", maxLength: 400 }), (left, right) => {
      expect(safeName(left)).toMatch(/^[a-z0-9=-]{1,80}$/);
      if (left !== right) expect(safeName(left)).not.toBe(safeName(right));
    }),
  );
  for (const id of ["..", ".", "", "a/../b", "%2e%2e", "a\0b"]) expect(safeName(id)).toMatch(/^[a-z0-9=-]{1,80}$/);
  expect(safeName("A")).not.toBe(safeName("a"));
});

it("CTX-05 the file is named by the machine's local day", () => {
  expect(fileOf(place, new Date(2026, 0, 31, 23, 59).getTime())).toBe("history/a/botmsg/42/2026-01-31.jsonl");
  expect(fileOf(place, new Date(2026, 1, 1, 0, 1).getTime())).toBe("history/a/botmsg/42/2026-02-01.jsonl");
});

it("tells what was said today and yesterday, also after a restart; not what is older", async () => {
  const { open } = historyOn();
  const first = open();
  for (const [text, at] of [
    ["old", noon - 2 * DAY],
    ["yesterday", noon - DAY],
    ["today", noon],
  ] as const)
    first.note(place, said(text, at));
  const told = asMessages([said("yesterday", noon - DAY), said("today")]);
  expect(await first.recent(place, noon)).toEqual(told);
  expect(first.recent(place, noon)).toEqual(told);
  await first.settled();
  expect(await open().recent(place, noon)).toEqual(told);
  expect(await open().recent({ ...place, chat: "43" }, noon)).toEqual([]);
});

it("what is noted while the files of the chat are read comes after what they hold, once", async () => {
  const { open, own } = historyOn();
  await own.append(fileOf(place, noon), `${JSON.stringify(said("first"))}\n`);
  const history = open();
  const asked = history.recent(place, noon);
  history.note(place, said("second"));
  history.note(place, said("third"));
  expect(await asked).toEqual(asMessages([said("first"), said("second"), said("third")]));
  await history.settled();
  expect(await open().recent(place, noon)).toEqual(asMessages([said("first"), said("second"), said("third")]));
});

it("a list that was handed out stays as it is", async () => {
  const { open } = historyOn();
  const history = open();
  history.note(place, said("first"));
  const before = await history.recent(place, noon);
  history.note(place, said("second"));
  expect(before).toEqual(asMessages([said("first")]));
});

it("tells the same day again after midnight, and no older one", async () => {
  const { open } = historyOn();
  const history = open();
  history.note(place, said("yesterday", noon - DAY));
  history.note(place, said("today", noon));
  expect(await history.recent(place, noon)).toHaveLength(4);
  expect(await history.recent(place, noon + DAY)).toEqual(asMessages([said("today")]));
  expect(await history.recent(place, noon + 2 * DAY)).toEqual([]);
  expect(await history.recent(place, noon)).toHaveLength(4);
});

it("passes over lines that a person or a crash has broken", async () => {
  const { open, own } = historyOn();
  await own.append(fileOf(place, noon), `${JSON.stringify(said("one"))}\nnot json\n{"at":1}\n\n${JSON.stringify(said("two"))}\n{"at":17`);
  expect(await open().recent(place, noon)).toEqual(asMessages([said("one"), said("two")]));
});

it("holds no more than the context can take", async () => {
  const { open } = historyOn();
  const history = open();
  for (let turn = 0; turn < 10; turn += 1) history.note(place, { at: noon, text: `${turn}`, answer: "x".repeat(30_000) });
  const recent = await history.recent(place, noon);
  expect(recent.map(({ text }) => text)).toEqual(["8", "x".repeat(12_000), "9", "x".repeat(12_000)]);
  expect(fitMessages(recent, 24_000).messages.map(({ text }) => text)).toEqual(["9", "x".repeat(12_000)]);
});

it("ENG-10 a window that is full begins with the same message for several turns, also with layers of changing length, and after a restart", async () => {
  const { open } = historyOn();
  const history = open();
  const firsts: string[] = [];
  for (let turn = 0; turn < 150; turn += 1) {
    const { messages, characters } = fitMessages(await history.recent(place, noon), 23_000 + (turn % 3) * 20);
    expect(characters).toBeLessThanOrEqual(23_040);
    if (turn > 60) expect(characters).toBeGreaterThan(16_000);
    firsts.push(messages[0]?.text ?? "");
    history.note(place, { at: noon, text: `${turn}`.padEnd(200, "."), answer: "a".repeat(300) });
  }
  const moves = firsts.filter((first, turn) => turn > 1 && first !== firsts[turn - 1]).length;
  expect(moves).toBeGreaterThan(3);
  // 500 characters a turn, 6000 a step: once in twelve turns.
  expect(moves).toBeLessThanOrEqual(150 / 10);
  await history.settled();
  expect(fitMessages(await open().recent(place, noon), 23_000).messages.at(-1)?.text).toBe("a".repeat(300));
});

it("CTX-09 messages that fit begin with a question", () => {
  const messages = [
    { role: "user", text: "aaaa" },
    { role: "assistant", text: "bbbb" },
    { role: "user", text: "cccc" },
    { role: "assistant", text: "dddd" },
  ] as const;
  expect(fitMessages(messages, 16)).toEqual({ messages, characters: 16 });
  expect(fitMessages(messages, 15)).toEqual({ messages: messages.slice(2), characters: 8 });
  expect(fitMessages(messages, 7)).toEqual({ messages: [], characters: 0 });
  expect(fitMessages(messages.slice(1), 15)).toEqual({ messages: messages.slice(2), characters: 8 });
});
