import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NO_BROWSER, openBrowser } from "./kit/browser.ts";
import { startDashboard } from "./kit/dashboard.ts";
import { type FullHouse, startFullHouse } from "./kit/full-house.ts";
import { expectQuiet, openPage } from "./kit/judge.ts";
import { openByEnter, walkByArrows, walkByTab } from "./kit/keyboard.ts";
import { visit } from "./kit/visit.ts";

const ADMIN = ["agents/unbroken", "channels/forge_a", "schedules/asked", "webhooks", "mesh", "business", "boards", "actions", "tokens", "advanced"];
const PAGES = [
  // First those that load the fewest style sheets: what they lack comes with no other page.
  "/workflows?look=review-and-release",
  "/plugins?plugin=channel-forge-a",
  "/?board=team",
  "/live",
  "/live?chat=reviewer",
  "/inbox?view=all",
  "/processes?run=FAILED",
  "/processes?run=WAITING",
  "/workflows",
  "/workflows/editor?id=review-and-release",
  "/tasks",
  "/tasks/TASK",
  "/setup",
  ...ADMIN.map((tab) => `/admin#${tab}`),
];

describe.skipIf(NO_BROWSER !== undefined)("every page by the keyboard alone", { timeout: 300_000 }, () => {
  let browser: Browser;
  let at: FullHouse;
  beforeAll(async () => {
    browser = await openBrowser();
    at = await startFullHouse({}, afterAll);
  });
  const addressOf = (path: string) => at.url + path.replace("FAILED", at.failed).replace("WAITING", at.waiting).replace("TASK", at.task);
  const open = (width: number): Promise<Page> => openPage(browser, { viewport: { width, height: width > 640 ? 1000 : 844 } });

  it.each([
    { width: 1600, arrows: true },
    // The groups are the same ones.
    { width: 390, arrows: false },
  ])(
    "at $width px Tab comes to every control and round, what Enter opens gives the focus back, arrows lead to every member of a group",
    async ({ width, arrows }) => {
      const page = await open(width);
      const known = new Set<string>();
      const found: string[] = [];
      for (const path of PAGES) {
        await visit(page, addressOf(path));
        // The graph of a run comes after what it is drawn from; a narrow workflow has none.
        if (/processes|editor|look/.test(path) && (width > 640 || path.startsWith("/processes"))) await page.locator(".react-flow__node").first().waitFor();
        // Where a new document begins.
        await page.locator(".shell-skip").focus();
        const bare = await page.evaluate(
          () => [...document.querySelectorAll("button")].filter((one) => one.checkVisibility() && getComputedStyle(one).borderStyle === "outset").length,
        );
        if (bare > 0) found.push(`${path}: ${bare} buttons have no style`);
        const { findings } = await walkByTab(page);
        found.push(...[...findings, ...(await openByEnter(page, known))].map((finding) => `${path}: ${finding}`));
        if (arrows) found.push(...(await walkByArrows(page)).map((finding) => `${path}: ${finding}`));
        expectQuiet(page);
      }
      expect([...new Set(found)]).toEqual([]);
      // What was opened: the walk through it was one of many.
      expect(known.size).toBeGreaterThan(20);
    },
  );

  it("the first Tab of a page is the link past the rail", async () => {
    const page = await open(1600);
    await visit(page, addressOf("/tasks"));
    await page.keyboard.press("Tab");
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("Skip to the page");
    await page.keyboard.press("Enter");
    expect(await page.evaluate(() => document.activeElement?.id)).toBe("page");
  });

  it("the page of a call", async () => {
    const answer = await fetch(`${at.daemon}/calls`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ to: "reviewer" }),
    });
    const page = await open(390);
    await page.goto(((await answer.json()) as { url: string }).url);
    await page.getByRole("button", { name: "Talk" }).waitFor();
    await expect.poll(() => page.getByRole("button", { name: "Talk" }).isEnabled()).toBe(true);
    const { findings, stops } = await walkByTab(page);
    expect(findings).toEqual([]);
    expect(stops.length).toBeGreaterThanOrEqual(2);
  });

  it("signing in", async () => {
    const own = await startDashboard({ token: "the-single-bearer-of-this-test" });
    const page = await open(390);
    await page.goto(`${own.url}/plugins`);
    const field = page.getByRole("dialog", { name: "Sign in" }).getByLabel("Token", { exact: true });
    await expect.poll(() => field.evaluate((input) => input === document.activeElement)).toBe(true);
    const { findings, stops } = await walkByTab(page, "dialog:modal");
    expect(findings).toEqual([]);
    expect(stops.length).toBeGreaterThanOrEqual(2);
    await field.focus();
    await page.keyboard.type("the-single-bearer-of-this-test");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: "Sign in" }).waitFor({ state: "detached" });
  });

  it("a control that no key reaches, one without a mark, and one that lies under another are found", async () => {
    const page = await open(1600);
    await visit(page, addressOf("/tasks"));
    await page.evaluate(() => {
      const main = document.querySelector("#page") as HTMLElement;
      const add = (id: string, tabIndex: number) => {
        const button = Object.assign(document.createElement("button"), { id, tabIndex, textContent: id });
        main.append(button);
        return button;
      };
      add("unreached", -1);
      Object.assign(add("unmarked", 0).style, { outline: "none" });
      const under = add("covered", 0);
      Object.assign(under.style, { position: "fixed", left: "600px", top: "400px" });
      const cover = document.createElement("div");
      Object.assign(cover.style, { position: "fixed", inset: "300px", background: "red" });
      main.append(cover);
    });
    const { findings } = await walkByTab(page);
    expect(findings.filter((finding) => finding.includes("“unreached”"))).toEqual([expect.stringContaining("is not reached")]);
    expect(findings.filter((finding) => finding.includes("“unmarked”"))).toEqual([expect.stringContaining("shows no mark of the focus")]);
    expect(findings.filter((finding) => finding.includes("“covered”"))).toEqual([expect.stringContaining("lies under something else")]);
  });
});
