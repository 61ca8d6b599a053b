import { describe, expect, it } from "vitest";
import cli from "./cli.ts";

describe("svc mcp", () => {
  it("refuses to start without an agent, before anything is loaded", async () => {
    const [command] = cli.commands;
    await expect(command?.run([], {}, {} as never)).rejects.toThrow("--agent");
  });
});
