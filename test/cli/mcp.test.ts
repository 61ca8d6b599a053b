import { spawn } from "node:child_process";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { ROOT } from "../house/house.ts";
import { temporaryFolder } from "../kit/kernel.ts";
import { echoConfig, openShell, type Shell } from "../kit/svc.ts";

const shells: Shell[] = [];
afterEach(async () => {
  for (const shell of shells.splice(0)) await shell.end();
});

/** Writes frames, closes the input at once, and waits for the end. */
async function talk(cwd: string, config: string, agent: string, frames: readonly object[]) {
  const child = spawn(process.execPath, [join(ROOT, "cli/bin/svc.cjs"), "mcp", "--agent", agent], { cwd, env: { ...process.env, SVC_CONFIG: config } });
  let out = "";
  let err = "";
  child.stdout.on("data", (chunk) => {
    out += chunk;
  });
  child.stderr.on("data", (chunk) => {
    err += chunk;
  });
  child.stdin.end(frames.map((frame) => `${JSON.stringify(frame)}\n`).join(""));
  const code = await new Promise((resolve) => child.once("close", resolve));
  const answers = out
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as { id: number; result?: { tools?: { name: string }[]; content?: { text: string }[]; isError?: boolean } });
  return { code, err, answers };
}

const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } },
};
const initialized = { jsonrpc: "2.0", method: "notifications/initialized" };
const list = { jsonrpc: "2.0", id: 2, method: "tools/list", params: {} };
const call = { jsonrpc: "2.0", id: 3, method: "tools/call", params: { name: "svc_events", arguments: {} } };

describe("svc mcp", () => {
  it("ENG-5 OPR-m11 finds its daemon from any folder, answers what came before the end of its input, and ends with 0", async () => {
    const shell = await openShell();
    shell.write(echoConfig({ subscriptions: [{ kinds: ["agent"], delivery: "pull" }] }));
    shells.push(shell);
    expect((await shell.svc("daemon", "start")).code).toBe(0);
    const { code, err, answers } = await talk(await temporaryFolder(), join(shell.folder, "svc.json"), "echo", [initialize, initialized, list, call]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    // Requests are answered as they finish, which JSON-RPC allows; each once.
    expect(answers.map(({ id }) => id).sort()).toEqual([1, 2, 3]);
    const answerTo = (wanted: number) => answers.find(({ id }) => id === wanted)?.result;
    expect(answerTo(2)?.tools?.map(({ name }) => name)).toContain("svc_events");
    expect(answerTo(3)?.content).toBeDefined();
    expect(answerTo(3)?.isError ?? false).toBe(false);

    const nobody = await talk(shell.folder, "", "nobody", [initialize, initialized, call]);
    expect(nobody).toMatchObject({ code: 1, err: expect.stringContaining("nobody") });
    expect(nobody.answers.at(-1)?.result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining("nobody") }] });
  });

  it("OPR-m11 says on standard error that no daemon answers, and ends with 69", async () => {
    const shell = await openShell();
    shell.write(echoConfig({}, {}));
    const { code, err } = await talk(shell.folder, "", "echo", [initialize]);
    expect({ code, err }).toEqual({ code: 69, err: expect.stringContaining("svc daemon start") });
  });
});
