import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { CommandGroup } from "@svc/sdk";
import { createFakeCli } from "@svc/sdk/testing";
import { afterEach, describe, expect, it } from "vitest";
import { ROOT } from "../house/house.ts";
import { sharedLines } from "../kit/lines.ts";
import { echoConfig, openShell, type Shell } from "../kit/svc.ts";

/** The commands of many lines, in one process. */
const inLines = sharedLines();
const PROGRAM = join(ROOT, "cli/bin/svc.cjs");
const SCRIPT = "/usr/bin/script";
const shells: Shell[] = [];
const children: ChildProcess[] = [];
afterEach(async () => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  for (const shell of shells.splice(0)) await shell.end();
});

/** The commands of a plugin that tries its host. */
const COMMANDS = `
const asking = [{ flags: "--secret", description: "x" }, { flags: "--choose", description: "x" }];
export default { name: "probe", summary: "For a test", commands: [
  { name: "ask", args: "", summary: "x", options: asking, async run(_args, { secret, choose }, cli) {
    const answer = await cli.ask("Which word?", { flag: "--word <word>", ...(secret ? { secret } : { default: "usual" }),
      ...(choose ? { choices: [{ id: "one", label: "The first" }, { id: "usual", label: "The second" }] } : {}) });
    cli.print("the answer is " + answer, { answer });
  } },
  { name: "watch", args: "", summary: "x", async run(_args, _options, cli) {
    const seen = [];
    await cli.stream("/probe/ticks", ({ event, data }) => { seen.push([event, data]); return event !== "last"; });
    cli.print(JSON.stringify(seen), seen);
  } },
  { name: "change", args: "<path> [value]", summary: "x", async run([path, value], _options, cli) {
    const report = await cli.change([{ path: path.split("."), ...(value === undefined ? {} : { value: JSON.parse(value) }) }], { backup: true });
    cli.print(JSON.stringify(report), report);
  } },
  { name: "serve", args: "", summary: "x", async run(_args, _options, cli) {
    const route = (path, guard) => ({ method: "GET", path, guard, handle: ({ caller }) => ({ path, local: caller.local }) });
    const server = await cli.serve({ routes: [route("/open", "open"), route("/here", "loopback"), route("/scoped", "scope:probe:read")] });
    cli.print(String(server.port), { port: server.port });
    await new Promise((resolve) => process.stdin.once("data", resolve));
    process.stdin.pause();
    await server.close();
    cli.print("closed", {});
  } },
  { name: "unguarded", args: "", summary: "x", async run(_args, _options, cli) {
    await cli.serve({ routes: [{ method: "GET", path: "/x", handle: () => ({}) }] });
  } },
] };`;

const SVC = {
  api: 1,
  kind: "feature",
  name: "probe",
  entry: "./index.mjs",
  section: "probe",
  activate: "section",
  capabilities: ["routes"],
  scopes: [{ name: "probe:read", summary: "for a test" }],
  commands: [{ name: "probe", summary: "For a test", module: "./commands.mjs" }],
};

async function stage(node: object = {}): Promise<Shell> {
  const shell = await openShell();
  shells.push(shell);
  const folder = join(shell.folder, "probe");
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "svc-plugin-probe", version: "1.0.0", type: "module", svc: SVC }));
  writeFileSync(
    join(folder, "index.mjs"),
    `export default { kind: "feature", name: "probe", version: "1.0.0", svc: "*", capabilities: ["routes"],
      config: { at: "probe", schema: { type: "object", properties: { count: { type: "integer", maximum: 9 }, port: { type: "integer", restart: true } } } },
      setup(ctx) {
        ctx.provide.route({ method: "GET", path: "/probe/ticks", guard: "loopback", handle(_request, reply) {
          const stream = reply.stream();
          for (const n of [1, 2, 3]) stream.event(n === 3 ? "last" : "tick", { n });
        } });
        return { async reload() {} };
      } };`,
  );
  writeFileSync(join(folder, "commands.mjs"), COMMANDS);
  const config = echoConfig({}, { plugins: ["./probe"], probe: { count: 1 } });
  shell.write({ ...config, node: { ...config.node, ...node } });
  return shell;
}

/** As a person at a terminal: answers each time the program has said so much. */
async function atTerminal(shell: Shell, command: string, answers: readonly (readonly [RegExp, string])[]) {
  const child = spawn(SCRIPT, ["-qec", `'${process.execPath}' '${PROGRAM}' ${command}`, "/dev/null"], {
    cwd: shell.folder,
    env: { ...process.env, SVC_CONFIG: "", SHELL: "/bin/sh", TERM: "xterm" },
  });
  children.push(child);
  const open = [...answers];
  let shown = "";
  let answered = 0;
  child.stdout.on("data", (chunk) => {
    shown += chunk;
    const [pattern, answer] = open[0] ?? [];
    if (pattern === undefined || !pattern.test(shown.slice(answered))) return;
    open.shift();
    answered = shown.length;
    child.stdin.write(answer as string);
  });
  const [code] = await once(child, "close");
  return { code, shown: shown.replaceAll("\r", "") };
}

describe("a command of a plugin asks", () => {
  const plain = (text: string) => text.replaceAll(/\u001b\[[0-9;?]*[A-Za-z]/g, "");

  it.runIf(existsSync(SCRIPT))(
    "K24 the person at the terminal: a word, its default, a choice until it is one, and what nobody shall see",
    async () => {
      const shell = await stage();
      expect(plain((await atTerminal(shell, "probe ask", [[/Which word\? \[usual\]: /, "other\r"]])).shown)).toContain("the answer is other");
      expect(plain((await atTerminal(shell, "probe ask", [[/\[usual\]: /, "\r"]])).shown)).toContain("the answer is usual");
      const chosen = await atTerminal(shell, "probe ask --choose", [
        [/1 {2}The first[\s\S]*1 to 2 \[2\]: /, "3\r"],
        [/1 to 2 \[2\]: /, "1\r"],
      ]);
      expect(plain(chosen.shown)).toContain("the answer is one");
      const hidden = await atTerminal(shell, "probe ask --secret", [[/Which word\? \(not shown\): /, "CANARY\r"]]);
      expect(plain(hidden.shown).match(/CANARY/g)).toHaveLength(1);
      expect(plain(hidden.shown)).toContain("the answer is CANARY");
      const left = await atTerminal(shell, "probe ask", [[/\[usual\]: /, "\u0003"]]);
      expect([left.code, plain(left.shown)]).toEqual([2, expect.stringContaining("The questions were not answered")]);
    },
    60_000,
  );

  it("K24 without a terminal nobody: the error names the option", async () => {
    const shell = await stage();
    const said = await shell.svc("probe", "ask");
    expect(said).toMatchObject({ code: 1, err: expect.stringContaining("Which word? Only a person at a terminal can be asked; say it with --word <word>.") });
    expect((await inLines(shell).svc("probe", "ask", "--json")).err).toContain("SVC_CLI_ASK");
  });
});

describe("a command of a plugin and the daemon", () => {
  it("K24 listens to a stream until it has heard enough", async () => {
    const shell = await stage();
    await shell.svc("daemon", "start");
    expect(await shell.json("probe", "watch")).toEqual([
      ["tick", { n: 1 }],
      ["tick", { n: 2 }],
      ["last", { n: 3 }],
    ]);
  });

  it("CFG-07 CFG-08 K24 changes svc.json through the daemon when it runs, else the file alone, and what is refused leaves nothing", async () => {
    const shell = await stage();
    const file = join(shell.folder, "svc.json");
    const first = readFileSync(file, "utf8");
    const alone = await shell.json<{ reloadSkipped: string; backup: string }>("probe", "change", "probe.count", "2");
    expect(alone).toEqual({ revision: expect.any(String), backup: expect.any(String), reloadSkipped: expect.stringMatching(/^ECONNREFUSED: /) });
    expect(readFileSync(file, "utf8")).toBe(first.replace('"count": 1', '"count": 2'));
    expect(readFileSync(alone.backup, "utf8")).toBe(first);
    await shell.svc("daemon", "start");
    const report = await inLines(shell).json("probe", "change", "probe", '{"count": 3, "port": 1}');
    expect(report).toEqual({ revision: expect.any(String), backup: expect.any(String), reloaded: ["probe.count"], restartRequired: ["probe.port"] });
    const before = readFileSync(file, "utf8");
    expect(await inLines(shell).svc("probe", "change", "probe.count", "10")).toMatchObject({
      code: 78,
      err: expect.stringContaining("probe.count: must be at most 9, is 10"),
    });
    expect(await inLines(shell).svc("probe", "change", "probe.count", '"${HOME}"')).toMatchObject({ err: expect.stringContaining("reference: true") });
    expect(readFileSync(file, "utf8")).toBe(before);
    expect(await inLines(shell).json("probe", "change", "probe.port")).toMatchObject({ restartRequired: ["probe.port"] });
    expect(shell.config()).toMatchObject({ probe: { count: 3 } });
  });

  it("K35 opens a server with the daemon's admission and guards, and closes it", async () => {
    const shell = await stage({ hosts: ["svc.example"] });
    const child = spawn(process.execPath, [PROGRAM, "probe", "serve"], {
      cwd: shell.folder,
      env: { ...process.env, SVC_CONFIG: "" },
      stdio: ["pipe", "pipe", "inherit"],
    });
    children.push(child);
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const port = Number((await lines.next()).value);
    const get = (path: string, headers: Record<string, string> = {}) =>
      new Promise<readonly [status: number | undefined, body: unknown]>((resolve, reject) => {
        request({ host: "127.0.0.1", port, path, headers: { host: `127.0.0.1:${port}`, ...headers }, agent: false }, async (response) => {
          let text = "";
          for await (const chunk of response) text += chunk;
          resolve([response.statusCode, JSON.parse(text)]);
        })
          .on("error", reject)
          .end();
      });
    expect(await get("/open")).toEqual([200, { path: "/open", local: true }]);
    expect((await get("/open", { host: "svc.example" }))[0]).toBe(200);
    expect(await get("/open", { host: "evil.example" })).toMatchObject([403, { code: "SVC_HTTP_HOST" }]);
    expect(await get("/open", { origin: "https://evil.example" })).toMatchObject([403, { code: "SVC_HTTP_ORIGIN" }]);
    expect((await get("/here"))[0]).toBe(200);
    expect(await get("/here", { "x-forwarded-for": "203.0.113.9" })).toMatchObject([403, { code: "SVC_HTTP_LOOPBACK" }]);
    expect(await get("/scoped")).toMatchObject([401, { code: "SVC_HTTP_BEARER_MISSING" }]);
    expect(await get("/scoped", { authorization: "Bearer nobody-knows-this" })).toMatchObject([401, { code: "SVC_HTTP_BEARER_UNKNOWN" }]);
    expect(await get("/none")).toMatchObject([404, { code: "SVC_HTTP_NOT_FOUND" }]);
    child.stdin.write("enough\n");
    expect((await lines.next()).value).toBe("closed");
    expect((await once(child, "close"))[0]).toBe(0);
    await expect(get("/open")).rejects.toMatchObject({ code: "ECONNREFUSED" });
    expect(await inLines(shell).svc("probe", "unguarded")).toMatchObject({ code: 1, err: expect.stringContaining("The route GET /x cannot be served") });
  });

  it("K35 node.localSecret closes it to this machine, too, for those who cannot read the daemon's folder", async () => {
    const shell = await stage({ localSecret: true });
    const child = spawn(process.execPath, [PROGRAM, "probe", "serve"], {
      cwd: shell.folder,
      env: { ...process.env, SVC_CONFIG: "" },
      stdio: ["pipe", "pipe", "inherit"],
    });
    children.push(child);
    const port = Number((await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next()).value);
    const status = async (headers: Record<string, string> = {}) => (await fetch(`http://127.0.0.1:${port}/here`, { headers })).status;
    expect(await status({ "x-svc-local": "" })).toBe(401);
    await shell.svc("daemon", "start");
    expect([await status(), await status({ "x-svc-local": readFileSync(join(shell.folder, ".svc/local-secret"), "utf8") })]).toEqual([401, 200]);
  });
});

describe("without a program", () => {
  const group: CommandGroup = {
    name: "probe",
    summary: "For a test",
    commands: [
      {
        name: "all",
        args: "",
        summary: "x",
        async run(_args, _options, cli) {
          const word = await cli.ask("Which?", { flag: "--word", choices: [{ id: "one", label: "One" }] });
          const heard: unknown[] = [];
          await cli.stream("/ticks", ({ data }) => heard.push(data) < 2);
          const { reloaded } = await cli.change([{ path: ["probe", "word"], value: word }]);
          await cli.serve({ routes: [{ method: "GET", path: "/x", guard: "open", handle: () => ({ word }) }] });
          cli.print(word, { heard, reloaded, answer: await cli.request("GET", "/health") });
        },
      },
    ],
  };

  it("K30 the fake host answers, streams, keeps svc.json and serves as the test says, and records", async () => {
    const cli = createFakeCli({
      says: ["one"],
      streams: { "/ticks": [1, 2, 3].map((data) => ({ event: "tick", data })) },
      answers: { "GET /health": { ok: true } },
      document: { probe: {} },
    });
    await cli.run(group, "all");
    expect(cli.printed).toEqual([{ human: "one", json: { heard: [1, 2], reloaded: ["probe.word"], answer: { ok: true } } }]);
    expect(cli.asked).toMatchObject([{ question: "Which?", flag: "--word" }]);
    expect((await cli.settings.read()).document).toEqual({ probe: { word: "one" } });
    expect(await cli.served[0]?.request("GET", "/x")).toMatchObject({ status: 200, body: { word: "one" } });
    await expect(createFakeCli().run(group, "all")).rejects.toMatchObject({ code: "SVC_CLI_ASK", message: expect.stringContaining("--word") });
    await expect(createFakeCli({ says: ["two"] }).run(group, "all")).rejects.toThrow("no choice");
    await expect(createFakeCli({ says: ["one"] }).run(group, "all")).rejects.toMatchObject({ code: "SVC_CLI_NO_DAEMON" });
  });
});
