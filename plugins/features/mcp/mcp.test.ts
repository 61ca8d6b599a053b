import { describe, expect, it } from "vitest";
import cli from "./cli.ts";
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
