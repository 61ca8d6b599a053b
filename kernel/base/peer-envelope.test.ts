import { expect, it } from "vitest";
import { peerEnvelope } from "./peer-envelope.ts";

const WHOLE = {
  id: "evt_0123456789_1",
  rootId: "evt_0123456789_0",
  parentId: "fwd_1",
  node: "there",
  agentId: "ada",
  kind: "agent",
  type: "task:completed",
  at: "2026-01-01T00:00:00.000Z",
  summary: "ada ok",
  ref: "t1",
  text: "whole\nwords",
  data: { taskId: "t1", list: [1, { deep: true }] },
  source: "feature-x",
};

it("EVT-10 an envelope of another machine stays what it is, as a copy of its known members", () => {
  const given = structuredClone(WHOLE);
  const taken = peerEnvelope({ ...given, more: "x", __proto__: { admin: true } });
  expect(taken).toEqual(WHOLE);
  given.data.list.length = 0;
  expect(taken).toEqual(WHOLE);
  const { parentId, agentId, ref, text, data, source, ...least } = WHOLE;
  expect(peerEnvelope({ ...least, summary: "" })).toEqual({ ...least, summary: "" });
});

it.each([
  ["nothing", undefined, "it is no object"],
  ["a text", "x", "it is no object"],
  ["no id", { ...WHOLE, id: undefined }, "its id is no text"],
  ["an empty node", { ...WHOLE, node: "" }, "its node is no text"],
  ["a number as type", { ...WHOLE, type: 7 }, "its type is no text"],
  ["null as ref", { ...WHOLE, ref: null }, "its ref is no text"],
  ["a long id", { ...WHOLE, id: "x".repeat(201) }, "its id is longer than 200 characters"],
  ["a summary of 281", { ...WHOLE, summary: "🙂".repeat(281) }, "its summary is longer than"],
  ["lines in a summary", { ...WHOLE, summary: "a\nb" }, "its summary holds control characters"],
  ["no time", { ...WHOLE, at: "yesterday" }, "its at is no ISO 8601 time"],
  ["a time that is none", { ...WHOLE, at: "2026-13-41T00:00:00Z" }, "its at is no ISO 8601 time"],
  ["a list as data", { ...WHOLE, data: [] }, "its data is no object"],
  ["much data", { ...WHOLE, data: { x: "y".repeat(16_400) } }, "its data is longer than"],
])("EVT-10 %s is no envelope", (_name, value, reason) => {
  expect(() => peerEnvelope(value)).toThrow(expect.objectContaining({ code: "SVC_EVENT_FOREIGN", message: expect.stringContaining(reason) }));
});
