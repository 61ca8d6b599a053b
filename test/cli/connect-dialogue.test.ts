import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { FRIEND, startBotApi } from "../../plugins/channels/botmsg/bot-api.harness.ts";
import { echoConfig, openShell } from "../kit/svc.ts";
import { lacking, talk } from "./talk.harness.ts";

const TOKEN = "4242:canary-token-of-the-bot";
const WRONG = "1:canary-of-nobody";

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function stage() {
  const api = await startBotApi();
  closers.push(() => api.close());
  api.addBot(TOKEN, 42, "helper_bot");
  api.addChat(FRIEND.id);
  const shell = await openShell();
  shell.write(echoConfig({}, { channels: { botmsg: { enabled: false, apiRoot: api.root, accounts: {} } } }));
  expect(await shell.svc("daemon", "start")).toMatchObject({ code: 0 });
  closers.push(() => shell.end());
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
