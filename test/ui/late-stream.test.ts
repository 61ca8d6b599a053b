import type { Browser, Page } from "playwright-core";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { NO_BROWSER, openBrowser } from "./kit/browser.ts";
import { type Dashboard, startDashboard } from "./kit/dashboard.ts";
import { openPage } from "./kit/judge.ts";

describe.skipIf(NO_BROWSER)("a page whose live stream opens late", () => {
  let browser: Browser;
  let at: Dashboard;
  let page: Page;
  /** Lets the stream open. */
  let release: () => void;
  beforeAll(async () => {
    browser = await openBrowser();
  });
  beforeEach(async () => {
    at = await startDashboard({ config: { crons: { morning: { schedule: "0 9 * * 1-5", agent: "echo", prompt: "Good morning", enabled: false } } } });
    page = await openPage(browser);
    // Requests of a worker cannot be held: without one the page opens the stream itself.
    await page.addInitScript("delete globalThis.SharedWorker");
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route("**/api/ticket", async (route) => {
      await held;
      // The page may be closed by then.
      await route.continue().catch(() => undefined);
    });
    return async () => {
      release();
      await at.stop();
    };
  });
  const enable = async () => {
    const { revision } = await at.api<{ revision: string }>("GET", "/api/admin/settings");
    await at.api("PATCH", "/api/admin/settings", { edits: [{ path: ["crons", "morning", "enabled"], value: true }], expect: revision });
  };

  it("shows what changed before that as soon as it is open", async () => {
    await page.goto(`${at.url}/admin#schedules/morning`);
    await page.locator(".admin-fact-list").first().waitFor();
    await enable();
    await expect.poll(() => page.locator(".admin-moment").count()).toBe(0);
    release();
    await page.locator(".admin-moment").first().waitFor();
  });

  it("shows the next times of a schedule that it has saved itself, also without it", async () => {
    await page.goto(`${at.url}/admin#schedules/morning`);
    await page.getByRole("switch", { name: "Enabled" }).click();
    await page.getByRole("button", { name: /Review and save/ }).click();
    await page
      .getByRole("button", { name: /Save and reload/ })
      .and(page.locator(":not([aria-busy])"))
      .click();
    await page.locator(".admin-moment").first().waitFor();
  });
});
