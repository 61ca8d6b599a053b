import { spawn } from "node:child_process";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { type BotApi, FRIEND, startBotApi } from "../../plugins/channels/botmsg/bot-api.harness.ts";
import { ROOT } from "../house/house.ts";
import { sharedLines } from "../kit/lines.ts";
import { echoConfig, openShell, type Said, type Shell } from "../kit/svc.ts";

const TOKEN = "4242:canary-token-of-the-bot";
const TOPIC = "canary-topic";

/** The commands of many lines, in one process. */
const lines = sharedLines();
const shells: Shell[] = [];
const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const shell of shells.splice(0)) await shell.end();
  for (const close of closers.splice(0)) await close();
});

async function shellWith(config: unknown, env: Record<string, string> = {}): Promise<Shell> {
  const shell = await openShell(env);
  shell.write(config);
  shells.push(shell);
  return shell;
}

async function daemonWith(config: unknown): Promise<Shell> {
  const shell = await shellWith(config);
  expect(await shell.svc("daemon", "start")).toMatchObject({ code: 0 });
  return shell;
}

async function botApi(): Promise<BotApi> {
  const api = await startBotApi();
  closers.push(() => api.close());
  api.addBot(TOKEN, 42, "helper_bot");
  api.addChat(FRIEND.id);
  return api;
}

/** `svc` with something on its standard input, or one more variable in its environment. */
function special(shell: Shell, { input = "", env = {} }: { input?: string; env?: Record<string, string> }, ...args: string[]): Promise<Said> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [join(ROOT, "cli/bin/svc.cjs"), ...args], { cwd: shell.folder, env: { ...process.env, SVC_CONFIG: "", ...env } });
    const said = { out: "", err: "" };
    child.stdout.on("data", (chunk) => {
      said.out += chunk;
    });
    child.stderr.on("data", (chunk) => {
      said.err += chunk;
    });
    child.on("close", (code) => resolve({ code, ...said }));
    child.stdin.end(input);
  });
}

const piped = (shell: Shell, input: string, ...args: string[]) => special(shell, { input }, ...args);

/** A push server: a topic's messages, or a refusal. */
async function pushServer(): Promise<{ root: string; taken: Record<string, unknown>[]; healthy: boolean }> {
  const state = { root: "", taken: [] as Record<string, unknown>[], healthy: true };
  const server: Server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    response.setHeader("content-type", "application/json");
    if (request.url === "/v1/health") return void response.writeHead(state.healthy ? 200 : 503).end('{"healthy":true}');
    const message = JSON.parse(text) as Record<string, unknown>;
    if (message.topic !== TOPIC) return void response.writeHead(403).end('{"code":40301,"http":403,"error":"forbidden"}');
    state.taken.push(message);
    response.end(JSON.stringify({ id: `push-${state.taken.length}` }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closers.push(() => server.close());
  state.root = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return state;
}

const env = (shell: Shell) => join(shell.folder, ".env");
const text = (shell: Shell) => readFileSync(join(shell.folder, "svc.json"), "utf8");
const envText = (shell: Shell) => readFileSync(env(shell), "utf8");

describe("svc connect, with a bot", () => {
  it("OPR-M8 connects to another server, pairs, hears and answers; the token is in .env alone", async () => {
    const api = await botApi();
    const shell = await daemonWith(echoConfig());
    writeFileSync(env(shell), "OTHER=1");
    const before = shell.config();
    const connected = await piped(
      shell,
      `${TOKEN}\n`,
      ...["connect", "botmsg", "--yes", "--secret-stdin", "--token-env", "MY_BOT", "--allow", `${FRIEND.id},@someone`],
      ...["--account", "desk", "--chat", String(FRIEND.id), "--server", api.root],
    );
    expect(connected).toMatchObject({ code: 0, out: expect.stringContaining("Telegram (botmsg) is connected: desk: @helper_bot") });
    // Who says --yes has read the README.
    expect(connected.err).not.toContain("BotFather");
    expect(api.shown[0]).toMatchObject({ chat: FRIEND.id, text: "This is svc: botmsg is connected." });
    expect(connected.out).toContain(`The test message has the id ${api.shown[0]?.id}`.replace(/\d+$/, ""));
    expect(shell.config()).toEqual({
      ...before,
      channels: {
        botmsg: {
          enabled: true,
          accounts: { desk: { token: "${MY_BOT}", agentBinding: "echo", allowFrom: [String(FRIEND.id), "@someone"] } },
          apiRoot: api.root,
        },
      },
    });
    expect(envText(shell)).toBe(`OTHER=1\nMY_BOT=${TOKEN}\n`);
    expect(statSync(env(shell)).mode & 0o777).toBe(0o600);

    api.say(TOKEN, { chat: FRIEND.id, text: "hello" });
    await vi.waitFor(() => expect(api.shown[1]?.text).toContain("does not know you yet"), { timeout: 15_000 });
    const code = /svc channel pair (\S+)/.exec(api.shown[1]?.text ?? "")?.[1] as string;
    const waiting = await lines(shell).svc("channel", "pair");
    expect(waiting.out).toMatch(/desk\s+700\s+Ada/);
    expect(waiting.out).not.toContain(code);
    expect(await lines(shell).svc("channel", "pair", "WRONGONE")).toMatchObject({ code: 1, out: "" });
    expect((await lines(shell).svc("channel", "pair", code)).out).toMatch(/^Confirmed: Ada.* \(700\) on the account desk\.\n$/);
    expect((await lines(shell).svc("channel", "pair")).out).toBe("Nobody waits to be confirmed.\n");

    api.say(TOKEN, { chat: FRIEND.id, text: "good morning" });
    await vi.waitFor(() => expect(api.shown.at(-1)?.text).toBe("good morning"), { timeout: 15_000 });

    const [row] = await lines(shell).json<Record<string, unknown>[]>("channel", "list");
    expect(row).toMatchObject({ name: "botmsg", plugin: "channel-botmsg", state: "ready", unsent: 0, testable: true });
    expect((await lines(shell).svc("channel", "list")).out).toMatch(
      /botmsg\s+Telegram \(botmsg\)\s+ready\s+0\s+4096 UTF-16 units a message, edits, threads, reactions, files/,
    );
    expect(await lines(shell).json("channel", "test", "botmsg")).toEqual({ ok: true, channel: "botmsg", detail: "desk: @helper_bot" });
    expect(readFileSync(join(shell.folder, ".svc/daemon.log"), "utf8") + connected.out + connected.err).not.toContain("canary");
  });

  it("a wrong token leaves svc.json and .env as they were, byte by byte, and says why", async () => {
    const api = await botApi();
    const shell = await daemonWith(`{\n\t  ${JSON.stringify(echoConfig()).slice(1)}\n\n`);
    writeFileSync(env(shell), "# mine\nOTHER='a b'\n");
    const before = text(shell);
    const refused = await piped(shell, "1:wrong-canary", "connect", "botmsg", "--yes", "--secret-stdin", "--set", `apiRoot=${api.root}`);
    expect(refused).toMatchObject({ code: 1, out: "" });
    expect(refused.err).toContain("Telegram (botmsg) is not connected: main: the platform refuses the token of account main");
    expect(refused.err).toContain("The change was taken back.");
    expect(refused.err).not.toContain("canary");
    expect(text(shell)).toBe(before);
    expect(envText(shell)).toBe("# mine\nOTHER='a b'\n");
    expect(await lines(shell).json("channel", "list")).toEqual([]);
    expect(await shell.ask("/task", { agent: "echo", message: "still here" })).toMatchObject({ reply: "still here" });
  });

  it("what the checks refuse keeps no secret, and a variable that only the command has is named", async () => {
    const api = await botApi();
    const shell = await daemonWith(echoConfig());
    const before = text(shell);
    const invalid = await piped(shell, TOKEN, "connect", "botmsg", "--yes", "--secret-stdin", "--set", "apiRoot=ftp://nowhere");
    expect(invalid.code).toBe(78);
    expect(existsSync(env(shell))).toBe(false);
    const missing = await lines(shell).svc("connect", "botmsg", "--yes");
    expect(missing).toMatchObject({ code: 2, err: expect.stringContaining("BOTMSG_TOKEN is not set") });
    const lacking = await special(
      shell,
      { env: { ONLY_HERE: TOKEN } },
      "connect",
      "botmsg",
      "--yes",
      "--token-env",
      "ONLY_HERE",
      "--set",
      `apiRoot=${api.root}`,
    );
    expect(lacking).toMatchObject({ code: 1, err: expect.stringContaining("ONLY_HERE is set for this command and not in .env") });
    expect(text(shell)).toBe(before);
    expect(existsSync(env(shell))).toBe(false);
  });

  it("a second account comes beside the first, whose own settings stay; nobody is let in unasked", async () => {
    const api = await botApi();
    api.addBot("5:second", 5, "second_bot");
    const main = { token: "${BOTMSG_TOKEN}", agentBinding: "echo", pollInbound: false };
    const shell = await daemonWith(
      echoConfig({}, { channels: { botmsg: { enabled: true, apiRoot: api.root, accounts: { main }, policy: { allowFrom: ["1"] } } } }),
    );
    writeFileSync(env(shell), `BOTMSG_TOKEN=${TOKEN}\nSECOND=5:second\n`);
    const connected = await lines(shell).svc("connect", "botmsg", "--yes", "--account", "second", "--token-env", "SECOND");
    expect(connected).toMatchObject({ code: 0, out: expect.stringContaining("second: @second_bot") });
    expect(shell.config().channels).toEqual({
      botmsg: {
        enabled: true,
        apiRoot: api.root,
        accounts: { main, second: { token: "${SECOND}", agentBinding: "echo" } },
        policy: { allowFrom: ["1"] },
      },
    });
  });
});

describe("svc connect and send, with a push server", () => {
  it("API-13 connects, sends with the platform's id, and exits 1 with the platform's words when it refuses", async () => {
    const push = await pushServer();
    const shell = await daemonWith(echoConfig());
    writeFileSync(env(shell), `MY_TOPIC=${TOPIC}\n`);
    const connected = await lines(shell).json("connect", "topicpush", "--yes", "--topic-env", "MY_TOPIC", "--server", push.root, "--chat", "-");
    expect(connected).toMatchObject({ channel: "topicpush", applied: true, detail: `${push.root} is healthy`, messageId: "push-1" });
    expect(shell.config().channels).toEqual({ topicpush: { enabled: true, topic: "${MY_TOPIC}", server: push.root } });
    expect(await lines(shell).svc("channel", "send", "topicpush", "-", "two", "words")).toEqual({ code: 0, out: "push-2\n", err: "" });
    expect(push.taken.map(({ message }) => message)).toEqual(["This is svc: topicpush is connected.", "two words"]);
    expect((await lines(shell).svc("channel", "send", "topicpush", "--agent", "echo", "--json", "--", "-100123", "json")).out).toContain(
      '"messageId": "push-3"',
    );

    writeFileSync(env(shell), "MY_TOPIC=another\n");
    expect((await lines(shell).svc("config", "set", "channels.topicpush.defaultTitle", "t")).code).toBe(0);
    const refused = await lines(shell).svc("channel", "send", "topicpush", "-", "words");
    expect(refused).toMatchObject({ code: 1, out: "" });
    expect(refused.err).toMatch(/topicpush refused the message: .*403/);
    expect(await lines(shell).svc("channel", "send", "nowhere", "1", "words")).toMatchObject({
      code: 1,
      err: expect.stringContaining("There is no channel 'nowhere'"),
    });
    expect(await lines(shell).svc("channel", "send", "topicpush", "-", "x", "--agent", "nobody")).toMatchObject({
      code: 1,
      err: expect.stringContaining("nobody"),
    });

    push.healthy = false;
    expect(await lines(shell).svc("channel", "test", "topicpush")).toMatchObject({ code: 1, err: expect.stringContaining("topicpush did not say who it is") });
    expect((await lines(shell).svc("channel", "test", "nowhere")).err).toContain("There is no channel 'nowhere'");
    expect((await lines(shell).svc("channel", "pair", "--channel", "topicpush")).err).toContain("no running channel topicpush that pairs people");
  });

  it("a server that is not well is not connected, and a section that was off is as it was", async () => {
    const push = await pushServer();
    push.healthy = false;
    const shell = await daemonWith(echoConfig({}, { channels: { topicpush: { enabled: false, defaultTitle: "mine" } } }));
    const before = text(shell);
    const refused = await piped(shell, TOPIC, "connect", "topicpush", "--yes", "--secret-stdin", "--server", push.root);
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining("The change was taken back.") });
    expect(text(shell)).toBe(before);
    expect(existsSync(env(shell))).toBe(false);
    push.healthy = true;
    expect(await piped(shell, TOPIC, "connect", "topicpush", "--yes", "--secret-stdin", "--server", push.root)).toMatchObject({ code: 0 });
    expect(envText(shell)).toBe(`PUSH_TOPIC=${TOPIC}\n`);
    expect(statSync(env(shell)).mode & 0o777).toBe(0o600);
    expect(shell.config().channels).toEqual({ topicpush: { enabled: true, defaultTitle: "mine", topic: "${PUSH_TOPIC}", server: push.root } });
  });

  it("CLI-03 without a daemon it writes and says what is next; list shows svc.json, the others say that they need one", async () => {
    const shell = await shellWith(echoConfig());
    writeFileSync(env(shell), `PUSH_TOPIC=${TOPIC}\n`);
    expect((await lines(shell).svc("channel", "list")).out).toContain("set one up with: svc connect <channel>");
    const written = await lines(shell).svc("connect", "topicpush", "--yes");
    expect(written).toMatchObject({ code: 0, out: expect.stringContaining("Next: svc daemon start, then: svc channel test topicpush") });
    expect(await lines(shell).json("channel", "list")).toEqual([{ name: "topicpush", plugin: "channel-topicpush", state: "enabled" }]);
    for (const args of [["test", "topicpush"], ["pair"], ["send", "topicpush", "-", "x"]])
      expect(await lines(shell).svc("channel", ...args)).toMatchObject({ code: 69, err: expect.stringContaining("svc daemon start") });
  });

  it("what makes no sense is refused before anything is written", async () => {
    const shell = await shellWith(echoConfig());
    const { svc } = lines(shell, { BOTMSG_TOKEN: TOKEN, PUSH_TOPIC: TOPIC });
    const before = text(shell);
    for (const [args, code, words] of [
      [["botmsg"], 2, "with --yes"],
      [["nothing", "--yes"], 1, "botmsg (Telegram), forge_a (GitLab)"],
      [["topicpush", "--yes", "--agent", "echo"], 2, "--agent means nothing to topicpush"],
      [["topicpush", "--yes", "--token-env", "X"], 2, "--token-env means nothing to topicpush"],
      [["botmsg", "--yes", "--token-env", TOKEN], 2, "not its value"],
      [["botmsg", "--yes", "--agent", "nobody"], 1, "agent nobody"],
      [["botmsg", "--yes", "--account", "a.b"], 2, "no account name"],
      [["botmsg", "--yes", "--set", "apiRoot"], 2, "--set takes"],
      [["botmsg", "--yes", "--secret-stdin"], 2, "BOTMSG_TOKEN is set already"],
    ] as const) {
      const said = await svc("connect", ...args);
      expect([args, said.code, said.err]).toEqual([args, code, expect.stringContaining(words)]);
      expect(said.err).not.toContain("canary");
    }
    expect(text(shell)).toBe(before);
    expect(existsSync(env(shell))).toBe(false);
  });
});
