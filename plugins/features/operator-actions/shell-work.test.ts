import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Definition, parseDefinition } from "./definition.ts";
import { fillShell, type ShellWork } from "./shell-work.ts";

const exec = promisify(execFile);
const SHELLS = ["/bin/sh", "/bin/bash"].filter(existsSync);
const inputs = [{ name: "x" }, { name: "y" }];
const shell = (command: string, more: Record<string, unknown> = {}): Definition & { work: ShellWork } =>
  parseDefinition("test", { kind: "shell", command, inputs, ...more }) as Definition & { work: ShellWork };
const fill = (command: string, values: Record<string, string>, env: Record<string, string> = {}, more: Record<string, unknown> = {}) =>
  fillShell(shell(command, more).work, new Map(Object.entries(values)), (name) => env[name]);

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "actions-"));
});
afterAll(() => rm(folder, { recursive: true }));
const ENV = { PATH: "/usr/bin:/bin", LC_ALL: "C.UTF-8" };
const maxBuffer = 64 * 1024 * 1024;
const run = async (sh: string, command: string, env: Readonly<Record<string, string>> = {}) =>
  (await exec(sh, ["-c", command], { cwd: folder, env: { ...ENV, ...env }, maxBuffer })).stdout;

/** Words and signs that mean something to a shell, and some that mean nothing. */
const nasty = fc
  .array(
    fc.constantFrom(
      ..."'\"`$\\\n\r\t ;&|<>(){}[]*?!#~=%^-,:@+._",
      ..."aZ09é漢🙂\u202e\u200b\u2028\ufeff",
      "{{y}}",
      "${HOME}",
      "$HOME",
      "$(touch pwned)",
      "`touch pwned`",
      ";touch pwned;",
      "\ntouch pwned\n",
      "'; touch pwned; '",
      "'\\''",
      "\\'",
      "-rf",
      "--",
      "<<EOF",
      "&&",
      "||",
    ),
    { maxLength: 12 },
  )
  .map((parts) => parts.join(""));

it.each(SHELLS)("FAULT-56 ACT-08 brings 10,000 nasty values through %s unchanged, and runs no second command", async (sh) => {
  const values = fc.sample(nasty, { numRuns: 10_000, seed: 56 });
  expect(new Set(values).size).toBeGreaterThan(5_000);
  const { work } = shell("printf '%s\\0' {{x}} a{{y}}b");
  for (let at = 0; at < values.length; at += 500) {
    const batch = values.slice(at, at + 500);
    const commands = batch.map(
      (value) =>
        fillShell(
          work,
          new Map([
            ["x", value],
            ["y", value],
          ]),
          () => undefined,
        ).command,
    );
    const out = (await run(sh, commands.join("\n"))).split("\0");
    expect(out.slice(0, -1)).toEqual(batch.flatMap((value) => [value, `a${value}b`]));
  }
  expect(await readdir(folder)).toEqual([]);
});

it.each(SHELLS)("FAULT-56 lets no value act in %s whatever command the author wrote around it, if the command is accepted", async (sh) => {
  const scraps = fc.array(
    fc.constantFrom(
      ..."'\"\\\n #;&|()$`{}=a",
      "{{x}}",
      "{{x}}",
      "echo ",
      "${HOME}",
      "${a:-",
      "$(",
      "<<a",
      "[[",
      "((",
      "case a in a)",
      ";;",
      "esac",
      "\\\n",
      "$'",
    ),
    {
      minLength: 1,
      maxLength: 10,
    },
  );
  const value = `'"$(touch pwned)\`touch pwned\`'$(touch pwned)"\ntouch pwned\n;touch pwned #'\\''$(touch pwned)`;
  const accepted: string[] = [];
  for (const parts of fc.sample(scraps, { numRuns: 6_000, seed: 8 })) {
    const command = parts.join("");
    if (!command.includes("{{x}}") || !command.trim()) continue;
    try {
      accepted.push(fill(command, { x: value }).command);
    } catch {
      continue;
    }
    if (accepted.length === 400) break;
  }
  expect(accepted.length).toBeGreaterThan(200);
  /** Runs each in a shell of its own, started by one that costs less to start from, and tells whether any value acted. */
  const acts = async (commands: readonly string[]) => {
    await exec(sh, ["-c", `for each do ${sh} -c "$each"; done; true`, sh, ...commands], { cwd: folder, env: ENV, maxBuffer });
    const files = await readdir(folder);
    for (const file of files) await rm(join(folder, file), { recursive: true });
    return files.includes("pwned");
  };
  for (let at = 0; at < accepted.length; at += 40) {
    const batch = accepted.slice(at, at + 40);
    if (!(await acts(batch))) continue;
    for (const command of batch) expect(await acts([command]), JSON.stringify(command)).toBe(false);
    expect.fail(`one of these acts: ${JSON.stringify(batch)}`);
  }
});

it.each([
  ["echo '{{x}}'", "single quotes"],
  ['echo "{{x}}"', "double quotes"],
  ['echo "a" "b {{x}}"', "double quotes"],
  ["echo 'it'\\''s {{x}}'", "single quotes"],
  ['echo "\\"{{x}}"', "double quotes"],
  ["echo \\{{x}}", "backslash"],
  ["echo hi # {{x}}", "comment"],
  ["echo hi \\\n# {{x}}", "comment"],
  ["echo hi\\\n#' {{x}}'", "single quotes"],
  ["echo `echo {{x}}`", "quoting rules of its own"],
  ["echo $(echo {{x}})", "quoting rules of its own"],
  ["echo $(date) {{x}}", "quoting rules of its own"],
  ["cat <<EOF\n{{x}}\nEOF", "quoting rules of its own"],
  ["echo ${a:-{{x}}}", "quoting rules of its own"],
  ["echo $((1 + {{x}}))", "quoting rules of its own"],
  ["echo ${{x}}", "quoting rules of its own"],
  ["echo $'{{x}}'", "quoting rules of its own"],
  ["[[ {{x}} -eq 1 ]]", "quoting rules of its own"],
  ["echo 'open {{x}}", "quoting rules of its own"],
  ["eval {{x}}", "eval"],
  ["true; eval echo {{x}}", "eval"],
  ["trap {{x}} EXIT", "eval"],
])("FAULT-56 refuses %j at load, naming the place", (command, words) => {
  expect(() => shell(command)).toThrow(
    expect.objectContaining({ code: "SVC_OPERATOR_ACTION_INVALID", field: "command", message: expect.stringContaining(words) }),
  );
});

it.each([
  "echo {{x}}",
  "echo a{{ x }}b",
  "X={{x}} env",
  "echo 'a'{{x}}\"b\"",
  "echo {{x}} $(date)",
  "echo a#{{x}}",
  'echo "$HOME" {{x}}',
  "echo {{x}} > out # done",
])("accepts %j", (command) => {
  expect(shell(command).work.kind).toBe("shell");
});

it("ACT-08 makes each value one argument and looks at no value twice", async () => {
  const { command } = fill("printf '<%s>' {{x}} {{y}}", { x: "; rm -rf x", y: "{{x}} ${HOME}" });
  expect(await run("/bin/sh", command)).toBe("<; rm -rf x><{{x}} ${HOME}>");
});

it("ACT-08 gives the daemon's variables to the child and lets the shell expand them, unread, in every quoting", async () => {
  const secret = `a  "b" 'c' $(touch pwned) \`touch pwned\``;
  const { command, env } = fill("printf '<%s>' ${API_KEY} \"${API_KEY}\" '${API_KEY}' \\${API_KEY}", {}, { API_KEY: secret });
  expect(command).not.toContain("pwned");
  expect(env).toEqual({ API_KEY: secret });
  expect(await run("/bin/sh", command, env)).toBe(`<${secret}><${secret}><${secret}><\${API_KEY}>`);
});

it("leaves a variable that the daemon has not, or that the author sets, to the shell", async () => {
  const loop = fill("for f in 1 2; do printf '<%s>' ${f}; done", {}, {});
  expect(await run("/bin/sh", loop.command, loop.env)).toBe("<1><2>");
  const own = fill("printf '<%s>' ${WHO}", { x: "$(touch pwned)" }, { WHO: "daemon" }, { env: { WHO: "{{x}} and ${WHO}" } });
  expect(own.env).toEqual({ WHO: "$(touch pwned) and daemon" });
});

it("reads ${NAME} in an input's value as text", () => {
  expect(fill("echo {{x}}", { x: "${API_KEY}" }, { API_KEY: "secret" })).toEqual({ command: "echo '${API_KEY}'", env: {} });
});
