import { spawn } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { FRIEND, startBotApi } from "../../plugins/channels/botmsg/bot-api.harness.ts";
import { ROOT } from "../house/house.ts";
import { echoConfig, openShell, type Shell } from "../kit/svc.ts";

const TOKEN = "4242:canary-token-of-the-bot";
const WRONG = "1:canary-of-nobody";
const SCRIPT = "/usr/bin/script";

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** util-linux's `script` lends the program a terminal; other systems have another program by that name. */
const lacking = process.platform !== "linux" ? "no Linux" : existsSync(SCRIPT) ? undefined : `${SCRIPT} is not installed`;
if (lacking !== undefined) console.warn(`skipped, the dialogue of svc connect: ${lacking}`);

/** What a person at a terminal sees, and the status the program ended with. */
interface Talk {
  readonly code: number | null;
  readonly shown: string;
  /** The questions that were answered, in order. */
  readonly asked: readonly string[];
}

/** Answers each question as it comes; each pattern is one question, and may come once. Ctrl-C for a question that nobody expects. */
async function talk(shell: Shell, command: string, answers: readonly (readonly [question: RegExp, answer: string])[]): Promise<Talk> {
  const program = `'${process.execPath}' '${join(ROOT, "cli/bin/svc.mjs")}' ${command}`;
  const child = spawn(SCRIPT, ["-qec", program, "/dev/null"], { cwd: shell.folder, env: { ...process.env, SVC_CONFIG: "", SHELL: "/bin/sh", TERM: "xterm" } });
  const open = [...answers];
  const asked: string[] = [];
  let shown = "";
  let answered = 0;
  child.stdout.on("data", (chunk) => {
    shown += chunk;
    const tail = shown.slice(answered).replaceAll(/\u001b\[[0-9;?]*[A-Za-z]/g, "");
    const [question, answer] = open[0] ?? [];
    const found = question?.exec(tail)?.[0];
    if (found === undefined || answer === undefined) {
      if (/(\[[^\]]*\]|\(not shown\)): $/.test(tail)) child.stdin.write("\u0003");
      return;
    }
    open.shift();
    asked.push(found);
    answered = shown.length;
    child.stdin.write(`${answer}\r`);
  });
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { code, shown: shown.replaceAll("\r", ""), asked };
}

async function stage() {
  const api = await startBotApi();
  closers.push(() => api.close());
  api.addBot(TOKEN, 42, "helper_bot");
  api.addChat(FRIEND.id);
  const shell = await openShell();
  shell.write(echoConfig({}, { channels: { botmsg: { enabled: false, apiRoot: api.root, accounts: {} } } }));
  expect(await shell.svc("daemon", "start")).toMatchObject({ code: 0 });
  closers.push(() => shell.svc("daemon", "stop"));
  return { api, shell };
}

describe.skipIf(lacking !== undefined)("svc connect on a terminal", () => {
  it("explains, asks again after a wrong token, writes, and sends the test message; no secret is shown", async () => {
    const { api, shell } = await stage();
    const before = shell.config();
    const { code, shown, asked } = await talk(shell, "connect botmsg", [
      [/BOTMSG_TOKEN \(not shown\): $/, WRONG],
      [/Which account\? \[main\]: $/, ""],
      [/Which agent answers\? \[echo\]: $/, ""],
      [/Who may write \(ids, separated by commas\)\? \[nobody\]: $/, `${FRIEND.id}, @someone`],
      [/refuses the token.*Type BOTMSG_TOKEN again\? \[Y\/n\]: $/s, "y"],
      [/BOTMSG_TOKEN \(not shown\): $/, TOKEN],
      [/Send a test message to which chat\? \[none\]: $/, String(FRIEND.id)],
    ]);
    expect({ code, asked: asked.length }, shown).toEqual({ code: 0, asked: 7 });
    const explained = shown.indexOf("write `/newbot` to");
    expect(explained).toBeGreaterThanOrEqual(0);
    expect(explained).toBeLessThan(shown.indexOf("not shown"));
    expect(shown).toContain("Telegram (botmsg) is connected: main: @helper_bot");
    expect(shown).not.toContain("canary");

    expect(api.shown.map(({ chat, text }) => ({ chat, text }))).toEqual([{ chat: FRIEND.id, text: "This is svc: botmsg is connected." }]);
    const main = { token: "${BOTMSG_TOKEN}", agentBinding: "echo", allowFrom: [String(FRIEND.id), "@someone"] };
    expect(shell.config()).toEqual({ ...before, channels: { botmsg: { enabled: true, apiRoot: api.root, accounts: { main } } } });
    const kept = join(shell.folder, ".env");
    expect(readFileSync(kept, "utf8")).toBe(`BOTMSG_TOKEN=${TOKEN}\n`);
    expect(statSync(kept).mode & 0o777).toBe(0o600);
    expect(await shell.json("channel", "test", "botmsg")).toMatchObject({ ok: true, detail: "main: @helper_bot" });
  });

  it("given up after a wrong token, everything is as it was", async () => {
    const { api, shell } = await stage();
    const file = join(shell.folder, "svc.json");
    const before = readFileSync(file, "utf8");
    const { code, shown } = await talk(shell, "connect botmsg --account main --agent echo --allow 700", [
      [/BOTMSG_TOKEN \(not shown\): $/, WRONG],
      [/Type BOTMSG_TOKEN again\? \[Y\/n\]: $/, "n"],
      [/Take the change back\? \[Y\/n\]: $/, ""],
    ]);
    expect(code, shown).toBe(1);
    expect(shown).toContain("The change was taken back.");
    expect(shown).not.toContain("canary");
    expect(readFileSync(file, "utf8")).toBe(before);
    expect(existsSync(join(shell.folder, ".env"))).toBe(false);
    expect(api.shown).toEqual([]);
  });

  it("left in the middle, nothing was changed", async () => {
    const { shell } = await stage();
    const file = join(shell.folder, "svc.json");
    const before = readFileSync(file, "utf8");
    const { code, shown } = await talk(shell, "connect botmsg", [[/BOTMSG_TOKEN \(not shown\): $/, TOKEN]]);
    expect(code, shown).not.toBe(0);
    expect(readFileSync(file, "utf8")).toBe(before);
    expect(existsSync(join(shell.folder, ".env"))).toBe(false);
  });
});
