import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it, vi } from "vitest";
import { ROOT } from "../house/house.ts";
import { echoConfig, openShell } from "../kit/svc.ts";

// Two starts of a daemon each, in a terminal, on a machine that does other things.
vi.setConfig({ testTimeout: 120_000 });

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

/** A command of `svc` in a pseudo terminal of its own, made by script(1). */
function startInTerminal(folder: string, command = "start", given: Readonly<Record<string, string>> = {}) {
  const line = `exec '${process.execPath}' '${join(ROOT, "cli/bin/svc.cjs")}' ${command}`;
  const env = { PATH: process.env.PATH ?? "", SHELL: "/bin/sh", TERM: "xterm", LANG: "C.UTF-8", ...given };
  const child = spawn("script", ["-q", "-e", "-f", "-c", line, "/dev/null"], { cwd: folder, env, stdio: ["pipe", "pipe", "pipe"], detached: true });
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  ends.push(() => {
    try {
      process.kill(-(child.pid as number), "SIGKILL");
    } catch {
      // It has ended.
    }
  });
  return { said: () => said, type: (text: string) => child.stdin.write(text), ended };
}

it("a daemon in a terminal restarts there, as a channel that was added asks for, and Ctrl-C ends it", async () => {
  const shell = await openShell();
  shell.write(echoConfig());
  const terminal = startInTerminal(shell.folder);
  const ups = () => terminal.said().split("Try it from another terminal").length - 1;
  await vi.waitFor(() => expect(ups()).toBe(1), { timeout: 60_000 });
  const first = shell.pid();
  expect(await shell.svc("daemon", "restart")).toMatchObject({ code: 0, out: expect.stringContaining("The daemon has restarted") });
  await vi.waitFor(() => expect(ups()).toBe(2), { timeout: 60_000 });
  expect(shell.pid()).not.toBe(first);
  expect(await shell.svc("daemon", "send", "echo", "still here")).toMatchObject({ code: 0, out: expect.stringContaining("still here") });
  terminal.type("\u0003");
  expect(await terminal.ended).toBe(0);
  expect(await shell.svc("daemon", "status")).toMatchObject({ code: 69 });
});

it("svc daemon stop ends one that has restarted in its terminal", async () => {
  const shell = await openShell();
  shell.write(echoConfig());
  const terminal = startInTerminal(shell.folder);
  await vi.waitFor(() => expect(terminal.said()).toContain("Try it from another terminal"), { timeout: 60_000 });
  expect(await shell.svc("daemon", "restart")).toMatchObject({ code: 0 });
  expect(await shell.svc("daemon", "stop")).toMatchObject({ code: 0 });
  expect(await terminal.ended).toBe(0);
});

it("Ctrl-C in the editor of a memory is the editor's: the command waits for it", async () => {
  const shell = await openShell();
  shell.write(echoConfig());
  expect(await shell.svc("daemon", "start")).toMatchObject({ code: 0 });
  ends.push(() => void shell.end());
  // As vi does: it takes the signal, goes on, and writes the file when it is told to.
  const editor = join(shell.folder, "editor.sh");
  writeFileSync(editor, 'trap "echo interrupted" INT\necho ready\nread told || read told\necho "$told" > "$1"\n');
  const terminal = startInTerminal(shell.folder, "agent memory edit echo MEMORY.md", { EDITOR: `sh ${editor}` });
  await vi.waitFor(() => expect(terminal.said()).toContain("ready"), { timeout: 30_000 });
  terminal.type("\u0003");
  await vi.waitFor(() => expect(terminal.said()).toContain("interrupted"), { timeout: 30_000 });
  terminal.type("kept\n");
  expect(await terminal.ended).toBe(0);
  expect(terminal.said()).toContain("MEMORY.md of echo is written.");
  expect(readFileSync(join(shell.folder, "w/MEMORY.md"), "utf8")).toBe("kept\n");
  await shell.end();
});
