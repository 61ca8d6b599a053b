import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Autonomy, decide } from "./guard.ts";

let folder: string;
let workspace: string;
beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "svc-guard-")));
  workspace = join(folder, "workspace");
  mkdirSync(join(workspace, "src"), { recursive: true });
  mkdirSync(join(workspace, ".git", "hooks"), { recursive: true });
  mkdirSync(join(folder, "other"));
  writeFileSync(join(workspace, "notes.md"), "");
  symlinkSync(join(folder, "other"), join(workspace, "elsewhere"));
  symlinkSync(join(folder, "not-there"), join(workspace, "dangling"));
  symlinkSync(join(workspace, ".git"), join(workspace, "innocent"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const ask = (autonomy: Autonomy, tool: string, input: Record<string, unknown>) => decide(autonomy, { tool, input, workspace });
const shell = (autonomy: Autonomy, command: string) => ask(autonomy, "Bash", { command });

describe("CRON-08 report allows only what is known to read", () => {
  it.each([
    "ls -la",
    "cat a.txt | grep -n 'x y' | head -5",
    "git status && git log --oneline -5",
    "git -C src diff --stat",
    "git branch -a",
    "git stash list",
    "find . -name '*.ts' -type f",
    'grep -rn "a > b" src 2>/dev/null',
    "wc -l src/*.ts",
    "sed -n '5,10p' notes.md",
    "ls 2>&1",
    "date +%F; pwd",
    "sort notes.md | uniq -c",
    "gh pr view 12",
    "jq '.a | {b}' x.json # what is in it",
    "cat <<'E'\nplain $(words)\nE",
    "echo 'rm -rf /'",
  ])("%s", async (command) => {
    expect(await shell("report", command)).toEqual({ allow: true, reason: "" });
  });

  it.each([
    "touch x",
    "echo x > notes.md",
    "echo x >> notes.md",
    "echo x &> notes.md",
    "echo x >| notes.md",
    "ls > /dev/tcp/example.org/80",
    "cat a; rm b",
    "cat a && rm b",
    "cat a || rm b",
    "cat a & rm b",
    "cat a\nrm b",
    "cat a | tee b",
    "ls $(touch x)",
    "ls `touch x`",
    'echo "$(touch x)"',
    "cat <(touch x)",
    "(rm x)",
    "{ rm x; }",
    "if true; then rm x; fi",
    "for f in *; do rm $f; done",
    "find . -delete",
    "find . -exec rm {} +",
    "find . -{delete,x}",
    "find *",
    "sort -o notes.md notes.md",
    "sort -ro notes.md notes.md",
    "sort --outp=notes.md notes.md",
    "uniq a b",
    "tree -o x",
    "date -s 2020-01-01",
    "hostname evil",
    "rg --pre ./run x",
    "sed -i s/a/b/ notes.md",
    "sed -n 'w x' notes.md",
    "awk 'BEGIN{system(\"rm x\")}'",
    "git commit -m x",
    "git push origin main",
    "git -c core.pager='rm x' log",
    "git diff --output=x",
    "git grep -Orm x",
    "git branch new",
    "git config user.name x",
    "git fetch",
    "env rm x",
    "env -S 'rm x'",
    "sudo ls",
    "xargs rm",
    "PATH=.:$PATH ls",
    "./ls",
    "/tmp/ls",
    "alias ls=rm",
    "ls() { rm x; }; ls",
    'python3 -c \'open("x","w")\'',
    "node -e 1",
    "curl https://example.org",
    "gh pr merge 12",
    "gh api repos/x -X DELETE",
    "npm test",
    "ls 'unfinished",
    "cat <<E\n$(touch x)\nE",
    "cat <<E\nno end",
    "echo $'\\x72m'",
    "printf -v 'a[$(touch x)]' y",
    "[ -v 'a[$(touch x)]' ]",
    "",
  ])("not %s", async (command) => {
    expect(await shell("report", command)).toMatchObject({ allow: false, reason: expect.stringContaining("autonomy 'report' does not allow Bash") });
  });

  it.each(["Read", "Glob", "Grep", "WebSearch", "Task", "TodoWrite"])("the tool %s", async (tool) => {
    expect((await ask("report", tool, {})).allow).toBe(true);
  });

  it.each(["Write", "Edit", "NotebookEdit", "Skill", "Monitor", "CronCreate", "mcp__any__read", "mcp__forge__list_issues", "SomethingNew", ""])(
    "not the tool '%s'",
    async (tool) => {
      expect((await ask("report", tool, { file_path: join(workspace, "x") })).allow).toBe(false);
    },
  );

  it.each([
    ["https://example.org/a", true],
    ["http://localhost:3030/task", false],
    ["http://127.0.0.1/", false],
    ["http://2130706433/", false],
    ["http://[::1]/", false],
    ["http://10.0.0.8/", false],
    ["http://router/", false],
    ["file:///etc/passwd", false],
    ["nonsense", false],
  ])("fetching %s: %s", async (url, allow) => {
    expect((await ask("report", "WebFetch", { url })).allow).toBe(allow);
  });
});

describe("CRON-08 propose allows all but what is known to go further", () => {
  it.each([
    "npm test && npm run build",
    "echo x > notes.md",
    "echo x > src/new.ts",
    "mkdir -p src/deep && touch src/deep/x",
    "cd src && echo x > here.ts",
    "git add -A && git commit -m \"$(cat <<'E'\nFix it; then rm nothing\nE\n)\"",
    "git push -u origin feature/x",
    "git push origin HEAD:refs/heads/feature/x",
    "git checkout -b feature/y",
    "git merge-base main HEAD",
    "gh pr create --title x --body y",
    "gh pr view 3",
    "glab mr create",
    "docker ps",
    "kubectl get pods",
    "timeout 5 node script.mjs",
    "for f in a b; do echo $f; done",
    "curl -s https://example.org/x",
    "grep -rn deploy .",
    "env A=1 npm test",
    "git rm old.ts",
  ])("%s", async (command) => {
    expect(await shell("propose", command)).toEqual({ allow: true, reason: "" });
  });

  it.each([
    "rm x",
    "/bin/rm -rf x",
    "sudo ls",
    "git push",
    "git push origin",
    "git push origin main",
    "git push origin HEAD",
    "git push origin feature/x:main",
    "git push origin Main",
    "git push origin release/1.0",
    "git push --force origin feature/x",
    "git push -f origin feature/x",
    "git push --force-with-lease origin feature/x",
    "git push origin +feature/x",
    "git push origin :feature/x",
    "git push --delete origin feature/x",
    "git push --all origin",
    "git push --mirror origin",
    "git -C . push origin main",
    "git -c alias.p='!rm x' p",
    "git --exec-path=. status",
    "git p origin",
    "git merge main",
    "git branch -D feature/x",
    "git tag -d v1",
    "git reset --hard HEAD~1",
    "git clean -fd",
    "git config alias.x '!rm y'",
    "git remote set-url origin evil",
    "git stash clear",
    "git rebase -x 'rm y' main",
    "gh pr merge 3 --squash",
    "gh api -X DELETE repos/a/b",
    "gh release create v1",
    "glab mr merge 3",
    "glab mr approve 3",
    "kubectl delete pod x",
    "docker run x",
    "terraform apply",
    "ssh host uptime",
    "systemctl restart x",
    "npm publish",
    "npm run deploy:prod",
    "make release",
    "env rm x",
    "env -S 'rm x'",
    "env --split-string='rm x'",
    "env -u A B=1 rm x",
    "nohup rm x",
    "timeout 5 rm x",
    "timeout -k 1 5 rm x",
    "nice -n 5 rm x",
    "xargs -n 1 rm",
    "command rm x",
    "exec rm x",
    "bash -c 'rm x'",
    'bash -lc "git push origin main"',
    "sh -c 'bash -c \"rm x\"'",
    "eval 'rm x'",
    "find . -delete",
    "find . -name x -exec rm {} \\;",
    "echo x; rm y",
    "echo $(rm x)",
    'echo "`rm x`"',
    "cat <(rm x)",
    "(cd src && rm x)",
    "if true; then rm x; fi",
    "for f in *; do rm $f; done",
    "while true; do rm x; done",
    "! rm x",
    "$CMD x",
    "cat <<E\n$(rm x)\nE",
    "echo x > ../other/y",
    "echo x > /etc/passwd",
    "echo x > ~/.profile",
    "echo x > $HOME/x",
    "echo x > elsewhere/y",
    "echo x > dangling",
    "echo x > .git/hooks/pre-commit",
    "echo x > innocent/hooks/pre-commit",
    "cd .git && echo x > config",
    "cd $D && echo x > y",
    "tee .mcp.json",
    "cp x ../other/",
    "mv x /tmp/y",
    "ln -s / .claude",
    "sed -i s/a/b/ ../other/x",
    "curl -X DELETE https://example.org/x",
    "curl -XPUT https://example.org/x",
    "curl http://127.0.0.1:3030/task",
    "curl localhost:3030/task",
    "svc daemon stop",
    "PATH=. ls",
    "GIT_SSH_COMMAND='rm x' git fetch",
    "export BASH_ENV=x",
    "env LD_PRELOAD=./x.so ls",
    "git bisect run rm x",
    "\\rm x",
    "r''m x",
    "echo 'unfinished",
    "case x in x) rm y;; esac",
    "f() { rm x; }; f",
  ])("not %s", async (command) => {
    expect(await shell("propose", command)).toMatchObject({ allow: false, reason: expect.stringContaining("autonomy 'propose' does not allow Bash") });
  });

  it.each([
    ["Write", "src/new.ts", true],
    ["Edit", "notes.md", true],
    ["Write", "../other/x", false],
    ["Write", "elsewhere/x", false],
    ["Write", "dangling", false],
    ["Write", "innocent/config", false],
    ["Write", ".git/hooks/pre-commit", false],
    ["Edit", ".claude/settings.json", false],
    ["Write", ".mcp.json", false],
    ["Write", "/etc/passwd", false],
  ])("%s %s: %s", async (tool, path, allow) => {
    const file_path = path.startsWith("/") ? path : join(workspace, path);
    expect((await ask("propose", tool, { file_path })).allow).toBe(allow);
  });

  it.each([
    ["mcp__forge__create_merge_request", false],
    ["mcp__forge__list_issues", true],
    ["mcp__forge__deletePage", false],
    ["mcp__ops__restart", false],
    ["CronCreate", false],
    ["Task", true],
  ])("the tool %s: %s", async (tool, allow) => {
    expect((await ask("propose", tool, {})).allow).toBe(allow);
  });
});

it("CRON-08 act is not guarded", async () => {
  expect((await shell("act", "rm -rf /")).allow).toBe(true);
});

it("CRON-08 refuses what it cannot judge", async () => {
  expect(await decide("propose", { tool: "Write", input: { file_path: "a\0b" }, workspace })).toMatchObject({
    allow: false,
    reason: expect.stringContaining("cannot be judged"),
  });
});
