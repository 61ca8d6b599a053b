import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ROOT } from "../house/house.ts";
import { temporaryFolder } from "../kit/kernel.ts";
import { openShell, type Shell } from "../kit/svc.ts";
import type { Move } from "./model/script.ts";
import { type ModelServer, startModelServer } from "./model-server.ts";
import { missing, PROGRAMS } from "./programs.ts";
import { openTerminal, type Terminal } from "./terminal.ts";

const botServer = join(import.meta.dirname, "node_modules/@openclaw/crabline/dist/src/index.js");
const skipped =
  missing("claude") ??
  (process.platform === "linux" && existsSync("/usr/bin/script") && existsSync(botServer)
    ? undefined
    : "script(1) of Linux or the server of @openclaw/crabline is missing");
if (skipped) console.warn(`skipped: ${skipped}`);

const PATIENCE = { timeout: 60_000, interval: 100 };
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const KEY = "dummy-key-of-the-tests-0123456789";
const TOKEN = "4242:crabline";

interface BotServer {
  readonly manifest: { readonly adminToken: string; readonly endpoints: { readonly adminInboundUrl: string; readonly apiRoot: string } };
  close(): Promise<void>;
}
interface Recorded {
  readonly type: string;
  readonly path: string;
  readonly body?: Record<string, unknown>;
}
interface Shown {
  readonly session: string;
  readonly pid: number;
  readonly agent?: string;
  readonly mode?: string;
  readonly depth: number;
  readonly wakeable: boolean;
}

/**
 * What a model does that was handed messages: it answers each by its id, once. A message that asks it to think long is not answered.
 * A message stands in the request as it was handed over, and its answer as the call of a tool.
 */
function answersMessages(body: unknown): Move | undefined {
  const text = JSON.stringify(body);
  const handed = [...text.matchAll(/\[(m\d+)\] [^\n]*?:\\+n```\\+n(.*?)\\+n```/g)].map(([, id, words]) => ({ id: id as string, words: words as string }));
  const open = handed.find(({ id }) => !text.includes(`"input":{"id":"${id}"`));
  if (open === undefined) return undefined;
  if (open.words.includes("think long")) return { kind: "hang", headers: true };
  return { kind: "call", calls: [{ name: "mcp__svc__svc_attach_answer", input: { id: open.id, text: `from the terminal: ${open.words}` } }] };
}

/** Claude Code as a person has it open, with the hooks that `svc attach install` has written. */
describe.skipIf(skipped)("a session of Claude Code that wears an agent", () => {
  const recorded: Recorded[] = [];
  let model: ModelServer;
  let bots: BotServer;
  let shell: Shell;
  let home: string;
  const terminals: Terminal[] = [];

  beforeEach(async () => {
    recorded.length = 0;
    model = await startModelServer(answersMessages);
    const { startTelegramServer } = (await import(botServer)) as { startTelegramServer(options: object): Promise<BotServer> };
    home = await temporaryFolder();
    bots = await startTelegramServer({
      botToken: TOKEN,
      botId: 4242,
      botUsername: "ada_bot",
      recorderPath: join(home, "calls.jsonl"),
      onEvent: (event: Recorded) => void recorded.push(event),
    });
    shell = await openShell({ CLAUDE_CONFIG_DIR: join(home, "claude") });
    for (const folder of ["w", "bin"]) mkdirSync(join(shell.folder, folder));
    writeFileSync(
      join(shell.folder, "bin/svc"),
      `#!/bin/sh\nSVC_CONFIG='${shell.folder}/svc.json' exec '${process.execPath}' '${ROOT}/cli/bin/svc.cjs' "$@"\n`,
      { mode: 0o755 },
    );
    shell.write({
      node: { id: "test", name: "Test", bind: "127.0.0.1:0", defaultAgent: "ada" },
      agents: {
        ada: {
          name: "Ada",
          workspace: "./w",
          tier: "local",
          local: { mode: "echo" },
          maxConcurrent: 1,
          mcp: { svc: { command: join(shell.folder, "bin/svc"), args: ["mcp", "--agent", "ada"] } },
        },
      },
      channels: {
        botmsg: {
          enabled: true,
          apiRoot: bots.manifest.endpoints.apiRoot.replace(/\/bot[^/]*$/, ""),
          accounts: { main: { token: TOKEN, agentBinding: "ada" } },
          policy: { group: "mention-required", allowFrom: ["700"] },
        },
      },
    });
    expect(await shell.svc("daemon", "start")).toMatchObject({ code: 0 });
    mkdirSync(join(home, "claude"));
    const project = { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true };
    writeFileSync(
      join(home, "claude/.claude.json"),
      JSON.stringify({
        hasCompletedOnboarding: true,
        theme: "dark",
        customApiKeyResponses: { approved: [KEY.slice(-20)], rejected: [] },
        projects: { [join(shell.folder, "w")]: project },
      }),
    );
    const allow = ["mcp__svc__svc_attach_next", "mcp__svc__svc_attach_answer"];
    writeFileSync(join(home, "claude/settings.json"), JSON.stringify({ enableAllProjectMcpServers: true, permissions: { allow } }, null, 2));
    expect(await shell.svc("attach", "install")).toMatchObject({ code: 0 });
  });
  afterEach(async () => {
    for (const terminal of terminals.splice(0)) await terminal.kill();
    await shell.end();
    await Promise.all([model.close(), bots.close()]);
    expect(model.refusals, "requests that the real API would refuse").toEqual([]);
  });

  const sessions = () => shell.ask<Shown[]>("/attach/sessions");

  async function openSession(...args: string[]): Promise<{ terminal: Terminal; shown: () => Promise<Shown | undefined> }> {
    const before = (await sessions()).map(({ pid }) => pid);
    const terminal = openTerminal([PROGRAMS.claude, ...args], {
      cwd: join(shell.folder, "w"),
      env: {
        HOME: home,
        PATH: `${join(shell.folder, "bin")}:${process.env.PATH}`,
        CLAUDE_CONFIG_DIR: join(home, "claude"),
        ANTHROPIC_BASE_URL: model.url,
        ANTHROPIC_API_KEY: KEY,
        DISABLE_AUTOUPDATER: "1",
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      },
    });
    terminals.push(terminal);
    const pid = await vi.waitFor(
      async () => (await sessions()).find((one) => !before.includes(one.pid))?.pid ?? Promise.reject(new Error(`no session:\n${terminal.screen}`)),
      PATIENCE,
    );
    return { terminal, shown: async () => (await sessions()).find((one) => one.pid === pid) };
  }

  /** What stands on the screen without its blanks: the program paints them by moving. */
  const said = (terminal: Terminal): string => terminal.screen.replace(/\s+/g, "");

  /** Types a line as a person does: the program takes what comes at once for something pasted, and a `!` first begins a command. */
  async function enter(terminal: Terminal, line: string): Promise<void> {
    if (line.startsWith("!")) await shellMode(terminal);
    else terminal.type(line.slice(0, 1));
    for (const part of [line.slice(1), "\r"]) {
      await pause(400);
      terminal.type(part);
    }
    await pause(400);
  }

  /** A program that is still busy takes the sign for a letter: that is taken back, and typed once more. */
  async function shellMode(terminal: Terminal): Promise<void> {
    for (let tries = 0; tries < 20; tries += 1) {
      const shown = said(terminal).length;
      terminal.type("!");
      for (let looks = 0; looks < 20; looks += 1) {
        if (said(terminal).slice(shown).includes("forshellmode")) return;
        await pause(100);
      }
      terminal.type("\u007f");
      await pause(500);
    }
    throw new Error(`no command can be typed:\n${terminal.screen}`);
  }

  async function task(message: string): Promise<{ ok: boolean; reply: string; taskId: string }> {
    const { port } = JSON.parse(readFileSync(join(shell.folder, ".svc/daemon.json"), "utf8")) as { port: number };
    const response = await fetch(`http://127.0.0.1:${port}/task`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json" },
      body: JSON.stringify({ agent: "ada", message, context: { channel: "http", chatId: message, sender: "bob" } }),
    });
    return (await response.json()) as { ok: boolean; reply: string; taskId: string };
  }

  const say = (text: string) =>
    fetch(bots.manifest.endpoints.adminInboundUrl, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${bots.manifest.adminToken}`, "x-crabline-admin-token": bots.manifest.adminToken },
      body: JSON.stringify({ chatId: -500, chatType: "group", fromId: 700, text: `@ada_bot ${text}`, entities: [{ type: "mention", offset: 0, length: 8 }] }),
    });
  const sent = () => recorded.filter(({ type, path }) => type === "api" && /sendmessage$/i.test(path)).map(({ body }) => body?.text);

  it("answers what comes over HTTP and over botmsg, also after /clear; killed, its messages fall back", { timeout: 240_000 }, async () => {
    const { terminal, shown } = await openSession();
    await enter(terminal, "!svc attach ada --mode auto");
    await vi.waitFor(async () => expect(await shown(), terminal.screen).toMatchObject({ agent: "ada", mode: "auto", wakeable: true }), PATIENCE);

    // Idle: the hook in the background begins a turn.
    expect(await task("what time is it"), terminal.screen).toMatchObject({ ok: true, reply: "from the terminal: what time is it" });

    // A restart in between, on another port: the hook in the background asks the next daemon.
    await shell.svc("daemon", "stop");
    expect(await shell.svc("daemon", "start")).toMatchObject({ code: 0 });
    await vi.waitFor(async () => expect(await shown(), terminal.screen).toMatchObject({ agent: "ada", wakeable: true }), PATIENCE);

    const before = await shown();
    await enter(terminal, "/clear");
    await vi.waitFor(async () => expect((await shown())?.session).not.toBe(before?.session), PATIENCE);
    expect(await shell.json("attach", "list")).toMatchObject([{ agent: "ada", mode: "auto" }]);
    await say("and now");
    await vi.waitFor(() => expect(sent(), terminal.screen).toEqual(["from the terminal: and now"]), PATIENCE);

    // One is being worked on, another one waits; nothing ends the session in good order.
    const worked = task("please think long");
    await vi.waitFor(() => expect(model.open, terminal.screen).toBeGreaterThan(0), PATIENCE);
    const waiting = task("me too");
    await vi.waitFor(async () => expect(await shown()).toMatchObject({ depth: 1 }), PATIENCE);
    await terminal.kill();
    expect((await Promise.all([worked, waiting])).map(({ ok, reply }) => [ok, reply])).toEqual([
      [true, "please think long"],
      [true, "me too"],
    ]);
    expect(await shell.json("attach", "list")).toEqual([]);
  });

  it("takes by its tool alone in manual mode, and is told how many wait in notify mode", { timeout: 240_000 }, async () => {
    const { terminal, shown } = await openSession();
    await enter(terminal, "!svc attach ada");
    await vi.waitFor(async () => expect(await shown(), terminal.screen).toMatchObject({ agent: "ada", mode: "manual" }), PATIENCE);
    const first = task("what time is it");
    await vi.waitFor(async () => expect(await shown()).toMatchObject({ depth: 1 }), PATIENCE);
    await enter(terminal, "hello there");
    await vi.waitFor(() => expect(said(terminal)).toContain("ECHO:hellothere"), PATIENCE);
    expect(JSON.stringify(model.requests.map(({ body }) => body))).not.toContain("what time is it");
    await enter(terminal, "CALL:mcp__svc__svc_attach_next:{}");
    await vi.waitFor(() => expect(model.requests.at(-1)?.conversation?.results.at(-1), terminal.screen).toContain("what time is it"), PATIENCE);
    const { id } = (JSON.parse(model.requests.at(-1)?.conversation?.results.at(-1) ?? "{}") as { items: [{ id: string }] }).items[0];
    await enter(terminal, `CALL:mcp__svc__svc_attach_answer:{"id":"${id}","text":"by hand"}`);
    expect(await first).toMatchObject({ ok: true, reply: "by hand" });

    await enter(terminal, "!svc attach ada --mode notify");
    await vi.waitFor(async () => expect(await shown()).toMatchObject({ mode: "notify" }), PATIENCE);
    const second = task("and now");
    await vi.waitFor(async () => expect(await shown()).toMatchObject({ depth: 1 }), PATIENCE);
    await enter(terminal, "hello again");
    await vi.waitFor(() => expect(said(terminal)).toContain("svc:1messagewaitsforada"), PATIENCE);
    expect(JSON.stringify(model.requests.map(({ body }) => body))).toMatch(/svc: 1 message waits for ada, the first falls back in \d+ s\./);
    await enter(terminal, "!svc attach detach");
    expect(await second).toMatchObject({ ok: true, reply: "and now" });
  });

  it("answers twelve at once without a warning; a second program of the same session is not bound, and its end changes nothing", {
    timeout: 240_000,
  }, async () => {
    const { terminal, shown } = await openSession();
    await enter(terminal, "!svc attach ada --mode auto");
    await vi.waitFor(async () => expect(await shown(), terminal.screen).toMatchObject({ agent: "ada", wakeable: true }), PATIENCE);
    const texts = Array.from({ length: 12 }, (_, at) => `message number ${at}`);
    const answers = await Promise.all(texts.map(task));
    expect(answers.map(({ reply }) => reply)).toEqual(texts.map((text) => `from the terminal: ${text}`));
    expect(said(terminal)).not.toMatch(/Stophook.*(warning|limit|exceeded|toomany)/i);

    const { session = "" } = (await shown()) ?? {};
    const second = await openSession("--resume", session);
    expect(await second.shown()).toMatchObject({ session });
    expect((await second.shown())?.agent).toBeUndefined();
    await enter(second.terminal, "/exit");
    await vi.waitFor(async () => expect(await second.shown()).toBeUndefined(), PATIENCE);
    expect(await shown()).toMatchObject({ agent: "ada", session });
    expect(await task("still there")).toMatchObject({ reply: "from the terminal: still there" });
  });

  it("keeps its binding over /branch; with the daemon stopped or hanging nothing of it is shown", { timeout: 240_000 }, async () => {
    const { terminal, shown } = await openSession();
    await enter(terminal, "hello there");
    await vi.waitFor(() => expect(said(terminal)).toContain("ECHO:hellothere"), PATIENCE);
    await enter(terminal, "!svc attach ada");
    await vi.waitFor(async () => expect(await shown()).toMatchObject({ agent: "ada" }), PATIENCE);
    const { session } = (await shown()) as Shown;
    await enter(terminal, "/branch");
    await vi.waitFor(async () => expect((await shown())?.session, terminal.screen).not.toBe(session), PATIENCE);
    expect(await shown()).toMatchObject({ agent: "ada" });

    const asked = (prompt: string) =>
      vi.waitFor(() => expect(model.requests.at(-1)?.conversation?.prompt, said(terminal).slice(-1_500)).toContain(prompt), PATIENCE);
    const daemon = shell.pid();
    process.kill(daemon, "SIGSTOP");
    try {
      await enter(terminal, "while it hangs");
      await asked("while it hangs");
    } finally {
      process.kill(daemon, "SIGCONT");
    }
    await shell.svc("daemon", "stop");
    await enter(terminal, "while it is away");
    await asked("while it is away");
    expect(said(terminal)).not.toMatch(/ECONNREFUSED|hookerror|hookfailed|timedout|non-blocking/i);
  });
});
