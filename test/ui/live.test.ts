import type { Browser, Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { NO_BROWSER, openBrowser } from "./kit/browser.ts";
import { type Dashboard, startDashboard } from "./kit/dashboard.ts";
import { judge, openPage } from "./kit/judge.ts";
import { AGENTS, pastDays } from "./kit/past-days.ts";
import { views } from "./kit/views.ts";

const ONE_MINUTE = 60_000;

describe.skipIf(NO_BROWSER !== undefined)("the page of what happens now", { timeout: 120_000 }, () => {
  let browser: Browser;
  let at: Dashboard;
  const open = async (path: string): Promise<Page> => {
    const page = await openPage(browser);
    await page.goto(at.url + path);
    await page.getByRole("heading", { name: "Live", level: 1 }).waitFor();
    return page;
  };
  const say = (agent: string, text: string) => at.api<{ taskId: string }>("POST", `/api/chat/${agent}`, { text, chat: "test" });
  beforeAll(async () => {
    browser = await openBrowser();
    at = await startDashboard({
      config: { agents: AGENTS, node: { id: "workshop", name: "workshop", bind: "127.0.0.1:0", defaultAgent: "reviewer" } },
      prepare: async (folder) => void (await pastDays(folder, 2_000)),
    });
  }, ONE_MINUTE);

  it("is well to look at in both themes and three widths, with every kind of name", async () => {
    await say(
      "held",
      "@reviewer please look at the retry logic again, the back-off in src/net/retry-with-exponential-backoff-and-jitter.ts seems to wait far too long when the server says otherwise",
    );
    await say("held", "and then this one, too");
    const page = await open("/live");
    await page.getByText("echo-tool").first().waitFor();
    await page.getByText(/of \d+ slots/).waitFor();
    await views(page, "live", async ({ width }) => {
      await judge(page);
      expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
      if (width > 1_100) await page.getByText("Donaudampfschiff").first().waitFor();
    });
  });

  it("talks with an agent whose answer grows", async () => {
    const page = await open("/live?chat=slow");
    await page
      .getByRole("textbox", { name: "Message to Slow speaker" })
      .fill("Does the retry in !4182 respect the server's Retry-After? 日本語のコメントはそのままで。");
    await page.keyboard.press("Enter");
    await page.locator(".live-turn-growing").waitFor();
    await page
      .getByText(/日本語のコメント/)
      .nth(1)
      .waitFor();
    await page.getByRole("textbox", { name: "Message to Slow speaker" }).fill("Thanks; now with a test.");
    await page.keyboard.press("Enter");
    await views(page, "chat", () => judge(page));
  });
});
