import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createFakeContext } from "@svc/sdk/testing";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hookAnswer } from "./claude.ts";
import { decide, type GuardOptions } from "./guard.ts";
import { type Judged, printShell, readShell, Unreadable } from "./guard-tree.ts";
import plugin from "./index.ts";
import { vendorAccess } from "./vendor.ts";

let folder: string;
let workspace: string;
beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "svc-guard-")));
  workspace = join(folder, "workspace");
  mkdirSync(join(workspace, "src"), { recursive: true });
  mkdirSync(join(folder, "other"));
  writeFileSync(join(folder, "other", "secret.txt"), "");
  writeFileSync(join(workspace, "notes.md"), "");
  writeFileSync(join(workspace, "svc.json"), "{}");
  symlinkSync(join(folder, "other"), join(workspace, "elsewhere"));
  symlinkSync(join(folder, "not-there"), join(workspace, "dangling"));
  execFileSync("git", ["init", "-q", workspace]);
  symlinkSync(join(workspace, ".git"), join(workspace, "innocent"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const ask = (autonomy: "report" | "propose", tool: string, input: Record<string, unknown>, change: Partial<GuardOptions> = {}) =>
  decide(
    {
      autonomy,
      writable: autonomy === "propose",
      level: { kind: "narrow", reason: "" },
      workspace,
      folders: [],
      servers: [],
      searchPath: "/usr/bin:/bin",
      scratch: join(folder, "scratch"),
      ...change,
    },
    { tool, input },
  );
const shell = (autonomy: "report" | "propose", command: string) => ask(autonomy, "Bash", { command });

describe("CRON-08 report allows only what is known to read", () => {
  // The corpus in test/faults holds the forms by the hundred; these are the shortest of each class that once got through.
  it.each([
    ["ENG-1", "echo x | uniq - /tmp/outside"],
    ["SEC-S3", "cat <<EF\nE\\\nF\ntouch PWNED\nEF"],
    ["SEC-S3", "cat <<A\n$\\\n(touch PWNED)\nA"],
    ["SEC-S3", "sort --random-source -- -o notes.md a.txt"],
    ["SEC-S3", "rg -e -- --pre rm . notes.md"],
    ["SEC-S3", "tree -P -- -o X"],
    ["SEC-S3", "tree -Po x out"],
    ["SEC-S3", "file -F -- -C -m magic.src"],
    ["SEC-S3", "git diff --no-index -S -- --output=X a b"],
    ["SEC-S3", "find . {{a},-delete}"],
    ["SEC-S3", "find . -{d\\\nelete,true}"],
    ["SEC-S3", "cat < /dev/tcp/127.0.0.1/80"],
    ["SEC-S3", "cat notes.md > copy"],
    ["SEC-S3", "sed -n 1p notes.md --expression='w X'"],
    ["SEC-S3", "./ls"],
    ["SEC-S3", "cat elsewhere/secret.txt"],
    ["SEC-S3", "cat elsewhere/../other/secret.txt"],
    ["SEC-S3", "cat svc.json"],
    ["SEC-S3", "cat /proc/self/environ"],
    ["SEC-S3", "ls && cd elsewhere"],
    ["SEC-S3", ""],
    ["SEC-S3", "ls\u0000"],
    ["SEC-S3", `echo ${"x".repeat(8000)}`],
  ])("%s not %s", async (_, command) => {
    expect(await shell("report", command)).toMatchObject({ allow: false, reason: expect.stringContaining("autonomy 'report' does not allow Bash") });
  });

  it("ENG-2 git runs on a shadow of the repository, with settings of ours, wherever it is told to be", async () => {
    const { allow, input } = await shell("report", "git -C src status");
    expect(allow).toBe(true);
    expect(input?.command).toMatch(/'\/usr\/bin\/env' '-i' .*'GIT_DIR=.*scratch.*'GIT_WORK_TREE=/);
    expect(input?.command).toContain("'GIT_CONFIG_NOSYSTEM=1'");
    expect((await shell("report", "GIT_DIR=x git status")).allow).toBe(false);
    expect((await shell("report", "git -c core.fsmonitor=x status")).allow).toBe(false);
  });

  it("SEC-S3 what runs is printed anew: the model's own text is not in it", async () => {
    const { input } = await ask("report", "Bash", {
      command: 'cat  "notes.md"|head   -1 # words',
      description: "look",
      dangerouslyDisableSandbox: true,
      timeout: 5,
    });
    expect(input).toMatchObject({ description: "look", timeout: 5 });
    expect(input).not.toHaveProperty("dangerouslyDisableSandbox");
    expect(input?.command).not.toContain("# words");
    expect(input?.command).toContain("'--noprofile' '--norc' '-c'");
  });

  it.each([
    ["Read", { file_path: "notes.md" }, true],
    ["Read", { file_path: "/proc/self/environ" }, false],
    ["Read", { file_path: "elsewhere/secret.txt" }, false],
    ["Read", { file_path: "svc.json" }, false],
    ["Task", {}, true],
    ["Write", { file_path: "notes.md" }, false],
    ["WebFetch", { url: "https://example.org" }, false],
    ["Skill", {}, false],
    ["mcp__any__read", {}, false],
    ["SomethingNew", {}, false],
    ["toString", {}, false],
    ["", {}, false],
  ])("the tool %s %j: %s", async (tool, input, allow) => {
    expect((await ask("report", tool, input)).allow).toBe(allow);
  });

  it("finds the programs of a tool chain in guard.folders behind the wall", async () => {
    const level = { kind: "wall", bubblewrap: { bwrap: "/usr/bin/bwrap", ownProcesses: true } } as const;
    const { input } = await ask("report", "Bash", { command: "node --version" }, { level, folders: ["/opt/node"] });
    expect(input?.command).toMatch(/'--setenv' 'PATH' '[^']*:\/opt\/node\/bin'/);
    expect(input?.command).toContain("'--ro-bind' '");
  });

  it("reads what guard.folders names", async () => {
    expect((await ask("report", "Read", { file_path: join(folder, "other/secret.txt") }, { folders: [join(folder, "other")] })).allow).toBe(true);
    expect((await ask("report", "Bash", { command: "cat elsewhere/secret.txt" }, { folders: [join(folder, "other")] })).allow).toBe(true);
  });
});

describe("CRON-08 propose", () => {
  it.each([
    "git add notes.md && git commit -m 'Say why'",
    "git switch -c feature/x",
    "mkdir -p src/deep && touch src/deep/x",
    "cp notes.md src/copy.md",
    "git status",
  ])("without a wall: %s", async (command) => {
    expect(await shell("propose", command)).toMatchObject({ allow: true });
  });

  it.each([
    ["SEC-S5", "git push origin feature/x"],
    ["SEC-S5", "git push origin feature/x:heads/main"],
    ["SEC-S5", "A='rm x'; eval \"$A\""],
    ["SEC-S5", "bash -c -- 'rm x'"],
    ["SEC-S5", "timeout --signal KILL 5 rm x"],
    ["SEC-S5", "cp -t ../other f"],
    ["SEC-S5", "cp notes.md elsewhere/x"],
    ["SEC-S5", "cp notes.md dangling"],
    ["SEC-S5", "mv notes.md .git/hooks/pre-commit"],
    ["SEC-S5", "mv innocent moved"],
    ["SEC-S5", "cp -r src copied && touch copied/l/x"],
    ["SEC-S5", "touch elsewhere/../other/x"],
    ["SEC-S5", "git config core.pager 'rm x'"],
    ["SEC-S5", "npm test"],
  ])("%s not without a wall: %s", async (_, command) => {
    expect(await shell("propose", command)).toMatchObject({ allow: false });
  });

  it("a commit goes into the real repository, and a new branch is the real one's", async () => {
    const repository = join(folder, "repository");
    execFileSync("git", ["init", "-q", "-b", "main", repository]);
    execFileSync("git", ["-C", repository, "config", "user.name", "svc"]);
    execFileSync("git", ["-C", repository, "config", "user.email", "svc@localhost"]);
    execFileSync("git", ["-C", repository, "config", "filter.evil.clean", `touch ${join(folder, "EXECUTED")}; cat`]);
    writeFileSync(join(repository, ".gitattributes"), "* filter=evil\n");
    writeFileSync(join(repository, "one.txt"), "words\n");
    execFileSync("git", ["-C", repository, "commit", "-q", "--allow-empty", "-m", "first"]);
    const { input, reason } = await ask(
      "propose",
      "Bash",
      { command: "git switch -c feature/x && git add one.txt && git commit -q -m 'Say why'" },
      { workspace: repository, scratch: join(folder, "scratch") },
    );
    expect(reason).toBe("");
    execFileSync("bash", ["-c", String(input?.command)], { cwd: repository });
    const git = (...args: string[]) => execFileSync("git", ["-C", repository, ...args], { encoding: "utf8" }).trim();
    expect(git("symbolic-ref", "HEAD")).toBe("refs/heads/feature/x");
    expect(git("log", "--format=%s %an", "-1")).toBe("Say why svc");
    expect(git("show", "--name-only", "--format=")).toBe("one.txt");
    expect(() => realpathSync(join(folder, "EXECUTED"))).toThrow();
  });

  it.each([
    ["Write", "src/new.ts", true],
    ["Edit", "notes.md", true],
    ["Write", "../other/x", false],
    ["Write", "elsewhere/x", false],
    ["Write", "elsewhere/../other/x", false],
    ["Write", "dangling", false],
    ["Write", "innocent/config", false],
    ["Write", ".git/hooks/pre-commit", false],
    ["Edit", ".claude/settings.json", false],
    ["Write", ".mcp.json", false],
    ["Write", "/etc/passwd", false],
    ["Write", "a\0b", false],
    ["Write", "", false],
  ])("%s %s: %s", async (tool, path, allow) => {
    expect((await ask("propose", tool, { file_path: path })).allow).toBe(allow);
    expect((await ask("propose", tool, { file_path: path }, { writable: false })).allow).toBe(false);
  });

  it.each([
    ["mcp__forge__list_issues", true],
    ["mcp__forge__create_merge_request", false],
    ["mcp__forge__deletePage", false],
    ["mcp__ops__restart", false],
  ])("the tool %s of a server that it was given: %s", async (tool, allow) => {
    expect((await ask("propose", tool, {}, { servers: ["forge", "ops"] })).allow).toBe(allow);
    expect((await ask("propose", tool, {})).allow).toBe(false);
    expect((await ask("report", tool, {}, { servers: ["forge", "ops"] })).allow).toBe(false);
  });
});

describe("SEC-S3 what is printed is what was judged", () => {
  const runs = Number(process.env.SVC_GUARD_TEXTS ?? 1500);
  const signs = [..."ab c'\"\\$`\n{}()<>;&|*?[]~#!=-/.%\t", "é", "😀", "''", "&&", "||", "2>&1", ">/dev/null", "\\\n", "< f"];

  it(`bash reads the words of ${runs} random texts as the tree has them`, { timeout: 3_600_000 }, () => {
    const texts = fc.sample(
      fc.array(fc.constantFrom(...signs), { minLength: 1, maxLength: 12 }).map((parts) => parts.join("")),
      { numRuns: runs, seed: 7 },
    );
    const printed: string[] = [];
    const expected: string[] = [];
    for (const text of texts) {
      let commands: Judged[];
      try {
        commands = readShell(text).flatMap(({ commands: found }) => found.map(({ words }) => ({ words: words.map((word) => word.text), redirects: [] })));
      } catch (error) {
        expect(error).toBeInstanceOf(Unreadable);
        continue;
      }
      for (const { words } of commands) {
        printed.push(printShell([{ joint: ";", commands: [{ words: ["printf", "%s\\0", ...words, "\u0001"], redirects: [] }] }]));
        expected.push(...words, "\u0001");
      }
    }
    expect(printed.length).toBeGreaterThan(runs / 20);
    const said: string[] = [];
    for (let at = 0; at < printed.length; at += 500) {
      const script = printed.slice(at, at + 500).join("\n");
      said.push(
        ...execFileSync("bash", ["--noprofile", "--norc", "-s"], { input: script, encoding: "utf8", maxBuffer: 1 << 28 })
          .split("\0")
          .slice(0, -1),
      );
    }
    expect(said).toEqual(expected);
  });

  it("a text is read or refused, whatever it is", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 60 }), (text) => {
        try {
          readShell(text);
        } catch (error) {
          if (!(error instanceof Unreadable)) throw error;
        }
      }),
      { numRuns: 2000 },
    );
  });
});

describe("the hook's answer", () => {
  it("always holds a decision", () => {
    expect(hookAnswer({ allow: true, reason: "" })).toEqual({ hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision: "allow" } });
    expect(hookAnswer({ allow: false, reason: "why" })).toEqual({
      hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision: "deny", permissionDecisionReason: "why" },
    });
  });
});

describe("the key outside the wall", () => {
  const env = { ANTHROPIC_API_KEY: "sk-secret", ANTHROPIC_BASE_URL: "https://vendor.example/base", HTTPS_PROXY: "http://proxy:1", NO_PROXY: "other", FOO: "1" };

  it("SEC-S3 the program gets a placeholder and the relay's address, the relay the key", () => {
    const lent = vendorAccess({ billing: "api" }, env, 8008);
    if (typeof lent === "string") throw new Error(lent);
    expect(JSON.stringify(lent.env)).not.toMatch(/sk-secret|vendor\.example|proxy/);
    expect(lent.env).toMatchObject({ ANTHROPIC_BASE_URL: "http://127.0.0.1:8008", FOO: "1" });
    expect(lent.vendor).toMatchObject({ base: "https://vendor.example/base", headers: { "x-api-key": "sk-secret" }, proxy: "http://proxy:1" });
  });

  it("a sign-in that cannot be lent is named", () => {
    expect(vendorAccess({ billing: "subscription" }, {}, 1)).toContain("CLAUDE_CODE_OAUTH_TOKEN");
    expect(vendorAccess({ billing: "api" }, { ...env, CLAUDE_CODE_USE_BEDROCK: "1" }, 1)).toContain("CLAUDE_CODE_USE_BEDROCK");
  });
});

describe("POST /guard/check", () => {
  it("CRON-08 judges by the narrower boundary where the program is missing, and denies what it cannot judge", async () => {
    const agents = [
      { id: "ada", workspace },
      { id: "ben", workspace: join(folder, "nowhere") },
    ];
    const context = createFakeContext(plugin as never, { config: { command: "/no/such/program" }, env: { PATH: "/usr/bin:/bin" }, agents });
    plugin.setup(context as never);
    const check = async (agent: string, command: string) =>
      (await context.request("POST", "/guard/check", { body: { agent, autonomy: "report", tool: "Bash", input: { command } } })).body;
    expect(await check("ada", "ls")).toEqual({ decision: "allow", reason: "", guard: "narrow" });
    expect(await check("ada", "touch x")).toMatchObject({ decision: "deny", reason: expect.stringContaining("touch"), guard: "narrow" });
    expect(await check("ben", "ls")).toMatchObject({ decision: "deny", reason: expect.stringContaining("cannot be judged") });
    const { entries } = (await context.request("GET", "/guard/log")).body as { entries: unknown[] };
    expect(entries).toMatchObject([{ agent: "ada", autonomy: "report", tool: "Bash", guard: "narrow" }, { agent: "ben" }]);
  });
});
