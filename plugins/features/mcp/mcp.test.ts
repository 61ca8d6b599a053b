import { createFakeContext } from "@svc/sdk/testing";
import { describe, expect, it } from "vitest";
import cli from "./cli.ts";
import { answer } from "./http-answer.ts";
import { claimsOf } from "./server.ts";

describe("svc mcp", () => {
  it("demands an agent before anything is loaded", () => {
    const [command] = cli.commands;
    expect(command?.options).toContainEqual(expect.objectContaining({ flags: "--agent <id>", required: true }));
  });

  it("tells with each call where it runs: task, session and process", () => {
    expect(claimsOf({}, 7)).toEqual({ "x-svc-pid": "7" });
    const env = { SVC_TASK_ID: "task_1", CLAUDE_CODE_SESSION_ID: "a2e2-1", SVC_SESSION_ID: "" };
    expect(claimsOf(env, 7)).toEqual({ "x-svc-pid": "7", "x-svc-task": "task_1", "x-svc-session": "a2e2-1" });
    expect(claimsOf({ ...env, SVC_SESSION_ID: "own" }, 7)).toMatchObject({ "x-svc-session": "own" });
    // A header cannot carry it, and no daemon gave it out.
    expect(claimsOf({ SVC_TASK_ID: "a\r\nx: y" }, 7)).toEqual({ "x-svc-pid": "7" });
  });
});

it.each([
  ["a result that is cut", async () => `${"a".repeat(39_999)}😀${"b".repeat(100)}`],
  ["a result of half a pair", async () => "half \ud83d"],
  ["an error", async () => Promise.reject(new Error(`${"a".repeat(39_999)}😀${"b".repeat(100)}`))],
])("no tool's answer holds half a pair, which programs that read UTF-8 do not take: %s", async (_what, run) => {
  const request = (method: string, params: object) => ({ jsonrpc: "2.0", id: 1, method, params });
  const { text } = await answer({
    agent: "ada",
    tools: { list: async () => [], run },
    log: createFakeContext({ kind: "feature", name: "x", version: "1.0.0", svc: "*", setup() {} } as never).log,
    signal: new AbortController().signal,
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream", "mcp-protocol-version": "2025-06-18" },
    body: request("tools/call", { name: "read", arguments: {} }),
  });
  const told: unknown[] = typeof text === "string" ? [JSON.parse(text)] : [];
  if (typeof text !== "string") for await (const message of text) told.push(message);
  const [content] = (told.at(-1) as { result: { content: { text: string }[] } }).result.content;
  expect(content?.text.isWellFormed()).toBe(true);
  expect(content?.text.length).toBeLessThan(40_020);
});
