import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type GuildFarEnd, startGuildFarEnd } from "../kit/guildchat/server.ts";
import { NO_BROWSER, openBrowser } from "./kit/browser.ts";
import { type Dashboard, echoAgent, startDashboard } from "./kit/dashboard.ts";
import { judge, openPage } from "./kit/judge.ts";
import { views } from "./kit/views.ts";

const TOKEN = "CANARY.guild.token-of-a-page";

describe.skipIf(NO_BROWSER)("Connect... in /admin", () => {
  let browser: Browser;
  let far: GuildFarEnd;
  let at: Dashboard;
  let page: Page;
  beforeAll(async () => {
    browser = await openBrowser();
  });
  beforeEach(async () => {
    far = await startGuildFarEnd({ token: TOKEN });
    at = await startDashboard({
      config: { agents: { echo: echoAgent(), anna: echoAgent({ name: "Anna" }) }, channels: { guildchat: { enabled: false, apiRoot: far.root } } },
    });
    page = await openPage(browser);
    return async () => {
      await page.context().close();
      await at.stop();
      await far.close();
    };
  });
  const file = () => readFileSync(join(at.folder, "svc.json"), "utf8");
  const variables = () => (existsSync(join(at.folder, ".env")) ? readFileSync(join(at.folder, ".env"), "utf8") : "");
  const answer = async (label: RegExp | string, value: string) => {
    await page.getByRole("dialog").getByLabel(label).fill(value);
    await page.keyboard.press("Enter");
  };

  it("walks the set-up of a guild: a wrong token is told by the platform, then it is connected, and a test message arrives", async () => {
    const { place } = far.addGuild("The Garden");
    const before = file();
    await page.goto(`${at.url}/admin#channels/guildchat`);
    await page.getByRole("button", { name: "Connect..." }).click();
    const dialog = page.getByRole("dialog");
    await expect.poll(() => dialog.getByLabel("Server").inputValue()).toBe(far.root);
    await dialog.getByRole("button", { name: "Begin" }).click();
    await answer("GUILDCHAT_TOKEN", "not-the-token");
    await dialog.getByText(/refuses the token/).waitFor();
    await judge(page);
    expect([file(), variables()]).toEqual([before, ""]);

    await dialog.getByRole("button", { name: "Begin again" }).click();
    await answer("GUILDCHAT_TOKEN", TOKEN);
    await dialog.getByRole("radio", { name: "anna" }).check();
    await views(page, "connect", () => judge(page));
    await dialog.getByRole("button", { name: "Answer" }).click();
    await dialog.getByText("Asking Discord who this is").waitFor();
    const who = dialog.getByLabel(/Who may write/);
    await expect.poll(() => who.inputValue()).toBe(far.owner.id);
    await page.keyboard.press("Enter");
    await dialog.getByText("What is left to do").waitFor();
    await dialog.getByText(/Then mention @helper/).waitFor();
    expect(JSON.parse(file())).toMatchObject({
      channels: { guildchat: { enabled: true, token: "${GUILDCHAT_TOKEN}", agentBinding: "anna", allowFrom: [far.owner.id] } },
    });
    expect(variables()).toContain(TOKEN);
    await expect.poll(() => far.gateway.connected, { timeout: 60_000 }).toBe(1);
    await dialog.getByLabel("Chat").fill(place.id);
    await judge(page);
    await dialog.getByRole("button", { name: "Send" }).click();
    await page.getByText("The platform has it.", { exact: true }).waitFor();
    expect(JSON.stringify(far.world.at(place.id))).toContain("A test from the dashboard.");
    expect(await page.content()).not.toContain(TOKEN);
    expect(at.process.said()).not.toContain(TOKEN);
  });

  it("a set-up that is closed in the middle writes nothing, and answers to it are refused", async () => {
    const before = file();
    const begun = await at.api<{ id: string; state: string }>("POST", "/api/admin/channels/guildchat/setup", { server: far.root });
    const look = () => at.api<{ state: string; question?: { number: number; secret?: true } }>("GET", `/api/admin/setups/${begun.id}`);
    await expect.poll(async () => (await look()).state).toBe("asking");
    expect((await look()).question).toMatchObject({ number: 1, secret: true });
    await expect(at.api("POST", `/api/admin/setups/${begun.id}/answer`, { number: 2, value: TOKEN })).rejects.toThrow("409");
    await at.api("DELETE", `/api/admin/setups/${begun.id}`);
    await expect(at.api("POST", `/api/admin/setups/${begun.id}/answer`, { number: 1, value: TOKEN })).rejects.toThrow("404");
    await expect(at.api("GET", "/api/admin/setups/..")).rejects.toThrow("404");
    await expect(at.api("POST", "/api/admin/channels/nowhere/setup", {})).rejects.toThrow("404");
    // One that asks nothing by itself has a form instead.
    await expect(at.api("POST", "/api/admin/channels/botmsg/setup", {})).rejects.toThrow("409");
    expect([file(), variables()]).toEqual([before, ""]);
  });
});
