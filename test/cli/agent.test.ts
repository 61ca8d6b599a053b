import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, open, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ActionEnvelope, TaskResult } from "@svc/sdk";
import { afterEach, describe, expect, it } from "vitest";
import { ROOT } from "../house/house.ts";
import { sharedLines } from "../kit/lines.ts";
import { echoConfig, openShell, type Shell, sharedDaemon } from "../kit/svc.ts";

/** The commands of many lines, in one process. */
const lines = sharedLines();
const shells: Shell[] = [];
afterEach(async () => {
  for (const shell of shells.splice(0)) await shell.end();
});

const answering = (agent: object = {}, rest: object = {}) =>
  echoConfig({ local: { mode: "answer", actions: ["file.read_lines", "http.fetch", "rag.lexical"] }, ...agent }, rest);

/** A running daemon whose agent `echo` has some files. */
async function daemon(): Promise<Shell> {
  const shell = await openShell();
  shell.write(answering());
  await mkdir(join(shell.folder, "w"));
  await writeFile(join(shell.folder, "w/pump.md"), "# Pump\n\nThe valve of the pump leaks.\n");
  await writeFile(join(shell.folder, "w/oven.md"), "The oven is hot.\n");
  shells.push(shell);
  expect(await shell.svc("daemon", "start")).toMatchObject({ code: 0 });
  return shell;
}

/** One action through the three doors. */
async function throughAllDoors(shell: Shell, action: string, input: Record<string, unknown>): Promise<ActionEnvelope[]> {
  const http = await shell.ask<ActionEnvelope>(`/api/actions/builtin/${action}`, input);
  const words = Object.entries(input).map(([name, value]) => `${name}=${value}`);
  const cli = await lines(shell).json<ActionEnvelope>("actions", "run", action, ...words);
  const { reply } = await lines(shell).json<TaskResult>("daemon", "send", "echo", `/run ${action} ${JSON.stringify(input)}`);
  const local = JSON.parse(/^```json\n([\s\S]*)\n```$/.exec(reply)?.[1] ?? reply) as ActionEnvelope;
  return [http, cli, local];
}

const untimed = (envelopes: readonly ActionEnvelope[]) => envelopes.map(({ durationMs, ...rest }) => ({ ...rest, timed: durationMs >= 0 }));

describe("one envelope, whatever the door", () => {
  const running = sharedDaemon(answering());

  it("ACT-07 file.read_lines answers the same over HTTP, from the command line and from an agent", async () => {
    const shell = running();
    await writeFile(join(shell.folder, "lines.txt"), "one\ntwo\nthree\n");
    const input = { path: join(shell.folder, "lines.txt") };
    const [http, cli, local] = untimed(await throughAllDoors(shell, "file.read_lines", input));
    expect(http).toEqual({ action: "file.read_lines", status: "ok", input, output: ["one", "two", "three"], timed: true });
    expect([cli, local]).toEqual([http, http]);
  });

  it("ACT-07 http.fetch refuses an address of this machine in the same words everywhere, and the command line fails", async () => {
    const shell = running();
    const input = { url: "http://127.0.0.1:1/secret" };
    const [http, cli, local] = untimed(await throughAllDoors(shell, "http.fetch", input));
    expect(http).toEqual({ action: "http.fetch", status: "error", input, error: expect.stringContaining("not a public address"), timed: true });
    expect([cli, local]).toEqual([http, http]);
    expect(await shell.svc("actions", "run", "http.fetch", `url=${input.url}`)).toMatchObject({
      code: 1,
      out: "",
      err: expect.stringContaining("not a public address"),
    });
  });

  it("an indexed workspace is searched by words, with the same places through every door", async () => {
    const shell = await daemon();
    const input = { agentId: "echo", query: "valve leaks" };
    const [before] = await throughAllDoors(shell, "rag.lexical", input);
    expect(before).toMatchObject({ status: "error", error: expect.stringContaining("svc agent index echo") });

    expect((await shell.svc("agent", "index", "echo")).out).toMatch(/^The workspace of echo is indexed: 2 files \(2 read, 0 gone\), \d+ places, [\d.]+ s\.\n$/);
    expect(await lines(shell).json("agent", "index", "echo")).toMatchObject({ agent: "echo", files: 2, read: 0, removed: 0 });

    const [http, cli, local] = untimed(await throughAllDoors(shell, "rag.lexical", input));
    expect(http).toMatchObject({ status: "ok", output: { results: [{ path: "pump.md", line: 3, snippet: expect.stringContaining("valve") }] } });
    expect([cli, local]).toEqual([http, http]);
    expect(await lines(shell).svc("agent", "index", "nobody")).toMatchObject({ code: 1, err: expect.stringContaining("svc agent list") });
  });
});

// util-linux's `script` lends the program a terminal.
it("a word that is no agent id neither adds an agent nor removes a setting of one", async () => {
  const shell = await openShell();
  shell.write(echoConfig({ model: "small" }));
  const before = shell.config();
  expect(await lines(shell).svc("agent", "remove", "echo.model")).toMatchObject({ code: 1, err: expect.stringContaining("There is no agent echo.model") });
  for (const word of ["echo.x", "x y", "../up", "__proto__", "Ada"])
    expect(await lines(shell).svc("agent", "add", word)).toMatchObject({ code: 2, err: expect.stringContaining(`'${word}' is no agent id`) });
  expect(shell.config()).toEqual(before);
  expect(existsSync(join(shell.folder, "workspaces"))).toBe(false);
});

it.skipIf(process.platform !== "linux" || !existsSync("/usr/bin/script"))("on a terminal the progress of indexing is shown, and why it failed", async () => {
  const shell = await daemon();
  const onTerminal = (agent: string) =>
    new Promise<{ code: number | null; shown: string }>((resolve) => {
      const command = `'${process.execPath}' '${join(ROOT, "cli/bin/svc.cjs")}' agent index ${agent}`;
      const child = spawn("/usr/bin/script", ["-qec", command, "/dev/null"], { cwd: shell.folder, env: { ...process.env, SVC_CONFIG: "", SHELL: "/bin/sh" } });
      let shown = "";
      child.stdout.on("data", (chunk) => {
        shown += chunk;
      });
      child.on("close", (code) => resolve({ code, shown }));
    });
  const { code, shown } = await onTerminal("echo");
  expect({ code, shown }).toEqual({ code: 0, shown: expect.stringContaining("The workspace of echo is indexed: 2 files (2 read, 0 gone)") });
  expect(shown).toMatch(/\r\d files looked at, \d read/);
  await rm(join(shell.folder, "w"), { recursive: true });
  expect(await onTerminal("echo")).toEqual({ code: 1, shown: expect.stringContaining("svc: ") });
});

describe("svc agent capability", () => {
  const configured = answering({
    model: "m-1",
    intents: ["repair"],
    access: "public",
    mcp: { files: { command: "files-server", env: { TOKEN: "sk-canary-55" } } },
  });

  const agents = { ...configured.agents, broken: answering({ tier: "cli-b" }).agents.echo };
  const running = sharedDaemon({ ...configured, agents, tiers: { "cli-b": { command: "/nowhere/codex" } } });

  it("tells what the daemon knows: engine, actions, tools and what is restricted; names only", async () => {
    const shell = running();
    const known = await shell.json<Record<string, unknown>>("agent", "capability", "echo");
    expect(known).toMatchObject({
      id: "echo",
      tier: "local",
      model: "m-1",
      engine: { ok: true, detail: "always there" },
      nativeSessions: false,
      enforcesAutonomy: false,
      // Strangers talk with it, and its operator allows it none.
      actions: [],
      intents: ["repair"],
      mcpServers: ["files"],
      restrictions: { access: "public", maxConcurrent: 1, permissionMode: "default" },
    });
    const { out } = await lines(shell).svc("agent", "capability", "echo");
    expect(out).toMatch(/^engine\s+usable: always there$/m);
    expect(out).toMatch(/^tool servers\s+files$/m);
    expect(out + JSON.stringify(known)).not.toMatch(/canary|files-server/);
    expect(await lines(shell).svc("agent", "capability", "nobody")).toMatchObject({ code: 1, err: expect.stringContaining("svc agent list") });
  });

  it("says that an engine is not usable, and doctor warns of it", async () => {
    const shell = running();
    expect(await lines(shell).json("agent", "capability", "broken")).toMatchObject({
      engine: { ok: false, detail: expect.stringContaining("/nowhere/codex") },
    });
    expect((await lines(shell).svc("agent", "capability", "broken")).out).toMatch(/^engine\s+NOT USABLE: .*\/nowhere\/codex/m);
    expect((await lines(shell).svc("doctor")).out).toMatch(/^warning +the engine of agent \w+ \(tier cli-b\) is not usable: .*\/nowhere\/codex/m);
  });

  it("says without a daemon what svc.json says", async () => {
    const shell = await openShell();
    shell.write(configured);
    const said = await lines(shell).svc("agent", "capability", "echo");
    expect(said).toMatchObject({ code: 0, err: expect.stringContaining("not running") });
    expect(said.out).toMatch(/^tier\s+local, model m-1$/m);
    expect(said.out).not.toContain("engine");
    expect(await lines(shell).svc("agent", "capability", "nobody")).toMatchObject({ code: 1, err: expect.stringContaining("svc agent list") });
  });
});

describe("svc doctor", () => {
  it("CFG-16 warns of integrations that no plugin knows and of credentials that are not set, and the configuration stays valid", async () => {
    const integrations = [
      { kind: "crm", label: "main", credentials: { tokenEnv: "CRM_TOKEN", apiKeyEnv: "CRM_KEY", auth: "keyring" } },
      { kind: "botmsg", label: "main", credentials: { tokenEnv: "BOT_TOKEN" } },
      { kind: "erp", label: "off", enabled: false, credentials: { tokenEnv: "ERP_TOKEN" } },
    ];
    const shell = await openShell({ CRM_TOKEN: "sk-canary-77", CRM_KEY: "" });
    shell.write(answering({ integrations }));
    await writeFile(join(shell.folder, ".env"), "BOT_TOKEN=sk-canary-78\n");
    const { code, out } = await shell.svc("doctor");
    expect(code).toBe(0);
    expect(out).toMatch(/^warning .*"main" is used by nothing: no plugin knows the kind crm$/m);
    expect(out).toMatch(/^warning .*apiKeyEnv names CRM_KEY, which is not set/m);
    expect(out).not.toMatch(/CRM_TOKEN|BOT_TOKEN|botmsg|erp|canary/);
    expect((await lines(shell).svc("config", "check")).code).toBe(0);
  });
});

describe("svc db check", () => {
  it("FAULT-13 finds a sound database sound, also while the daemon runs, and says what is wrong with a damaged one", async () => {
    const shell = await daemon();
    await lines(shell).svc("daemon", "send", "echo", "hello");
    expect(await shell.json("db", "check")).toMatchObject({ sound: true, problems: [] });
    await shell.end();
    const file = join(shell.folder, ".svc/svc.db");
    const handle = await open(file, "r+");
    const { size } = await handle.stat();
    for (let page = 1; page < size / 4096; page += 2) await handle.write(Buffer.alloc(4096, 0xa5), 0, 4096, page * 4096);
    await handle.close();
    const damaged = await shell.svc("db", "check");
    expect(damaged.code).toBe(1);
    expect(damaged.out).toMatch(/svc\.db is damaged:\n {2}\S/);
    const start = await shell.svc("daemon", "start");
    expect(start).toMatchObject({ code: 74, err: expect.stringContaining("svc db check") });
  });

  it("says that there is none yet", async () => {
    const shell = await openShell();
    shell.write(answering());
    expect(await lines(shell).svc("db", "check")).toMatchObject({ code: 1, err: expect.stringContaining("svc daemon start") });
  });
});
