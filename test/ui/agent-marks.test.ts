import type { Browser, Locator, Page } from "playwright-core";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { NO_BROWSER, openBrowser } from "./kit/browser.ts";
import { type Dashboard, echoAgent, startDashboard } from "./kit/dashboard.ts";
import { judge, openPage } from "./kit/judge.ts";
import { views } from "./kit/views.ts";

const EMOJI = "🦊";
/** Agents with the colour that their mark has, its letters, and the ink on it. */
const MARKS = { fox: ["#ffcc00", EMOJI, "#131412"], ada: ["#113355", "AL", "#ffffff"] } as const;

describe.skipIf(NO_BROWSER !== undefined)("marks of agents", { timeout: 120_000 }, () => {
  let browser: Browser;
  let at: Dashboard;
  let page: Page;
  beforeAll(async () => {
    browser = await openBrowser();
  });
  beforeEach(async () => {
    at = await startDashboard({
      config: {
        agents: {
          echo: echoAgent({ name: "Plain" }),
          fox: echoAgent({ name: "Fox of the north", presence: { color: MARKS.fox[0], initial: EMOJI, label: "The fox" } }),
          ada: echoAgent({ name: "Ada", presence: { color: MARKS.ada[0], initial: "AL", label: "x".repeat(100) } }),
        },
      },
    });
    page = await openPage(browser);
    page.setDefaultTimeout(30_000);
    return async () => {
      await page.context().close();
      await at.stop();
    };
  });
  const shows = async (place: Locator, [ground, letters, ink]: readonly string[]) => {
    const mark = place.locator(".kit-agent-mark");
    await mark.waitFor();
    const drawn = () => Promise.all([mark.locator("rect").getAttribute("fill"), mark.locator("text").textContent(), mark.locator("text").getAttribute("fill")]);
    await expect.poll(drawn, { timeout: 30_000 }).toEqual([ground, letters, ink]);
  };

  it("stand before their names in Admin, with colour, letters or emoji; an agent with no key of its own has the colour of its id", async () => {
    await page.goto(`${at.url}/admin#agents`);
    const row = (name: string) =>
      page
        .getByRole("region", { name: /Agents/ })
        .or(page.locator("#page"))
        .locator("[role=row], li, a, button")
        .filter({ hasText: name })
        .first();
    await shows(row("Fox of the north"), MARKS.fox);
    await shows(row("Ada"), MARKS.ada);
    expect(await row("Plain").locator(".kit-agent-mark text").textContent()).toBe("P");
    await views(page, "agent-marks-admin", () => judge(page));
  });

  it("stand beside agents and their tasks in the palette, and follow a change of svc.json", async () => {
    await at.api("POST", "/api/chat/fox", { text: "the first of all", chat: "test" });
    await page.goto(`${at.url}/live`);
    await page.getByText("Fox of the north").first().waitFor();
    await page.keyboard.press("Control+k");
    const palette = page.getByRole("dialog");
    await palette.getByRole("combobox").fill("@fox");
    await shows(palette.getByRole("option").filter({ hasText: "Fox of the north" }).first(), MARKS.fox);
    await judge(page);
    await palette.getByRole("combobox").fill("#first of all");
    await shows(palette.getByRole("option").filter({ hasText: "the first of all" }).first(), MARKS.fox);
    await views(page, "agent-marks-palette", () => judge(page));
    const { revision } = await at.api<{ revision: string }>("GET", "/api/admin/settings");
    await at.api("PATCH", "/api/admin/settings", { edits: [{ path: ["agents", "fox", "presence", "color"], value: "#003300" }], expect: revision });
    await shows(palette.getByRole("option").filter({ hasText: "the first of all" }).first(), ["#003300", EMOJI, "#ffffff"]);
  });
});
