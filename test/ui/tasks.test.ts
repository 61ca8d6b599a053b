import type { Browser, Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { NO_BROWSER, openBrowser } from "./kit/browser.ts";
import { type Dashboard, startDashboard } from "./kit/dashboard.ts";
import { judge, openPage } from "./kit/judge.ts";
import { AGENTS, pastDays } from "./kit/past-days.ts";
import { views } from "./kit/views.ts";

const COUNT = Number(process.env.SVC_SOAK ?? 0) > 0 ? 100_000 : 12_000;
const TWO_MINUTES = 120_000;

describe.skipIf(NO_BROWSER !== undefined)("the pages of tasks", { timeout: TWO_MINUTES }, () => {
  let browser: Browser;
  let at: Dashboard;
  let ids: readonly string[];
  const open = async (path: string, title: string | RegExp = "Tasks"): Promise<Page> => {
    const page = await openPage(browser);
    await page.goto(at.url + path);
    await page.getByRole("heading", { name: title, level: 1 }).waitFor();
    return page;
  };
  beforeAll(async () => {
    browser = await openBrowser();
    at = await startDashboard({
      config: { agents: AGENTS, node: { id: "workshop", name: "workshop", bind: "127.0.0.1:0", defaultAgent: "reviewer" } },
      prepare: async (folder) => {
        ids = await pastDays(folder, COUNT);
      },
    });
  }, TWO_MINUTES);

  it("lists all of them, in both themes and three widths", async () => {
    const page = await open("/tasks");
    await page.getByText(`${COUNT.toLocaleString("en")} tasks`).waitFor();
    await page.getByRole("row").nth(5).waitFor();
    await views(page, "tasks", async () => {
      await page.getByRole("row").nth(5).waitFor();
      await judge(page);
      await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
    });
    await expect.poll(() => page.getByRole("grid", { name: "Tasks" }).getAttribute("aria-rowcount")).toBe(String(COUNT));
  });

  it("scrolls to any place of the list and shows what stands there", async () => {
    const page = await open("/tasks");
    const grid = page.getByRole("grid", { name: "Tasks" });
    await page.getByRole("row").nth(5).waitFor();
    await grid.evaluate((element) => element.scrollTo(0, element.scrollHeight));
    await page.locator(`[aria-rowindex="${COUNT}"] .tasks-text`).waitFor();
    await grid.focus();
    await page.keyboard.press("End");
    await page.keyboard.press("Enter");
    await page.waitForURL(`**/tasks/${ids[0]}`);
    await page.goBack();
    await page.getByRole("row").first().waitFor();
  });

  it("is narrowed by words that stand in the address, and says what it does not understand", async () => {
    const page = await open("/tasks");
    const search = page.getByRole("searchbox", { name: "Filter tasks" });
    // The key is heard once the page has drawn itself for what it has read.
    await expect
      .poll(async () => {
        await page.keyboard.press("/");
        return search.evaluate((box) => box === document.activeElement);
      })
      .toBe(true);
    await search.fill("");
    await page.keyboard.type("agent:night-crawler state:timed-out since:30d");
    await page.waitForURL(/agent=night-crawler&state=timed-out&since=30d/);
    await page.locator(".kit-glyph-timed-out").first().waitFor();
    await expect.poll(() => page.locator(".tasks-list .kit-glyph:not(.kit-glyph-timed-out)").count()).toBe(0);
    await search.fill("colour:red");
    await page.getByText("There is no filter colour:red").waitFor();
    await search.fill('"needle"');
    await page
      .getByText(/Needle \d+/)
      .first()
      .waitFor();
    await search.fill("agent:nobody");
    await page.getByText("Nothing matches").waitFor();
    await judge(page);
    await page.getByRole("button", { name: "Clear filter" }).click();
    await page.getByText(`${COUNT.toLocaleString("en")} tasks`).waitFor();
    await page.getByRole("button", { name: /State$/ }).click();
    await page.getByRole("menuitemradio", { name: "failed" }).click();
    await page.waitForURL(/state=failed/);
    await page.locator(".kit-glyph-failed").first().waitFor();
  });

  it("one task is open at its failed step, and told by the keyboard alone", async () => {
    const failed = ids.findLast((_, n) => n % 5 === 0 && n % 23 !== 7 && n % 41 !== 3 && n % 61 !== 11) as string;
    const page = await open(`/tasks/${failed}`, /.+/);
    await page.getByText("AssertionError: expected 2000 to be 30000").waitFor();
    await page.getByText("The agent went on. The task itself is ok.").waitFor();
    await views(page, "task", async () => {
      await judge(page);
      await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
    });
    await page.setViewportSize({ width: 1600, height: 1000 });
    await page.keyboard.press("k");
    await page.getByRole("region", { name: "Step read_file" }).waitFor();
    await page.keyboard.press("e");
    await page.getByRole("region", { name: "Step shell" }).waitFor();
    await page.keyboard.press("ArrowLeft");
    await page.locator('[data-step="step-0"]').waitFor({ state: "detached" });
    await page.keyboard.press("ArrowRight");
    await page.locator('[data-step="step-0"]').waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("region", { name: "Step shell" }).waitFor({ state: "detached" });
    await page.keyboard.press("]");
    await page.waitForURL((url) => !url.pathname.endsWith(failed));
  });

  it("shows what the agent was told, and runs the message once more after it has said that effects happen again", async () => {
    const { taskId } = await at.api<{ taskId: string }>("POST", "/api/chat/slow", { text: "Say this back, slowly", chat: "replay" });
    const page = await open(`/tasks/${taskId}`, "Say this back, slowly");
    await page.getByRole("button", { name: "Replay..." }).waitFor();
    await page.getByText("Rules of the channel").waitFor();
    await page.getByRole("button", { name: "Read the whole prompt...", exact: true }).click();
    await page.getByRole("dialog", { name: "The whole prompt" }).waitFor();
    await judge(page);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Replay..." }).click();
    await page.getByText("Effects happen again: it may write, send and spend.").waitFor();
    await judge(page);
    await page.getByRole("textbox", { name: "Message" }).fill("Say that back");
    await page.getByRole("dialog").getByRole("button", { name: "Replay" }).click();
    await page.waitForURL(new RegExp(`of=${taskId}`));
    await page.getByText("Replay of").waitFor();
    await page.getByRole("heading", { name: "Say that back", level: 1 }).waitFor();
    await page.getByRole("button", { name: "Replay..." }).waitFor();
  });

  it("an unknown task is said to be none", async () => {
    const page = await open("/tasks/task_none", "task_none");
    await page.getByText("There is no such task, or it is not kept any more.").waitFor();
    await judge(page);
  });
});
