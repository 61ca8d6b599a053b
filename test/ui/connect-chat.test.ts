import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { FRIEND, startBotApi } from "../../plugins/channels/botmsg/bot-api.harness.ts";
import { startTeamchat } from "../kit/teamchat/server.ts";
import { NO_BROWSER, openBrowser } from "./kit/browser.ts";
import { type Dashboard, echoAgent, startDashboard } from "./kit/dashboard.ts";
import { judge, openPage } from "./kit/judge.ts";
import { views } from "./kit/views.ts";

const BOT = "4242:canary-token-of-the-bot";
const TEAM_BOT = "xoxb-CANARY-bot-of-a-page";
const TEAM_APP = "xapp-1-CANARY-app-of-a-page";

describe.skipIf(NO_BROWSER)("Connect... in /admin for chats", { timeout: 120_000 }, () => {
  let browser: Browser;
  let at: Dashboard;
  let page: Page;
  beforeAll(async () => {
    browser = await openBrowser();
  });
  beforeEach(() => async () => {
    await page?.context().close();
    await at?.stop();
  });
  const begin = async (channels: object, channel: string) => {
    at = await startDashboard({ config: { agents: { echo: echoAgent(), anna: echoAgent({ name: "Anna" }) }, channels } });
    page = await openPage(browser);
    page.setDefaultTimeout(30_000);
    await page.goto(`${at.url}/admin#channels/${channel}`);
    await page.getByRole("button", { name: "Connect..." }).click();
  };
  const dialog = () => page.getByRole("dialog");
  const file = () => readFileSync(join(at.folder, "svc.json"), "utf8");
  const section = (name: string) => (JSON.parse(file()) as { channels: Record<string, object> }).channels[name];
  const variables = () => (existsSync(join(at.folder, ".env")) ? readFileSync(join(at.folder, ".env"), "utf8") : "");
  const answer = async (label: RegExp | string, value: string) => {
    await dialog().getByLabel(label).fill(value);
    await page.keyboard.press("Enter");
  };
  const keepsSecrets = async (...secrets: readonly string[]) => {
    const shown = await page.content();
    for (const secret of secrets) {
      expect(shown.includes(secret)).toBe(false);
      expect(at.process.said().includes(secret)).toBe(false);
      expect(file().includes(secret)).toBe(false);
      expect(variables()).toContain(secret);
    }
  };

  it("teamchat: the app to paste is shown, swapped tokens are told in words, then it is connected and a message of a person is answered", async () => {
    const far = await startTeamchat();
    try {
      const { bot } = far.addWorkspace("T1", { name: "The Garden", botToken: TEAM_BOT, appToken: TEAM_APP });
      far.addPerson("T1", "U0ANNA", "anna");
      far.addRoom("T1", "im", "D1", ["U0ANNA", bot.id]);
      await begin({ teamchat: { enabled: false, apiRoot: far.root } }, "teamchat");
      const before = file();
      expect(await dialog().getByLabel("Server").inputValue()).toBe(far.root);
      await dialog().getByRole("button", { name: "Begin" }).click();
      await dialog().getByText("From a manifest, pick the workspace", { exact: false }).waitFor();
      await answer("TEAMCHAT_BOT_TOKEN", TEAM_APP);
      await answer("TEAMCHAT_APP_TOKEN", TEAM_BOT);
      await dialog()
        .locator(".admin-talk-error")
        .getByText(/TEAMCHAT_/)
        .waitFor();
      expect([file(), variables()]).toEqual([before, ""]);
      await judge(page);

      await dialog().getByRole("button", { name: "Begin again" }).click();
      await answer("TEAMCHAT_BOT_TOKEN", TEAM_BOT);
      await answer("TEAMCHAT_APP_TOKEN", TEAM_APP);
      await dialog().getByRole("radio", { name: "anna" }).check();
      await views(page, "connect-teamchat", () => judge(page));
      await dialog().getByRole("button", { name: "Answer" }).click();
      await dialog().getByText("Asking the platform about both tokens").waitFor();
      await answer(/Who may write\?/, "u-anna");
      await dialog()
        .getByText(/'u-anna' is no id of the platform/)
        .waitFor();
      expect([file(), variables()]).toEqual([before, ""]);
      await dialog().getByRole("button", { name: "Begin again" }).click();
      await answer("TEAMCHAT_BOT_TOKEN", TEAM_BOT);
      await answer("TEAMCHAT_APP_TOKEN", TEAM_APP);
      await dialog().getByRole("radio", { name: "anna" }).check();
      await dialog().getByRole("button", { name: "Answer" }).click();
      await answer(/Who may write\?/, "U0ANNA");
      await dialog().getByText("What is left to do").waitFor();
      expect(section("teamchat")).toMatchObject({
        enabled: true,
        botToken: "${TEAMCHAT_BOT_TOKEN}",
        appToken: "${TEAMCHAT_APP_TOKEN}",
        agentBinding: "anna",
        allowFrom: ["U0ANNA"],
      });
      await dialog().getByRole("form", { name: "Send a test message" }).waitFor();
      await dialog().getByLabel("Chat").fill("D1");
      await dialog().getByRole("button", { name: "Send" }).click();
      await page.getByText("The platform has it.", { exact: true }).waitFor();
      expect(far.shown("D1").map(({ words }) => words)).toContain("A test from the dashboard.");
      far.say("D1", { user: "U0ANNA", text: "are you there?" });
      await expect.poll(() => far.shown("D1").some(({ words }) => words.includes("are you there?")), { timeout: 60_000 }).toBe(true);
      await judge(page);
      await keepsSecrets(TEAM_BOT, TEAM_APP);
      expect(far.violations).toEqual([]);
    } finally {
      await far.close();
    }
  });

  it("botmsg: a wrong token is told by the platform, a right one takes its place, and a person who writes is heard", async () => {
    const far = await startBotApi();
    try {
      far.addBot(BOT, 42, "helper_bot");
      far.addChat(FRIEND.id);
      await begin({ botmsg: { enabled: false, apiRoot: far.root, accounts: {} } }, "botmsg");
      await dialog()
        .getByText(/\/newbot/)
        .waitFor();
      await dialog().getByLabel("BOTMSG_TOKEN").fill("1:wrong-canary");
      const agent = dialog().getByRole("combobox", { name: "Agent that answers" });
      await agent.fill("anna");
      await agent.press("Enter");
      await dialog().getByLabel("Who may write").fill(`${FRIEND.id}`);
      await views(page, "connect-botmsg", () => judge(page));
      await dialog().getByRole("button", { name: "Keep and connect" }).click();
      await dialog()
        .getByText(/It is not connected: .*token/s)
        .waitFor();
      await judge(page);
      await dialog().getByLabel("BOTMSG_TOKEN").fill(BOT);
      await dialog().getByRole("button", { name: "Keep and connect" }).click();
      await dialog().getByRole("form", { name: "Send a test message" }).waitFor();
      expect(section("botmsg")).toMatchObject({ enabled: true, accounts: { main: { token: "${BOTMSG_TOKEN}", agentBinding: "anna" } } });
      await expect.poll(() => far.polls(BOT), { timeout: 60_000 }).toBeGreaterThan(0);
      await dialog().getByLabel("Chat").fill(String(FRIEND.id));
      await dialog().getByRole("button", { name: "Send" }).click();
      await page.getByText("The platform has it.", { exact: true }).waitFor();
      far.say(BOT, { chat: FRIEND.id, from: FRIEND, text: "are you there?" });
      // Who is on the list is heard, and known after the operator has confirmed it.
      await expect.poll(() => far.shown.some(({ text }) => text.startsWith("This bot does not know you yet.")), { timeout: 60_000 }).toBe(true);
      expect(far.shown.map(({ text }) => text)).toContain("A test from the dashboard.");
      await judge(page);
      await dialog().getByRole("button", { name: "Done" }).click();
      const people = page.getByRole("region", { name: "People who wait to be confirmed" });
      await people.getByText("Ada Byron").waitFor();
      const code = /svc channel pair (\w{8})/.exec(far.shown.map(({ text }) => text).join("\n"))?.[1] as string;
      // Who waits is shown; the code is with the person alone.
      expect(await page.content()).not.toContain(code);
      await views(page, "channel-people", () => judge(page));
      await people.getByRole("button", { name: "Confirm" }).press("Enter");
      await people.getByText("Write the code that the person tells you.").waitFor();
      await people.getByLabel("Code").fill("WRONGONE");
      await page.keyboard.press("Enter");
      await people.getByText("No sender waits under this code", { exact: false }).waitFor();
      await judge(page);
      await people.getByLabel("Code").fill(code.toLowerCase());
      await page.keyboard.press("Enter");
      await people.getByText("Ada Byron is confirmed, and was asked to write again.").waitFor();
      await people.getByText("Nobody waits.", { exact: false }).waitFor();
      await expect.poll(() => far.shown.some(({ text }) => text.startsWith("You are confirmed."))).toBe(true);
      far.say(BOT, { chat: FRIEND.id, from: FRIEND, text: "and now?" });
      await expect.poll(() => far.shown.some(({ text }) => text.includes("and now?")), { timeout: 60_000 }).toBe(true);
      await judge(page);
      await keepsSecrets(BOT);
    } finally {
      await far.close();
    }
  });
});
