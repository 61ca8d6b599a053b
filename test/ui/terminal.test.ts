import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it, vi } from "vitest";
import { ROOT, read } from "../house/house.ts";
import { temporaryFolder } from "../kit/kernel.ts";
import { drawTerminals, type Shown } from "./kit/terminal-picture.ts";
import { shots } from "./kit/views.ts";

/** Where the README's pictures go: `npm run screenshots` says `docs/images`; other runs leave those as they are. */
const FOLDER = process.env.SVC_UI_PICTURES ?? shots();
/** What a terminal obeys and a picture does not show. */
const CONTROL = /\u001b\[[0-?]*[ -/]*[@-~]|\r/g;
const NOTE = 'echo "The garden gate opens at seven." > workspace/garden.md';
const QUESTION = 'svc daemon send assistant "When does the garden gate open?"';

const ends: (() => void)[] = [];
afterAll(() => {
  for (const end of ends.splice(0)) end();
});

/** Runs a line of a shell in a pseudo terminal, made by script(1), and keeps what it shows with the time. */
function inTerminal(line: string, { folder, home, bin }: { folder: string; home: string; bin: string }): { shown: Shown[]; ended: Promise<unknown> } {
  const env = { HOME: home, PATH: `${bin}:${process.env.PATH}`, SHELL: "/bin/sh", TERM: "xterm-256color", LANG: "C.UTF-8" };
  const child = spawn("script", ["-q", "-e", "-f", "-c", `stty rows 30 cols 96; ${line}`, "/dev/null"], { cwd: folder, env, detached: true });
  const shown: Shown[] = [];
  const began = Date.now();
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    shown.push({ at: Date.now() - began, text: text.replace(CONTROL, "").replaceAll(home, "/home/ada") });
  });
  const ended = new Promise((resolve) => child.once("close", resolve));
  ends.push(() => {
    try {
      process.kill(-(child.pid as number), "SIGKILL");
    } catch {
      // It has ended.
    }
  });
  return { shown, ended };
}

const textOf = (shown: readonly Shown[]): string => shown.map(({ text }) => text).join("");

describe("the recording of a terminal in the README", () => {
  it("shows the first start and an answer, as the program says them", async () => {
    const home = await temporaryFolder();
    const [folder, bin] = [join(home, "my-bot"), join(home, "bin")];
    for (const path of [folder, bin]) mkdirSync(path);
    writeFileSync(join(bin, "svc"), `#!/bin/sh\nexec "${process.execPath}" "${join(ROOT, "cli/bin/svc.cjs")}" "$@"\n`, { mode: 0o755 });
    const at = { folder, home, bin };
    const daemon = inTerminal("svc start", at);
    await vi.waitFor(() => expect(textOf(daemon.shown)).toContain('"message":"hello"}'), { timeout: 60_000, interval: 50 });
    const started = daemon.shown.slice();
    const noted = inTerminal(NOTE, at);
    await noted.ended;
    const asked = inTerminal(QUESTION, at);
    await asked.ended;
    expect(textOf(started)).toContain("is up on http://127.0.0.1:");
    // As it was called: npx is for who started it from a clone.
    expect(textOf(started)).toMatch(/^ {2}svc daemon send assistant "hello"$/m);
    expect(textOf(asked.shown)).toContain("The garden gate opens at seven.");
    const picture = drawTerminals(
      [
        { title: "my-bot: svc start", steps: [{ command: "svc start", shown: started }] },
        {
          title: "my-bot: another terminal",
          steps: [
            { command: NOTE, shown: noted.shown },
            { command: QUESTION, shown: asked.shown },
          ],
        },
      ],
      "A terminal: svc start, then a question to the agent from another terminal",
    );
    mkdirSync(FOLDER, { recursive: true });
    writeFileSync(join(FOLDER, "terminal.svg"), picture);
    expect(picture).toContain(">svc start</text>");
    expect(picture).not.toContain(home);
  });

  it("is small, needs nothing from elsewhere, and shows what the README shows", () => {
    const picture = readFileSync(join(ROOT, "docs/images/terminal.svg"), "utf8");
    expect(picture.length).toBeLessThan(30_000);
    expect(picture).not.toMatch(/<script|<image|@import|url\(|href/);
    expect(picture).toContain(">svc start</text>");
    expect(picture).toContain("The garden gate opens at seven.");
    expect(read("README.md")).toContain("(docs/images/terminal.svg)");
  });
});
