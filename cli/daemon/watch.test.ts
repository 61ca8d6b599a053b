import { expect, it } from "vitest";
import { lineOf } from "./watch.ts";

it("an event is one line, whatever a plugin writes into it", () => {
  const event = {
    at: "2026-03-01T12:00:00.000Z",
    kind: "agent",
    type: "acme:seen\n12:00:01",
    summary: "Seen\n12:00:02  agent    task:failed",
    agentId: "ada\r\n",
  };
  expect(lineOf(event)).toBe("12:00:00  agent    acme:seen 12:00:01 Seen 12:00:02 agent task:failed  agent=ada");
});
