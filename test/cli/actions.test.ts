import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it, vi } from "vitest";
import { echoConfig, openShell, type Shell } from "../kit/svc.ts";

const shells: Shell[] = [];
afterEach(async () => {
  for (const shell of shells.splice(0)) await shell.end();
});

it("SEC-m8 an action that turns up while the daemon runs is told, and one that others can write is not run", async () => {
  const shell = await openShell();
  shells.push(shell);
  shell.write(echoConfig());
  await shell.svc("daemon", "start");
  const folder = join(shell.folder, ".svc/actions");
  mkdirSync(folder, { mode: 0o700 });
  writeFileSync(join(folder, "planted.json"), JSON.stringify({ kind: "shell", command: "echo ran" }), { mode: 0o600 });
  await vi.waitFor(async () => expect((await shell.svc("daemon", "logs")).out).toContain("the action planted is new or has changed"), { timeout: 20_000 });
  expect(await shell.svc("actions", "run", "planted")).toMatchObject({ code: 0, out: "ran\n" });
  chmodSync(join(folder, "planted.json"), 0o622);
  expect(await shell.svc("actions", "run", "planted")).toMatchObject({ out: "", err: expect.stringContaining("other users can write") });
  expect((await shell.svc("daemon", "logs")).out).toContain("is not run: other users can write");
});

it("a shell action that fails says with which code it ended, and why", async () => {
  const shell = await openShell();
  shells.push(shell);
  shell.write(echoConfig());
  await shell.svc("daemon", "start");
  await shell.svc("actions", "add", "fails", "--command", "echo no such city >&2; exit 3");
  expect(await shell.svc("actions", "run", "fails")).toMatchObject({ code: 1, err: "svc: The action fails ended with 3: no such city\n" });
});
