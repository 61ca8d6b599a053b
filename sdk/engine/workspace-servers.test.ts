import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { workspaceServers } from "./workspace-servers.ts";

let workspace = "";
let file = "";
beforeEach(() => {
  workspace = mkdtempSync(join(tmpdir(), "svc-servers-"));
  file = join(workspace, ".mcp.json");
});
afterEach(() => rmSync(workspace, { recursive: true, force: true }));

describe("the tool servers of a workspace", () => {
  it("are those of its file, with the task for programs; entries without a place are passed over", async () => {
    const mcpServers = { files: { command: "files", args: [1], env: { A: "b" } }, far: { url: "https://far.example/mcp" }, odd: {} };
    writeFileSync(file, JSON.stringify({ mcpServers }));
    expect(await workspaceServers(workspace, "t1")).toEqual([
      { name: "files", command: "files", args: ["1"], env: { A: "b", SVC_TASK_ID: "t1" } },
      { name: "far", url: "https://far.example/mcp" },
    ]);
  });

  it.each(["{", "[]", " ".repeat(2_000_000)])("are none where the file cannot be read as such", async (text) => {
    writeFileSync(file, text);
    expect(await workspaceServers(workspace)).toEqual([]);
  });

  it("are none where an agent has put a pipe or a device there, and no run waits for it", async () => {
    const servers = () => Promise.race([workspaceServers(workspace), sleep(5_000, "still reading", { ref: false })]);
    expect(await servers()).toEqual([]);
    execFileSync("mkfifo", [file]);
    expect(await servers()).toEqual([]);
    rmSync(file);
    symlinkSync("/dev/zero", file);
    expect(await servers()).toEqual([]);
  });
});
