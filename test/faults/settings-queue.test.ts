import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { editFile } from "@svc/kernel";
import { afterEach, expect, it } from "vitest";
import { ROOT } from "../house/house.ts";
import { temporaryFolder } from "../kit/kernel.ts";
import { openShell, type Shell } from "../kit/svc.ts";
import { action, lay } from "./isolation.harness.ts";

/** Changes at once, and kills of a writer; SVC_SOAK for more of both. */
const CHANGES = Number(process.env.SVC_SOAK ?? 64);
const KILLS = Number(process.env.SVC_SOAK ?? 3);

const shells: Shell[] = [];
const children: ChildProcess[] = [];
afterEach(async () => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  for (const shell of shells.splice(0)) await shell.end();
});

const NUMBERS = 'schema: { type: "object", additionalProperties: { type: "integer" } }';
const section = (name: string) => ({ plugin: `config: { at: "${name}", ${NUMBERS} },`, manifest: { section: name, activate: "section" } });

/** Sets `<section>.k0` to `<section>.k<n - 1>`, all asked for at once, and counts those that are done. */
const changing = (name: string) => `let done = 0; const failed = [];
  ${action(
    `${name}.change`,
    `for (let i = 0; i < input.n; i += 1)
      ctx.settings.change([{ path: ["${name}", "k" + i], value: i }], { by: "${name} " + i }).then(() => { done += 1; }, (error) => failed.push(error.message));
    return {};`,
  )}
  ${action(`${name}.state`, "return { done, failed };")}
  return { async reload() {} };`;

/** Odd, as a person may have written it; what is added comes before the ends of the sections. */
const text = `{
\t"node": {"id": "test",   "name": "Test", "bind": "127.0.0.1:0"},
\t"agents": { "echo": { "name": "Echo", "workspace": "./w", "tier": "local",
\t\t"local": { "mode": "echo" }, "systemPrompt": "\${GREETING} \u00fc \\u00fc" } },
\t"plugins": [ "./hands", "process:./hooks", "./plain" ],
\t"hands": {},
\t"hooks": {"first": 1},
\t"plain": {
\t\t"first": 1
\t}
}
`;

const keysOf = (n: number): Record<string, number> => Object.fromEntries(Array.from({ length: n }, (_, i) => [`k${i}`, i]));

/** Reads the file as fast as it can until `end`, and answers how often; throws at the first torn text, lost reference or lost edit. */
async function readAlong(file: string, end: () => boolean): Promise<number> {
  let reads = 0;
  let most = 0;
  let seen = "";
  while (!end()) {
    const now = readFileSync(file, "utf8");
    // Each text is judged once: most reads find the one before.
    if (now !== seen) {
      const { agents, hands, hooks, plain } = JSON.parse(now);
      expect(agents.echo.systemPrompt).toBe("${GREETING} ü ü");
      const count = [hands, hooks, plain].flatMap((one) => Object.keys(one)).length;
      expect(count).toBeGreaterThanOrEqual(most);
      most = count;
      seen = now;
    }
    reads += 1;
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  return reads;
}

it(`the daemon, an isolated plugin and the command line change svc.json ${CHANGES} times at once: no edit is lost, no reader sees a torn file`, {
  timeout: 120_000 + CHANGES * 1_200,
}, async () => {
  const shell = await openShell({ GREETING: "hello" });
  shells.push(shell);
  const file = join(shell.folder, "svc.json");
  lay(shell.folder, { name: "hands", capabilities: ["settings", "all-settings"], setup: changing("hands"), ...section("hands") });
  lay(shell.folder, { name: "hooks", capabilities: ["settings"], setup: changing("hooks"), ...section("hooks") });
  lay(shell.folder, { name: "plain", setup: "", ...section("plain") });
  writeFileSync(file, text, { mode: 0o600 });
  expect(await shell.svc("daemon", "start")).toMatchObject({ code: 0 });
  const { port } = JSON.parse(readFileSync(join(shell.folder, ".svc/daemon.json"), "utf8"));
  const call = async (name: string, input: object = {}) => {
    const headers = { "content-type": "application/json" };
    const response = await fetch(`http://127.0.0.1:${port}/api/actions/builtin/${name}`, { method: "POST", headers, body: JSON.stringify(input) });
    return ((await response.json()) as { output: { done: number; failed: string[] } }).output;
  };

  const byHand = Math.max(4, Math.floor(CHANGES / 16));
  const [byDaemon, byPlugin] = [Math.ceil((CHANGES - byHand) / 2), Math.floor((CHANGES - byHand) / 2)];
  let ended = false;
  const reading = readAlong(file, () => ended);
  await Promise.all([call("hands.change", { n: byDaemon }), call("hooks.change", { n: byPlugin })]);
  let next = 0;
  const person = async () => {
    for (let i = next++; i < byHand; i = next++) {
      const said = await shell.svc("config", "set", `plain.k${i}`, String(i));
      expect(said, said.err).toMatchObject({ code: 0, out: expect.stringContaining("In force now.") });
    }
  };
  await Promise.all([person(), person(), person(), person()]);
  for (const [name, n] of [
    ["hands", byDaemon],
    ["hooks", byPlugin],
  ] as const)
    await expect.poll(() => call(`${name}.state`), { timeout: 60_000 + CHANGES * 600 }).toEqual({ done: n, failed: [] });
  ended = true;
  expect(await reading).toBeGreaterThan(100);

  const after = readFileSync(file, "utf8");
  const { hands, hooks, plain } = JSON.parse(after);
  expect(hands).toEqual(keysOf(byDaemon));
  expect(hooks).toEqual({ first: 1, ...keysOf(byPlugin) });
  expect(plain).toEqual({ first: 1, ...keysOf(byHand) });
  // Without what was added, every character is as it was.
  const without = after.replace(/,? ?\s*"k\d+": \d+/g, "").replace('"hands": {\n\t}', '"hands": {}');
  expect(without).toBe(text);
  expect(readdirSync(shell.folder).filter((name) => name.startsWith(".svc.json") || name.includes(".bak"))).toEqual([]);
});

/** A program that changes `w<n>.k0`, `w<n>.k1` ..., one after the other, and says which edits are done. */
const writer = (file: string, dataFolder: string, known: readonly string[], n: number, pauseMs: number) => `
  import { editFile } from ${JSON.stringify(pathToFileURL(join(ROOT, "kernel/dist/index.js")).href)};
  for (let i = 0; ; i += 1) {
    await editFile({ file: ${JSON.stringify(file)}, dataFolder: ${JSON.stringify(dataFolder)}, known: ${JSON.stringify(known)}, env: {} }, (editor) => editor.set("business.w${n}.k" + i, String(i)), { backup: false });
    process.stdout.write(i + "\\n");
    await new Promise((resolve) => setTimeout(resolve, ${pauseMs}));
  }`;

const KNOWN = [join(ROOT, "plugins/stores/sqlite"), join(ROOT, "plugins/tiers/local")];

it("a writer that is killed in the middle leaves the old text or the new one, its turn goes to the next, and nothing of it stays", {
  timeout: 120_000 + KILLS * 20_000,
}, async () => {
  const folder = await temporaryFolder();
  const file = join(folder, "svc.json");
  const dataFolder = join(folder, ".svc");
  const options = { file, dataFolder, known: KNOWN, env: {} };
  writeFileSync(file, JSON.stringify({ node: { id: "n", name: "N" }, agents: {}, business: { note: "${NAME}" } }, null, 2), { mode: 0o600 });
  const said = new Map<number, number>();
  const start = (n: number, pauseMs = 0): ChildProcess => {
    const child = spawn(process.execPath, ["--input-type=module", "-e", writer(file, dataFolder, KNOWN, n, pauseMs)], { stdio: ["ignore", "pipe", "inherit"] });
    children.push(child);
    createInterface({ input: child.stdout }).on("line", (line) => said.set(n, Number(line)));
    return child;
  };
  // It asks for its turn all the time, without taking the processor from those that are to be killed.
  const steady = start(0, 20);
  await expect.poll(() => said.get(0), { timeout: 30_000 }).toBeGreaterThan(2);
  for (let n = 1; n <= KILLS; n += 1) {
    const victim = start(n);
    await expect.poll(() => said.get(n) ?? -1, { timeout: 30_000 }).toBeGreaterThan(1);
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 40));
    victim.kill("SIGKILL");
    await once(victim, "close");
    const before = said.get(0) as number;
    // The one that goes on gets its turn again.
    await expect.poll(() => said.get(0), { timeout: 30_000 }).toBeGreaterThan(before + 1);
    expect(() => JSON.parse(readFileSync(file, "utf8"))).not.toThrow();
  }
  steady.kill("SIGKILL");
  await once(steady, "close");
  await editFile(options, (editor) => editor.set("node.name", "last"));
  const { node, business } = JSON.parse(readFileSync(file, "utf8"));
  expect([node.name, business.note]).toEqual(["last", "${NAME}"]);
  for (const [n, last] of said) {
    const written = Object.keys(business[`w${n}`]).length;
    // The edit under way when it was killed may be there, though it could not say so.
    expect([last + 1, last + 2]).toContain(written);
  }
  expect(readdirSync(folder).filter((name) => name.startsWith("."))).toEqual([]);
});

it("an editor outside of svc that saves while a change is made keeps what it saved", async () => {
  const file = join(await temporaryFolder(), "svc.json");
  const document = { node: { id: "n", name: "N" }, agents: {}, business: {} };
  writeFileSync(file, JSON.stringify(document), { mode: 0o600 });
  let calls = 0;
  const { saved } = await editFile({ file, dataFolder: join(file, "../.svc"), known: KNOWN, env: {} }, (editor) => {
    calls += 1;
    editor.set("business.mine", "1");
    if (calls === 1) writeFileSync(file, JSON.stringify({ ...document, business: { theirs: 2 } }));
  });
  expect([saved, calls, JSON.parse(readFileSync(file, "utf8")).business]).toEqual([true, 2, { theirs: 2, mine: 1 }]);
});

it.runIf(process.getuid?.() === 0)("a folder that takes no files is told with what to do, and nothing is changed", async () => {
  const folder = await temporaryFolder();
  const file = join(folder, "closed/svc.json");
  mkdirSync(join(folder, "closed"));
  const text = JSON.stringify({ node: { id: "n", name: "N" }, agents: {} });
  writeFileSync(file, text);
  chmodSync(folder, 0o755);
  const code = `import { editFile } from ${JSON.stringify(pathToFileURL(join(ROOT, "kernel/dist/index.js")).href)};
    await editFile({ file: ${JSON.stringify(file)}, dataFolder: ${JSON.stringify(join(folder, "closed/.svc"))}, known: ${JSON.stringify(KNOWN)}, env: {} }, (editor) => editor.set("node.name", "other"))
      .catch((error) => process.stdout.write(error.code + ": " + error.message));`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", code], { uid: 65_534, gid: 65_534, cwd: "/", stdio: ["ignore", "pipe", "inherit"] });
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => lines.push(line));
  await once(child, "close");
  expect(lines.join("\n")).toMatch(/^SVC_CONFIG_UNWRITABLE: .*closed takes no new files, .*let the user of svc write there. It is as it was\.$/);
  expect(readFileSync(file, "utf8")).toBe(text);
});
