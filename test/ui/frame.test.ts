import type { Browser, Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { NO_BROWSER, openBrowser } from "./kit/browser.ts";
import { type Dashboard, startDashboard } from "./kit/dashboard.ts";
import { judge, openPage } from "./kit/judge.ts";
import { views } from "./kit/views.ts";

const TABS = 9;

describe.skipIf(NO_BROWSER !== undefined)("the frame in use", () => {
  let browser: Browser;
  let at: Dashboard;
  const rail = (page: Page) => page.getByRole("navigation", { name: "Pages" }).first();
  const heading = (page: Page, name: string) => page.getByRole("heading", { name, level: 1, exact: true });
  const search = (page: Page) => page.getByRole("combobox", { name: "Search or run..." });
  const connected = (page: Page) => page.locator(".kit-presence-idle").first().waitFor({ state: "attached" });
  const open = async (path: string): Promise<Page> => {
    const page = await openPage(browser);
    await page.goto(at.url + path);
    await connected(page);
    return page;
  };
  beforeAll(async () => {
    browser = await openBrowser();
    at = await startDashboard();
  });

  it("goes to Live where there is no board, and to every page of the rail by mouse and by two keys", async () => {
    const page = await open("/");
    await page.waitForURL(`${at.url}/live`);
    const pages = { l: "Live", i: "Inbox", p: "Processes", w: "Workflows", t: "Tasks", u: "Plugins", a: "Admin" };
    for (const [key, title] of Object.entries(pages)) {
      await page.keyboard.press("g");
      await page.keyboard.press(key);
      await heading(page, title).waitFor();
      await expect.poll(() => rail(page).locator("[aria-current=page]").textContent()).toContain(title);
    }
    for (const title of ["Tasks", "Plugins"]) {
      await rail(page).getByRole("link", { name: title }).click();
      await heading(page, title).waitFor();
    }
    await page.goBack();
    await heading(page, "Tasks").waitFor();
  });

  it("tells every key at ?, and single keys can be turned off", async () => {
    const page = await open("/plugins");
    await page.keyboard.press("?");
    const keys = page.getByRole("dialog", { name: "Keys" });
    await keys.getByText("Go to Live").waitFor();
    await views(page, "keys", () => judge(page));
    await page.setViewportSize({ width: 1600, height: 1000 });
    await keys.getByRole("checkbox", { name: "Single keys work" }).uncheck();
    await page.keyboard.press("Escape");
    await keys.waitFor({ state: "detached" });
    await page.keyboard.press("?");
    await page.keyboard.press("\\");
    await expect.poll(() => page.locator(".shell[data-folded]").count()).toBe(0);
    await page.keyboard.press("Control+k");
    await search(page).waitFor();
    await expect.poll(() => keys.count()).toBe(0);
  });

  it("Ctrl-K finds pages, agents, tasks and commands by keyboard, and gives the focus back", async () => {
    const page = await open("/plugins");
    await page.keyboard.press("Tab");
    await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe("Skip to the page");
    await page.keyboard.press("Control+k");
    await search(page).fill("ech");
    const found = page.getByRole("option", { name: "echo: chat" });
    await found.waitFor();
    await expect.poll(() => found.getAttribute("aria-selected")).toBe("true");
    await views(page, "palette", () => judge(page));
    await page.setViewportSize({ width: 1600, height: 1000 });
    await search(page).fill(">");
    await page.getByRole("option").first().waitFor();
    await expect.poll(() => page.getByRole("group", { name: "Agents" }).count()).toBe(0);
    await search(page).fill("@zzz");
    await page.getByText("Nothing fits @zzz.").waitFor();
    await page.keyboard.press("Escape");
    await search(page).waitFor({ state: "detached" });
    await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe("Skip to the page");
    await page.keyboard.press("Control+k");
    await search(page).fill("task");
    await page.getByRole("option", { name: "Tasks" }).first().waitFor();
    await page.keyboard.press("Enter");
    await heading(page, "Tasks").waitFor();
  });

  it("folds the rail, keeps the theme, and fits 320 pixels and forced colours", async () => {
    const page = await open("/plugins");
    await page.keyboard.press("\\");
    await page.locator(".shell[data-folded]").waitFor();
    await judge(page);
    await page.reload();
    await page.locator(".shell[data-folded]").waitFor();
    await page.keyboard.press("\\");
    await page.getByRole("button", { name: /workshop/ }).click();
    await page.getByRole("menuitemradio", { name: "Dark" }).click();
    const dark = () => page.evaluate(() => getComputedStyle(document.body.parentElement as Element).backgroundColor);
    await expect.poll(() => dark()).toBe("rgb(19, 20, 18)");
    await page.reload();
    await connected(page);
    await expect.poll(() => dark()).toBe("rgb(19, 20, 18)");
    await page.setViewportSize({ width: 320, height: 640 });
    await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(320);
    await page.getByRole("button", { name: "More" }).click();
    await page.getByRole("menuitem", { name: "Tasks" }).click();
    await heading(page, "Tasks").waitFor();
    await judge(page);
    // With the system's colours a ground says nothing: what is chosen has a border.
    await page.emulateMedia({ forcedColors: "active" });
    await page.setViewportSize({ width: 1600, height: 1000 });
    const chosen = rail(page).locator("[aria-current=page]");
    await expect.poll(() => chosen.evaluate((link) => getComputedStyle(link).outlineStyle)).toBe("solid");
  });

  it("nine tabs work: they share the one stream of the browser, which leaves its other connections free", async () => {
    const context = await browser.newContext();
    const pages = await Promise.all(Array.from({ length: TABS }, () => context.newPage()));
    await Promise.all(pages.map((page) => page.goto(`${at.url}/plugins`)));
    await Promise.all(pages.map(connected));
    const answers = await Promise.all(pages.map((page) => page.evaluate(async () => (await fetch("/api/me")).status)));
    expect(answers).toEqual(Array(TABS).fill(200));
    await context.close();
  });

  it("says that it is not connected, keeps what is shown, and is back by itself", async () => {
    const own = await startDashboard();
    const page = await openPage(browser);
    await page.goto(`${own.url}/plugins`);
    await connected(page);
    await own.process.kill("SIGKILL");
    const bar = page.locator(".shell-stale");
    await bar.getByText(/Not connected since \d\d:\d\d:\d\d\./).waitFor();
    await bar.getByText(/Next try in \d+ s\.|Trying now\./).waitFor();
    await views(page, "stale", () => judge(page));
    await heading(page, "Plugins").waitFor();
    await own.restart();
    // Its own next try may come sooner than the click, and takes the button away.
    const back = bar.waitFor({ state: "detached" });
    await Promise.race([bar.getByRole("button", { name: "Try now" }).click(), back]);
    await back;
    await connected(page);
  });
});
