import { expect, it } from "vitest";
import { type Ended, judgeHistory, type Ran, type Sent } from "./history.ts";

const sent = (text: string, taskId?: string): Sent => ({ key: `key-${text}`, chat: "c", text, ...(taskId === undefined ? {} : { taskId }) });
const ran = (text: string, taskId: string): Ran => ({ chat: "c", text, taskId });
const ended = (id: string, text: string, more: Partial<Ended> = {}): [string, Ended] => [
  id,
  { id, status: "ok", attempts: 1, response: `did ${text}`, ...more },
];
const judge = (messages: Sent[], runs: Ran[], tasks: [string, Ended][], before: [string, Ended][] = []) =>
  judgeHistory(messages, runs, new Map(tasks), new Map(before));

it("the checker is silent on a good history, also where an unacknowledged message was lost or ran", () => {
  expect(judge([sent("a", "1"), sent("b", "2")], [ran("a", "1"), ran("b", "2")], [ended("1", "a"), ended("2", "b")])).toEqual([]);
  expect(judge([sent("a"), sent("b", "2")], [ran("b", "2")], [ended("2", "b")])).toEqual([]);
  expect(judge([sent("a"), sent("b", "2")], [ran("a", "1"), ran("b", "2")], [ended("2", "b")])).toEqual([]);
  expect(judge([sent("a", "1")], [ran("a", "1"), ran("a", "1")], [ended("1", "a", { attempts: 2 })])).toEqual([]);
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
