import { expect, it } from "vitest";
import { type Arrived, type Ended, type History, judgeHistory, type Ran, type Sent, type Way } from "./history.ts";

const sent = (text: string, taskId?: string, way: Way = "http"): Sent => ({
  key: `key-${text}`,
  way,
  chat: "c",
  text,
  ...(taskId === undefined ? {} : { taskId }),
});
const ran = (text: string, taskId: string): Ran => ({ chat: "c", text, taskId });
const arrived = (text: string): Arrived => ({ chat: "c", text: `did ${text}` });
const ended = (id: string, text: string, more: Partial<Ended> = {}): [string, Ended] => [
  id,
  { id, status: "ok", attempts: 1, response: `did ${text}`, ...more },
];
const judge = (messages: Sent[], runs: Ran[], tasks: [string, Ended][], before: [string, Ended][] = [], seen: Partial<History> = {}) =>
  judgeHistory({ sent: messages, ran: runs, arrived: [], doubts: 0, ended: new Map(tasks), earlier: new Map(before), ...seen });
/** One message over a channel that came in and ran, and what arrived of its answer. */
const answered = (way: Way, answers: Arrived[], doubts = 0) =>
  judge([sent("a", "1", way)], [ran("a", "1")], [ended("1", "a")], [], { arrived: answers, doubts });

it("the checker is silent on a good history, also where an unacknowledged message was lost or ran", () => {
  expect(judge([sent("a", "1"), sent("b", "2")], [ran("a", "1"), ran("b", "2")], [ended("1", "a"), ended("2", "b")])).toEqual([]);
  expect(judge([sent("a"), sent("b", "2")], [ran("b", "2")], [ended("2", "b")])).toEqual([]);
  expect(judge([sent("a"), sent("b", "2")], [ran("a", "1"), ran("b", "2")], [ended("2", "b")])).toEqual([]);
  expect(judge([sent("a", "1")], [ran("a", "1"), ran("a", "1")], [ended("1", "a", { attempts: 2 })])).toEqual([]);
  expect(answered("keyed", [arrived("a")])).toEqual([]);
  expect(answered("keyless", [arrived("a")])).toEqual([]);
  expect(answered("keyless", [arrived("a"), arrived("a")], 1)).toEqual([]);
});

it("the checker tells of each broken promise", () => {
  expect(judge([sent("a", "1")], [], [])).toEqual([expect.stringContaining("lost"), expect.stringContaining("never run")]);
  expect(judge([sent("a", "1")], [ran("a", "1")], [ended("1", "a", { status: "error" })])).toEqual([expect.stringContaining("ended as error")]);
  expect(judge([sent("a", "1")], [ran("a", "1")], [ended("1", "b")])).toEqual([expect.stringContaining("answered did b")]);
  expect(judge([sent("a", "1")], [ran("a", "1"), ran("a", "1")], [ended("1", "a")])).toEqual([expect.stringContaining("run 2 times in 1")]);
  expect(judge([sent("a", "1")], [ran("a", "1"), ran("a", "9")], [ended("1", "a", { attempts: 2 })])).toEqual([expect.stringContaining("as 9")]);
  expect(judge([sent("a", "1"), sent("b", "2")], [ran("b", "2"), ran("a", "1")], [ended("1", "a"), ended("2", "b")])).toEqual([
    expect.stringContaining("b was begun where a was due"),
  ]);
  expect(judge([sent("a", "1")], [ran("a", "1")], [ended("1", "a")], [ended("1", "a", { status: "error" })])).toEqual([expect.stringContaining("later as")]);
});

it("the checker tells of answers that never arrived, arrived too often, or in another order", () => {
  for (const way of ["keyed", "keyless"] as const) expect(answered(way, [])).toEqual([expect.stringContaining("never arrived")]);
  expect(answered("keyed", [arrived("a"), arrived("a")], 1)).toEqual([expect.stringContaining("answered 2 times")]);
  expect(answered("keyless", [arrived("a"), arrived("a"), arrived("a")], 1)).toEqual([expect.stringContaining("2 answers are there twice, and 1")]);
  const [one, two] = [sent("a", "1", "keyed"), sent("b", "2", "keyed")];
  expect(judge([one, two], [ran("a", "1"), ran("b", "2")], [ended("1", "a"), ended("2", "b")], [], { arrived: [arrived("b"), arrived("a")] })).toEqual([
    expect.stringContaining("did b was answered where did a was due"),
  ]);
});
