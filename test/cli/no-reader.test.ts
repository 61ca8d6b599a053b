import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ROOT } from "../house/house.ts";
import { packPackage } from "../kit/pack.ts";
import { openShell, type Shell } from "../kit/svc.ts";
import { shellWith, write } from "./plugin.harness.ts";

/** The exit code of a command whose output has no reader, as behind `head` that has seen enough. */
async function unread(shell: Shell, ...args: string[]): Promise<number | null> {
  const child = spawn(process.execPath, [join(ROOT, "cli/bin/svc.cjs"), ...args], {
    cwd: shell.folder,
    env: { ...process.env, SVC_CONFIG: "" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  child.stdout.destroy();
  child.stderr.destroy();
  const [code] = await once(child, "exit");
  return code;
}

it("svc plugin add does its work to the end where nobody reads what it shows", async () => {
  const shell = await shellWith();
  write(shell, "acme", "setup() {}");
  expect(await unread(shell, "plugin", "add", packPackage(join(shell.folder, "acme"), shell.folder), "--yes")).toBe(0);
  expect(shell.config().plugins).toEqual(["svc-plugin-acme"]);
  expect(await shell.json("plugin", "inspect", "svc-plugin-acme")).toMatchObject({ id: "feature-acme" });
});

it("words on standard error that nobody reads end no command", async () => {
  const shell = await openShell();
  expect(await unread(shell, "setup", "--yes", "--tier", "local", "--no-start")).toBe(0);
  expect(shell.config()).toMatchObject({ agents: { assistant: { tier: "local" } } });
});
