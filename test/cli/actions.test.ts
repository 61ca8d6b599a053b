import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it, vi } from "vitest";
import { ROOT } from "../house/house.ts";
import { sharedLines } from "../kit/lines.ts";
import { echoConfig, openShell, type Shell } from "../kit/svc.ts";

/** The commands of many lines, in one process. */
const lines = sharedLines();
const shells: Shell[] = [];
afterEach(async () => {
  for (const shell of shells.splice(0)) await shell.end();
});

it("SEC-m8 an action that turns up while the daemon runs is told, one that others can write is not run, and one that fails says with which code and why", async () => {
  const shell = await openShell();
  shells.push(shell);
  shell.write(echoConfig());
  await shell.svc("daemon", "start");
  const folder = join(shell.folder, ".svc/actions");
  mkdirSync(folder, { mode: 0o700 });
  writeFileSync(join(folder, "planted.json"), JSON.stringify({ kind: "shell", command: "echo ran" }), { mode: 0o600 });
  await vi.waitFor(async () => expect((await lines(shell).svc("daemon", "logs")).out).toContain("the action planted is new or has changed"), {
    timeout: 20_000,
    interval: 50,
  });
  expect(await shell.svc("actions", "run", "planted")).toMatchObject({ code: 0, out: "ran\n" });
  chmodSync(join(folder, "planted.json"), 0o622);
  expect(await lines(shell).svc("actions", "run", "planted")).toMatchObject({ out: "", err: expect.stringContaining("other users can write") });
  expect((await lines(shell).svc("daemon", "logs")).out).toContain("is not run: other users can write");
  // One that fails says with which code it ended, and why.
  await lines(shell).svc("actions", "add", "fails", "--command", "echo no such city >&2; exit 3");
  expect(await lines(shell).svc("actions", "run", "fails")).toMatchObject({ code: 1, err: "svc: The action fails ended with 3: no such city\n" });
});

it("ACT-03 the default root, and a relative one, is the folder of svc.json, wherever the daemon was started", async () => {
  const shell = await openShell();
  shells.push(shell);
  shell.write(echoConfig());
  writeFileSync(join(shell.folder, "notes.md"), "mine\n");
  for (const roots of ["", "sub"]) {
    mkdirSync(join(shell.folder, roots), { recursive: true });
    const child = spawn(process.execPath, [join(ROOT, "cli/bin/svc.cjs"), "daemon", "start", "--foreground", "--config", join(shell.folder, "svc.json")], {
      cwd: "/",
      env: { ...process.env, SVC_CONFIG: "", SVC_BUILTIN_FILE_ROOTS: roots },
      stdio: "ignore",
    });
    const ended = once(child, "exit");
    await vi.waitFor(() => expect(shell.pid()).toBe(child.pid), { timeout: 20_000 });
    const read = (path: string) => lines(shell).svc("actions", "run", "file.read_lines", `path=${path}`);
    expect(await read("/etc/passwd")).toMatchObject({ code: 1, err: expect.stringContaining(`used here: ${join(shell.folder, roots)}.`) });
    const line = { path: "log.jsonl", record: { a: 1 } };
    expect(await shell.ask("/api/actions/builtin/file.write_jsonl", line)).toMatchObject({ status: "ok" });
    expect(readFileSync(join(shell.folder, roots, "log.jsonl"), "utf8")).toBe('{"a":1}\n');
    if (roots === "") expect(await read("notes.md")).toMatchObject({ code: 0, out: expect.stringContaining("mine") });
    await shell.end();
    await ended;
  }
  expect(existsSync("/log.jsonl")).toBe(false);
});
