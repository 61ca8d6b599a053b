import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { temporaryFolder } from "../kit/kernel.ts";
import { sharedLines } from "../kit/lines.ts";
import { echoConfig, openShell, type Shell } from "../kit/svc.ts";

/** The commands of many lines, in one process. */
const lines = sharedLines();
let shell: Shell;
/** Runs a line in the process that stays; it is a part of the session of this one, too. */
let line: Pick<Shell, "svc" | "json">;
let settings: string;
beforeEach(async () => {
  const home = await temporaryFolder();
  settings = join(home, "settings.json");
  shell = await openShell({ CLAUDE_CONFIG_DIR: home });
  line = lines(shell, { CLAUDE_CONFIG_DIR: home });
  shell.write(echoConfig());
  expect((await shell.svc("daemon", "start")).code).toBe(0);
});
afterEach(() => shell.end());

/** Calls the installed script as the program of a session does; `pid` is that program. */
function hook(event: string, session: string, pid: number): Promise<{ code: number | null; out: string }> {
  return new Promise((resolve) => {
    const child = spawn("/bin/sh", [join(shell.folder, ".svc/attach/hook.sh"), event], { env: { PATH: process.env.PATH, CLAUDE_PID: String(pid) } });
    let out = "";
    child.stdout.on("data", (chunk) => {
      out += chunk;
    });
    child.stdin.end(JSON.stringify({ session_id: session, cwd: "/work", source: "startup" }));
    child.on("close", (code) => resolve({ code, out }));
  });
}

describe("svc attach", () => {
  it("binds the session that it runs in, or one that is named; shows and releases it", async () => {
    expect(await shell.svc("attach", "install")).toMatchObject({ code: 0, out: expect.stringContaining(settings) });
    expect(await line.svc("attach", "list")).toMatchObject({ code: 0, out: expect.stringContaining("svc attach install") });
    // This process stands for the program: what it starts runs in its session.
    expect(await hook("session-start", "s-1", process.pid)).toEqual({ code: 0, out: "" });
    expect(await shell.svc("attach", "echo", "--mode", "notify")).toMatchObject({ code: 0, out: "Session s-1 wears echo (notify).\n" });
    expect(JSON.parse((await hook("session-start", "s-1", process.pid)).out)).toMatchObject({
      systemMessage: expect.stringContaining("wearing echo (notify)"),
    });
    expect(await line.json("attach", "list")).toMatchObject([{ session: "s-1", pid: process.pid, agent: "echo", mode: "notify", depth: 0, wakeable: false }]);
    expect(await shell.svc("attach", "detach")).toMatchObject({ code: 0, out: "echo answers by its own engine again.\n" });
    expect(await line.svc("attach", "detach")).toMatchObject({ code: 1, err: expect.stringContaining("Nothing is bound") });
    expect(await line.svc("attach", "echo", "--session", "s-1")).toMatchObject({ code: 0, out: expect.stringContaining("(manual)") });
    expect(await line.svc("attach", "detach", "echo")).toMatchObject({ code: 0 });
    expect(await line.svc("attach", "nobody")).toMatchObject({ err: expect.stringContaining("svc agent list") });
    expect((await line.svc("attach", "echo", "--mode", "loud")).code).toBe(2);
  });

  it("says in which session it should run where it runs in none, and what is missing where there is none", async () => {
    expect(await line.svc("attach", "echo")).toMatchObject({ err: expect.stringContaining("svc attach install") });
    await line.svc("attach", "install");
    const other = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" });
    try {
      await hook("session-start", "s-2", other.pid as number);
      // No terminal to ask at.
      expect(await line.svc("attach", "echo")).toMatchObject({ err: expect.stringContaining("--session") });
      expect(await line.json("attach", "list")).toMatchObject([{ session: "s-2" }]);
    } finally {
      other.kill("SIGKILL");
    }
  });

  it("installs into the project's own local settings, and removes what it has written", async () => {
    mkdirSync(join(shell.folder, ".claude"));
    const local = join(shell.folder, ".claude/settings.local.json");
    const before = '{ "permissions": { "allow": [] } }\n';
    writeFileSync(local, before);
    expect((await line.svc("attach", "install", "--project")).code).toBe(0);
    expect(Object.keys(JSON.parse(readFileSync(local, "utf8")).hooks)).toHaveLength(4);
    expect(await line.svc("attach", "install", "--project")).toMatchObject({ out: expect.stringContaining("has them already") });
    expect((await line.svc("attach", "install", "--project", "--remove")).code).toBe(0);
    expect(readFileSync(local, "utf8")).toBe(before);
    writeFileSync(local, "{ broken");
    expect(await line.svc("attach", "install", "--project")).toMatchObject({ code: 2, err: expect.stringContaining("left as it is") });
  });
});
