import type { WorkflowHead } from "@svc/sdk";
import { expect, it } from "vitest";
import { bestMatch, inputsOf } from "./score.ts";

const head = (id: string, more: Partial<WorkflowHead> = {}): WorkflowHead => ({ id, hash: "h", inputSchema: {}, broken: false, ...more });

it("WF-11 scores the words shared with phrases, name and description; an equal phrase is 1", () => {
  const flows = [head("buy", { name: "Purchase", phrases: ["buy a new laptop"] }), head("report", { description: "the nightly report of all sites" })];
  expect(bestMatch("Buy a new LAPTOP!", flows)).toMatchObject({ workflow: { id: "buy" }, score: 1 });
  expect(bestMatch("buy a laptop", flows)).toMatchObject({ workflow: { id: "buy" }, score: 3 / 4 });
  expect(bestMatch("the report of all sites", flows)).toMatchObject({ workflow: { id: "report" }, score: 5 / 6 });
  expect(bestMatch("hello", flows)).toBeUndefined();
  expect(bestMatch("...", flows)).toBeUndefined();
  expect(bestMatch("buy a new laptop", [head("buy", { phrases: ["buy a new laptop"], broken: true })])).toBeUndefined();
  expect(bestMatch("Übergabe für Zoë", [head("x", { phrases: ["übergabe FÜR zoë"] })])?.score).toBe(1);
});

it("takes no time for a message of any size", () => {
  expect(bestMatch("a ".repeat(5_000_000), [head("x", { phrases: ["a"] })])).toBeUndefined();
});

it("WF-11 fills inputs from the message by their names and says which are missing", () => {
  const workflow = head("x", {
    inputSchema: {
      message: { type: "string", required: true },
      sender: { type: "string" },
      channel: { type: "string" },
      chatId: { type: "string" },
      size: { type: "number", required: true, default: 3 },
      other: { type: "string", required: true },
      free: { type: "string" },
    },
  });
  expect(inputsOf(workflow, { text: "hi", sender: { id: "u1" }, channel: "chat", chat: "c7" })).toEqual({
    input: { message: "hi", sender: "u1", channel: "chat", chatId: "c7" },
    missing: ["other"],
  });
  expect(inputsOf(head("y", { inputSchema: { sender: { type: "string", required: true } } }), { text: "hi", channel: "http", chat: "c" }).missing).toEqual([
    "sender",
  ]);
});
