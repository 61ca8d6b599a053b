import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NO_BROWSER, openBrowser } from "./kit/browser.ts";
import { type Dashboard, echoAgent, startDashboard } from "./kit/dashboard.ts";
import { judge, openPage } from "./kit/judge.ts";
import { views } from "./kit/views.ts";

describe.skipIf(NO_BROWSER)("the card of the budgets", () => {
  let browser: Browser;
  let at: Dashboard;
  beforeAll(async () => {
    browser = await openBrowser();
    const budgets = { all: { day: { turns: 50, money: 5 } }, agents: { echo: { day: { turns: 1 } } }, prices: { "*": { input: 1, output: 1 } } };
    at = await startDashboard({ config: { agents: { echo: echoAgent() }, budgets } });
  });
  afterAll(() => browser?.close());

  it("stands on the live page, follows the turns, and bears every width in both themes", async () => {
    const page = await openPage(browser, { viewport: { width: 1600, height: 1000 } });
    await page.goto(`${at.url}/live`);
    const card = page.getByRole("region", { name: "Budgets" });
    await card.getByText("0 of 50 turns").waitFor();
    const headers = { "content-type": "application/json", accept: "application/json" };
    await fetch(`${at.daemon}/task`, { method: "POST", headers, body: JSON.stringify({ agent: "echo", message: "hello" }) });
    await card.getByText("1 of 50 turns").waitFor();
    await judge(page);
    await views(page, "budgets-card", async () => {
      await card.scrollIntoViewIfNeeded();
      await card.getByText("All agents, this day").first().waitFor();
      await expect.poll(() => card.getByRole("meter").count()).toBe(3);
    });
    await page.context().close();
  });
});
