import { describe, expect, it } from "vitest";
import cli from "./cli.ts";

describe("svc mcp", () => {
  it("demands an agent before anything is loaded", () => {
    const [command] = cli.commands;
    expect(command?.options).toContainEqual(expect.objectContaining({ flags: "--agent <id>", required: true }));
  });
});
