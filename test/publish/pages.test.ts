import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { tracked } from "../house/house.ts";
import { readPage } from "./page.ts";
import { registryMissing } from "./registry.ts";
import { type Machine, nodeOf, openMachine } from "./release.harness.ts";
import type { Released } from "./released.ts";

const missing = registryMissing() ?? (nodeOf(24) === undefined ? "there is no Node.js 24 here (npm ci --prefix test/publish/registry)" : undefined);
if (missing !== undefined) console.warn(`The pages are not tried: ${missing}`);

const PAGES = tracked(".md").filter((path) => /^(docs\/|sdk\/README|kernel\/README)/.test(path) || !path.includes("/"));
const withCommands = PAGES.filter((path) => readPage(path).script !== "");
const exceptions = PAGES.flatMap((path) => readPage(path).exceptions);

it("few blocks of the pages are not run as they stand there, each for a reason", () => {
  console.log(exceptions.join("\n"));
  expect(withCommands).toEqual(["README.md", "docs/first-bot.md", "docs/operations.md", "docs/workflows.md", "sdk/README.md"]);
  expect(exceptions.length).toBeLessThanOrEqual(20);
});

describe.skipIf(missing !== undefined)("each command of a page, top to bottom, in an empty folder of a machine that has only Node.js", () => {
  let home: string;
  let installed: string | undefined;
  beforeAll(() => {
    home = mkdtempSync(join(tmpdir(), "svc-pages-"));
  });
  afterAll(() => rmSync(home, { recursive: true, force: true }));

  it.each(withCommands)("%s", async (path) => {
    const { script, files } = readPage(path);
    const machine = openMachine(mkdtempSync(join(home, "machine-")), inject("released") as Released, nodeOf(24) as string, join(home, "cache"));
    const blocks = join(machine.home, "blocks");
    mkdirSync(blocks);
    for (const [name, text] of Object.entries(files)) writeFileSync(join(blocks, name), text);
    // A page that takes an installation for granted has one that an earlier page has made: the same files in a folder of its own.
    if (!script.includes("npm install -g @svc/cli")) {
      if (installed === undefined) await machine.npm("install", "--global", "@svc/cli");
      else execFileSync("cp", ["-al", `${installed}/.`, machine.prefix]);
    }
    const { code, said } = await runScript(machine, `${script}\ncd "$OLDPWD" 2> /dev/null || true\n`, { PAGE_BLOCKS: blocks });
    await stopDaemons(machine);
    expect(code, said).toBe(0);
    installed ??= machine.prefix;
    if (path === "docs/first-bot.md") expect(said).toMatch(/garden gate opens at seven/);
  });
});

function runScript(machine: Machine, script: string, env: Readonly<Record<string, string>>): Promise<{ code: number | null; said: string }> {
  return new Promise((resolve) => {
    const options = { cwd: machine.folder, env: { ...machine.env, ...env }, detached: true };
    const child = spawn("sh", ["-e", "-x", "-c", script], { ...options, stdio: ["ignore", "pipe", "pipe"] });
    let said = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk) => {
        said += chunk;
      });
    const late = setTimeout(() => process.kill(-(child.pid as number), "SIGTERM"), 240_000);
    // A command that stays keeps the output open.
    child.on("exit", (code) => {
      clearTimeout(late);
      resolve({ code, said });
    });
  });
}

/** Whatever daemon a page has left, in the folder of the page or in one that it made. */
async function stopDaemons({ folder, env }: Machine): Promise<void> {
  const script = 'for file in svc.json */svc.json; do if [ -f "$file" ]; then svc --config "$file" daemon stop --now || true; fi; done';
  await new Promise((resolve) => spawn("sh", ["-c", script], { cwd: folder, env, stdio: "ignore" }).on("close", resolve));
}
