import type { Browser, Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { NO_BROWSER, openBrowser } from "./kit/browser.ts";
import { type Dashboard, startDashboard } from "./kit/dashboard.ts";
import { judge, openPage } from "./kit/judge.ts";

describe.skipIf(NO_BROWSER !== undefined)("a page with unsaved changes", () => {
  let browser: Browser;
  let at: Dashboard;
  const heading = (page: Page, name: string) => page.getByRole("heading", { name, level: 1, exact: true });
  const rail = (page: Page, name: string) => page.getByRole("navigation", { name: "Pages" }).first().getByRole("link", { name }).click();
  beforeAll(async () => {
    browser = await openBrowser();
    at = await startDashboard();
  });

  it("asks before Back and Forward leave it, keeps what was typed, and leaves when it may", async () => {
    const page = await openPage(browser);
    await page.goto(`${at.url}/tasks`);
    await heading(page, "Tasks").waitFor();
    await rail(page, "Admin");
    const field = page.getByRole("textbox", { name: "Name", exact: true }).first();
    await field.fill("Another name");
    await field.blur();
    await page
      .getByText(/1 change/)
      .first()
      .waitFor();
    let answer = false;
    const asked: string[] = [];
    page.on("dialog", (dialog) => {
      asked.push(dialog.type());
      void (answer ? dialog.accept() : dialog.dismiss());
    });
    await page.evaluate(() => history.back());
    await expect.poll(() => asked.length, { timeout: 60_000 }).toBe(1);
    // The step back is taken back: the address is that of the page again.
    await page.waitForFunction(() => location.pathname === "/admin");
    expect(await field.inputValue()).toBe("Another name");
    answer = true;
    await page.evaluate(() => history.back());
    await heading(page, "Tasks").waitFor();
    expect(asked).toEqual(["confirm", "confirm"]);
    // Forward leads on: the history is as it was.
    await page.evaluate(() => history.forward());
    await heading(page, "Admin").waitFor();
    await judge(page);
  });

  it("a new session of a chat is undone, with what was said before", async () => {
    const page = await openPage(browser);
    await page.goto(`${at.url}/live?chat=echo`);
    await page.getByRole("textbox", { name: "Message to Echo" }).fill("said before");
    await page.keyboard.press("Enter");
    await page.getByText("Echo has answered.").waitFor({ state: "attached" });
    const turn = page.locator(".live-turn").filter({ hasText: "said before" }).first();
    await page.getByRole("button", { name: "New session" }).click();
    await turn.waitFor({ state: "detached" });
    await page.locator(".shell-toast").getByRole("button", { name: "Undo" }).click();
    await turn.waitFor();
    await judge(page);
  });
});
