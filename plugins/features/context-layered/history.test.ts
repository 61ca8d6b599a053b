import { createMemoryFiles } from "@svc/sdk/testing";
import fc from "fast-check";
import { expect, it } from "vitest";
import { createHistory, type Exchange, fileOf, fitMessages } from "./history.ts";
import { safeName } from "./safe-name.ts";

const place = { agent: "a", channel: "botmsg", chat: "42" };
const noon = new Date(2026, 1, 1, 12).getTime();
const DAY = 86_400_000;
const said = (text: string, at = noon): Exchange => ({ at, text, answer: `${text}!` });

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
    first.note(place, at, async () => said(text, at));
  const told = [said("yesterday", noon - DAY), said("today")];
  expect(await first.recent(place, noon)).toEqual(told);
  await first.settled();
  expect(await open().recent(place, noon)).toEqual(told);
  expect(await open().recent({ ...place, chat: "43" }, noon)).toEqual([]);
});

it("waits for what was noted before it is asked, in order, and an answer that is not found leaves nothing", async () => {
  const { open, failures } = historyOn();
  const history = open();
  let find!: (exchange: Exchange) => void;
  history.note(place, noon, () => new Promise((resolve) => (find = resolve)));
  history.note(place, noon, async () => undefined);
  history.note(place, noon, async () => Promise.reject(new Error("gone")));
  history.note(place, noon, async () => said("second"));
  const recent = history.recent(place, noon);
  await new Promise(setImmediate);
  find(said("first"));
  expect((await recent).map(({ text }) => text)).toEqual(["first", "second"]);
  expect(failures).toEqual([new Error("gone")]);
});

it("passes over lines that a person or a crash has broken", async () => {
  const { open, own } = historyOn();
  await own.append(fileOf(place, noon), `${JSON.stringify(said("one"))}\nnot json\n{"at":1}\n\n${JSON.stringify(said("two"))}\n{"at":17`);
  expect((await open().recent(place, noon)).map(({ text }) => text)).toEqual(["one", "two"]);
});

it("holds no more than the context can take", async () => {
  const { open } = historyOn();
  const history = open();
  for (let turn = 0; turn < 10; turn += 1) history.note(place, noon, async () => ({ at: noon, text: `${turn}`, answer: "x".repeat(30_000) }));
  const recent = await history.recent(place, noon);
  expect(recent.map(({ text }) => text)).toEqual(["9"]);
  expect(recent[0]?.answer).toHaveLength(12_000);
});

it("CTX-09 messages that fit begin with a question", () => {
  const messages = [
    { role: "user", text: "aaaa" },
    { role: "assistant", text: "bbbb" },
    { role: "user", text: "cccc" },
    { role: "assistant", text: "dddd" },
  ] as const;
  expect(fitMessages(messages, 16)).toEqual(messages);
  expect(fitMessages(messages, 15)).toEqual(messages.slice(2));
  expect(fitMessages(messages, 7)).toEqual([]);
});
