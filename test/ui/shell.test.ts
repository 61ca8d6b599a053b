import type { Browser, Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { NO_BROWSER, openBrowser } from "./kit/browser.ts";
import { type Dashboard, startDashboard } from "./kit/dashboard.ts";
import { judge, openPage } from "./kit/judge.ts";
import { views } from "./kit/views.ts";

describe.skipIf(NO_BROWSER !== undefined)("the frame of the pages", () => {
  let browser: Browser;
  let at: Dashboard;
  const open = async (path: string): Promise<Page> => {
    const page = await openPage(browser);
    await page.goto(at.url + path);
    await page.getByRole("navigation", { name: "Pages" }).first().waitFor();
    return page;
  };
  beforeAll(async () => {
    browser = await openBrowser();
    at = await startDashboard();
  });

  it("shows every page of the rail in both themes and three widths, without a finding", async () => {
    const page = await open("/plugins");
    await page.getByRole("heading", { name: "Plugins", level: 1 }).waitFor();
    await views(page, "shell", async () => {
      await judge(page);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      expect(wide).toBeLessThanOrEqual(0);
    });
  });
});
