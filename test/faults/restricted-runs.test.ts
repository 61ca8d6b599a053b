import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Plugin, Spawn } from "@svc/sdk";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import cliA from "../../plugins/tiers/cli-a/index.ts";
import { createStage, type Stage } from "../peers/stage.ts";

/** A program that asks the guard's hook before it writes a file, writes it only where that allows it, and then ends the turn. */
const PROGRAM = `#!${process.execPath}
import { writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
if (process.argv.includes("--help")) {
  const options = ["--tools", "--setting-sources", "--strict-mcp-config", "--disable-slash-commands", "--permission-mode"];
  process.stdout.write(options.map((option) => "  " + option + " <x>\\n").join("") + '  (choices: "dontAsk")\\n', () => process.exit(0));
}
const out = (message) => process.stdout.write(JSON.stringify(message) + "\\n");
const over = (result) => out({ type: "result", subtype: "success", result, session_id: "s", is_error: false });
let guarded = false;
createInterface({ input: process.stdin }).on("line", (line) => {
  const message = JSON.parse(line);
  if (message.type === "control_request" && message.request.subtype === "initialize") {
    guarded = message.request.hooks !== null;
    out({ type: "control_response", response: { subtype: "success", request_id: message.request_id, response: {} } });
  }
  if (message.type === "user") {
    out({ type: "system", subtype: "init", session_id: "s" });
    if (!guarded) return over("free " + process.pid);
    const input = { tool_name: "Bash", tool_input: { command: process.env.FAKE_COMMAND } };
    out({ type: "control_request", request_id: "h1", request: { subtype: "hook_callback", callback_id: "guard", input } });
  }
  if (message.type === "control_response" && message.response.request_id === "h1") {
    const { permissionDecision } = message.response.response.hookSpecificOutput;
    if (permissionDecision === "allow") writeFileSync("made", "");
    over(permissionDecision + " " + process.pid);
  }
});
`;

let folder: string;
let stage: Stage;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "svc-guard-down-"));
  writeFileSync(join(folder, "fake.mjs"), PROGRAM, { mode: 0o755 });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterEach(() => stage.dispose());

const settings = { billing: "api", permissionMode: "bypassPermissions" };

async function report(command: string, around: (spawn: Spawn) => Spawn = (spawn) => spawn) {
  const config = { command: join(folder, "fake.mjs"), env: { FAKE_COMMAND: command }, guard: { wall: "off" } };
  stage = await createStage(cliA as unknown as Plugin<never>, { config, env: () => ({ ANTHROPIC_API_KEY: "dummy-key" }), around });
  return stage.run("look", { settings, turn: { autonomy: "report" } });
}

it("FAULT-75 while the guard is up, its hook decides: what reads runs, what writes is denied, and the run goes on", async () => {
  expect((await report("ls")).at(-1)).toMatchObject({ type: "done" });
  expect(existsSync(join(stage.workspace, "made"))).toBe(true);
  await stage.dispose();
  const events = await report("touch other");
  expect(events.filter(({ type }) => type === "blocked")).toMatchObject([{ tool: "Bash" }]);
  expect(events.at(-1)).toMatchObject({ type: "done" });
  expect(existsSync(join(stage.workspace, "made"))).toBe(false);
});

it("FAULT-75 with the guard's endpoint down in the middle of a restricted run, the call is not made and the run ends as an error", async () => {
  const cut =
    (spawn: Spawn): Spawn =>
    (command, args, options) => {
      const child = spawn(command, args, options);
      const write = async (data: string) => {
        if (data.includes("hookSpecificOutput")) throw new Error("EPIPE");
        return child.write(data);
      };
      return Object.create(child, { write: { value: write } });
    };
  const events = await report("ls", cut);
  expect(events.at(-1)).toMatchObject({ type: "error", message: expect.stringContaining("the guard of this restricted run is down") });
  expect(existsSync(join(stage.workspace, "made"))).toBe(false);
  expect(stage.processes()).toEqual([]);
});

it("SES-09 a restricted run takes no warm process, leaves none, and the warm one stays as it was", async () => {
  await report("ls");
  const warm = { ...settings, persistentProcess: true };
  expect((await stage.run("free", { settings: warm })).at(-1)).toMatchObject({ type: "done" });
  const kept = stage.processes();
  expect(kept).toHaveLength(1);
  for (const autonomy of ["report", "propose"] as const) {
    const during: number[] = [];
    const events = await stage.run("look", { settings: warm, turn: { autonomy }, session: "s", listen: () => during.push(...stage.processes()) });
    expect(events.at(-1)).toMatchObject({ type: "done" });
    expect(during.filter((pid) => !kept.includes(pid)).length).toBeGreaterThan(0);
    expect(stage.processes()).toEqual(kept);
  }
});
