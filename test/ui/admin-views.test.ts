import type { Browser, Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { NO_BROWSER, openBrowser } from "./kit/browser.ts";
import { type Dashboard, echoAgent, startDashboard } from "./kit/dashboard.ts";
import { judge, openPage } from "./kit/judge.ts";
import { views } from "./kit/views.ts";

const LONG = "翻訳アシスタント（日本語・中文）とても長い名前 مساعد الجدولة with-a-word-that-does-not-end-for-a-very-long-time";
const PAGES = [
  ...["agents/long", "channels/botmsg", "schedules", "webhooks", "mesh", "business", "boards", "actions", "tokens", "advanced"].map((tab) => `/admin#${tab}`),
  "/plugins?plugin=feature-dashboard",
  "/setup",
];

describe.skipIf(NO_BROWSER)("the pages of the administration", () => {
  let browser: Browser;
  let at: Dashboard;
  beforeAll(async () => {
    browser = await openBrowser();
    at = await startDashboard({
      config: {
        agents: { echo: echoAgent({ mentions: ["@echo", "@two"], maxExecutionMinutes: 30 }), long: echoAgent({ name: LONG }) },
        providers: { main: { apiKey: "CANARY-views-secret-0000001" } },
        crons: { morning: { schedule: "0 9 * * 1-5", agent: "echo", prompt: "Good morning", enabled: true } },
        webhooks: [{ id: "ci", source: "ci", agentId: "echo" }],
        mesh: { enabled: false, peers: [{ name: "far", url: "http://127.0.0.1:9", token: "${FAR_TOKEN}" }] },
        business: { orgChart: { ada: { role: "lead", workingWindow: { start: "09:00", end: "17:00", days: ["mon", "tue"] } } } },
      },
      env: { FAR_TOKEN: "a-token-of-the-far-peer-0001" },
    });
    await at.api("POST", "/api/admin/tokens", { name: LONG.slice(0, 90), scopes: ["dashboard:read"] });
  });
  /** Something of the page itself is there, and nothing is being read any more. */
  const settled = (page: Page) =>
    page.waitForFunction(
      () =>
        document.querySelector(".admin-entry,.plugins-row,.setup-choice,.admin-table,.kit-state,.form-row") !== null &&
        document.querySelector(".kit-loading") === null,
    );

  it.each(PAGES)(
    "%s is drawn in both themes and three widths without a finding",
    async (path) => {
      const page = await openPage(browser);
      await page.goto(at.url + path);
      await settled(page);
      await views(page, path.replace(/[^a-z]+/g, "-").replace(/^-|-$/g, ""), async () => {
        await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
        await judge(page);
      });
      await page.context().close();
    },
    180_000,
  );
});
