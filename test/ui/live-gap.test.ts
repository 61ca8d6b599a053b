import type { Browser, Page } from "playwright-core";
import { beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { NO_BROWSER, openBrowser } from "./kit/browser.ts";
import { type Dashboard, startDashboard } from "./kit/dashboard.ts";
import { openPage, watch } from "./kit/judge.ts";
import { type Line, openLine } from "./kit/line.ts";

const TABS = 9;
const PATIENCE = { timeout: 60_000, interval: 50 };

describe.skipIf(NO_BROWSER !== undefined)("live data", () => {
  let browser: Browser;
  let at: Dashboard;
  let line: Line;
  const say = (text: string) => at.api<{ taskId: string }>("POST", "/api/chat/echo", { text, chat: "test" });
  const connected = (page: Page) => page.locator(".shell-daemon .kit-presence-idle").first().waitFor({ state: "attached" });
  const event = (page: Page, type: string, task: string) => page.locator(".live-events [role=row]").filter({ hasText: type }).filter({ hasText: task });
  beforeAll(async () => {
    browser = await openBrowser();
  });
  beforeEach(async () => {
    at = await startDashboard();
    line = await openLine(at.url);
    return async () => {
      await line.close();
      await at.stop();
    };
  });

  for (const shared of [true, false])
    it(`a number that is left out in the stream leads to a fresh reading of what is shown, ${shared ? "with" : "without"} a shared worker`, async () => {
      const page = await openPage(browser);
      if (!shared) await page.addInitScript(() => Reflect.deleteProperty(globalThis, "SharedWorker"));
      await page.goto(`${line.url}/live`);
      await connected(page);
      // One whole task is heard: from now on nothing but the stream brings what is new to the list of events.
      await say("the first");
      await event(page, "task:completed", "").first().waitFor();
      const before = line.asked("/api/tasks/events");
      const lost = line.loseNext('"task:started"');
      const { taskId } = await say("the second");
      await lost;
      await page.waitForFunction(() => document.querySelectorAll(".live-events [role=row]").length > 0);
      await vi.waitFor(() => expect(line.asked("/api/tasks/events")).toBeGreaterThan(before), PATIENCE);
      // What was lost stands at its place, between what came before and after it.
      await page.waitForFunction(
        () => [...document.querySelectorAll(".live-event-text")].filter((row) => row.textContent?.includes("task:started")).length === 2,
      );
      expect(taskId).toMatch(/^task_/);
      // The line itself was never cut: a stream that opens anew reads everything, too.
      expect(line.streams).toEqual({ open: 1, ever: 1 });
      await page.context().close();
    });

  it("nine tabs hear the same event over one stream, which ends with the last of them", async () => {
    const context = await browser.newContext();
    const pages = await Promise.all(Array.from({ length: TABS }, () => context.newPage()));
    for (const page of pages) watch(page);
    await Promise.all(pages.map((page) => page.goto(`${line.url}/live`)));
    await Promise.all(pages.map(connected));
    await say("heard in nine tabs");
    await Promise.all(pages.map((page) => page.locator(".live-ended-list").getByText("heard in nine tabs").first().waitFor()));
    expect(line.streams).toEqual({ open: 1, ever: 1 });
    for (const page of pages.slice(1)) await page.close();
    await say("heard in one tab");
    await (pages[0] as Page).locator(".live-ended-list").getByText("heard in one tab").first().waitFor();
    expect(line.streams).toEqual({ open: 1, ever: 1 });
    await context.close();
    await vi.waitFor(() => expect(line.streams.open).toBe(0), PATIENCE);
  });
});
