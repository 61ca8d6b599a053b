import type { Browser, Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { NO_BROWSER, openBrowser } from "./kit/browser.ts";
import { type Dashboard, startDashboard } from "./kit/dashboard.ts";
import { judge, openPage } from "./kit/judge.ts";
import { walkByTab } from "./kit/keyboard.ts";
import { views } from "./kit/views.ts";

interface Answer {
  readonly channels: readonly { readonly name: string }[];
  readonly offered: readonly { readonly name: string; readonly package: string; readonly because?: string }[];
}

/** As an installation from npm has it: this program runs from its sources, where everything but one lies beside it. */
const CATALOGUE = [
  { name: "botmsg", package: "@svc/channel-botmsg", product: "Telegram", summary: "Bot accounts of a messaging app: people write to agents", bytes: 345_678 },
  { name: "teamchat", package: "@svc/channel-teamchat", product: "Slack", summary: "A bot in the workspaces of a team chat app", bytes: 456_789 },
];

describe.skipIf(NO_BROWSER)("channels that are not installed", { timeout: 180_000 }, () => {
  let browser: Browser;
  let at: Dashboard;
  beforeAll(async () => {
    browser = await openBrowser();
    at = await startDashboard();
  });
  const open = async (width = 1600): Promise<Page> => {
    const page = await openPage(browser, { viewport: { width, height: 900 }, permissions: ["clipboard-read", "clipboard-write"] });
    await page.route("**/api/admin/channels", async (route) => {
      const response = await route.fetch();
      const { offered, ...answer } = (await response.json()) as Answer;
      await route.fulfill({ response, json: { ...answer, offered: [...offered, ...CATALOGUE] } });
    });
    return page;
  };

  it("the daemon offers what the program could install, and nothing that is installed", async () => {
    const { channels, offered } = await at.api<Answer>("GET", "/api/admin/channels");
    expect(offered).toMatchObject([{ name: "phonemsg", package: "@svc/channel-phonemsg", because: expect.stringContaining("GPL") }]);
    expect(channels.map(({ name }) => name)).toContain("botmsg");
  });

  it("they stand below the others with their size; the command is there to copy, and nothing on the page installs", async () => {
    const page = await open();
    await page.goto(`${at.url}/admin#channels`);
    const list = page.getByRole("region", { name: "Not installed" });
    await expect.poll(() => list.getByRole("button").allInnerTexts()).toHaveLength(3);
    const slack = list.getByRole("button", { name: /Slack/ });
    expect(await slack.innerText()).toMatch(/teamchat\s+457 KB/);
    await slack.focus();
    await page.keyboard.press("Enter");
    const pane = page.getByRole("region", { name: "Slack", exact: true });
    await pane.getByText("A bot in the workspaces of a team chat app").waitFor();
    expect(await slack.getAttribute("aria-current")).toBe("true");
    expect(await pane.getByRole("button").allInnerTexts()).toEqual(["Copy the command"]);
    await pane.getByRole("button", { name: "Copy the command" }).focus();
    await page.keyboard.press("Enter");
    await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe("svc connect teamchat");
    expect((await walkByTab(page)).findings).toEqual([]);

    await page.goto(`${at.url}/admin#channels/not-installed-phonemsg`);
    await page.getByText("the GPL-3.0").waitFor();
    await page.getByRole("searchbox", { name: /Filter/ }).fill("telegr");
    await expect.poll(() => list.getByRole("button").allInnerTexts()).toHaveLength(1);
  });

  it("looks right in both themes and at every width", async () => {
    const page = await open();
    for (const [name, hash] of [
      ["not-installed", "channels/not-installed-botmsg"],
      ["not-installed-list", "channels"],
    ] as const) {
      await page.goto(`${at.url}/admin#${hash}`);
      await page.getByText("Not installed").first().waitFor();
      await views(page, name, async () => {
        expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
        await judge(page);
      });
    }
  });
});
