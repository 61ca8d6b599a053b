import type { Browser, Page } from "playwright-core";
import { beforeAll, describe, it } from "vitest";
import { NO_BROWSER, openBrowser } from "./kit/browser.ts";
import { type Dashboard, startDashboard } from "./kit/dashboard.ts";
import { openPage } from "./kit/judge.ts";

describe.skipIf(NO_BROWSER !== undefined)("the live stream of a browser without shared workers", { timeout: 120_000 }, () => {
  let browser: Browser;
  let at: Dashboard;
  const say = (text: string) => at.api("POST", "/api/chat/echo", { text, chat: "test" });
  const row = (page: Page, text: string) => page.locator(".live-ended-list").getByText(text).first();
  let attempts = 0;
  beforeAll(async () => {
    browser = await openBrowser();
    at = await startDashboard();
  });

  it("shows what happens, without a reload", async () => {
    const text = `heard alone ${++attempts}`;
    const page = await openPage(browser);
    await page.addInitScript(() => Reflect.deleteProperty(globalThis, "SharedWorker"));
    await page.goto(`${at.url}/live`);
    await page.locator(".kit-presence-idle").first().waitFor({ state: "attached" });
    await page.getByText(/Nothing runs\./).waitFor();
    await say(text);
    await row(page, text).waitFor();
  });
});
