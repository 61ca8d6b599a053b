import { expect, it } from "vitest";
import { traitsOf } from "../failure.ts";
import { createToolServers } from "./tool-servers.ts";
import { vendorFailure } from "./vendor-failure.ts";

it.each([
  ["context", 400, "prompt is too long: 214135 tokens > 200000 maximum"],
  ["context", 0, "The input token count (1214135) exceeds the maximum number of tokens allowed (1048576)."],
  ["context", 0, "Codex ran out of room in the model's context window."],
  ["auth", 403, "no"],
  ["billing", 400, "Your credit balance is too low to access the API."],
  ["rate-limit", 429, "slower"],
  ["overloaded", 529, "Overloaded"],
  ["server", 500, "Internal error"],
  ["request", 400, "messages: must not be empty"],
  ["network", 0, "connect ECONNREFUSED 127.0.0.1:9"],
  ["engine", 0, "something else"],
])("ENG-13 tells %s by status %i and words", (kind, status, message) => {
  expect(vendorFailure({ status, message })).toMatchObject({ type: "error", kind, message });
});

it("ENG-13 tells the wait that a vendor asks for, and a conversation that is lost with its session", () => {
  expect(vendorFailure({ status: 429, message: "Please try again in 11.5s." })).toMatchObject({ retryAfterMs: 11_500 });
  expect(vendorFailure({ status: 429, message: "retry after 2 minutes" })).toMatchObject({ retryAfterMs: 120_000 });
  expect(vendorFailure({ status: 400, message: "try again in 3s" })).not.toHaveProperty("retryAfterMs");
  expect(traitsOf(vendorFailure({ status: 413, message: "too big" }))).toEqual({ retryable: false, sessionLost: true });
});

it("ENG-13 an answer that broke off is told from a vendor that was never reached", () => {
  expect(vendorFailure({ status: 500, message: "terminated", said: true }).kind).toBe("cut");
  expect(vendorFailure({ status: 500, message: "terminated" }).kind).toBe("network");
});

it("ENG-5 a tool server that does not start is told once, until it starts or fails in another way", () => {
  const lines: object[] = [];
  const log = { debug() {}, info() {}, error() {}, warn: (facts: object | string) => void lines.push(facts as object) };
  const servers = createToolServers(log, "tier test");
  expect(servers.failed("ada", "notes", "no such file")).toEqual([
    { type: "step", step: { id: "server notes", name: "mcp notes", phase: "end", error: "The tool server 'notes' did not start: no such file" } },
  ]);
  expect(servers.failed("ada", "notes", "no such file")).toEqual([]);
  expect(servers.failed("bob", "notes", "no such file")).toHaveLength(1);
  servers.started("ada", "notes");
  expect(servers.failed("ada", "notes", "no such file")).toHaveLength(1);
  expect(lines).toHaveLength(3);
});
