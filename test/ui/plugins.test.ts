import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { NO_BROWSER, openBrowser } from "./kit/browser.ts";
import { type Dashboard, startDashboard } from "./kit/dashboard.ts";
import { judge, openPage } from "./kit/judge.ts";

const BROKEN = `export default { api: 1, kind: "feature", name: "broken", version: "1.0.0", svc: "*", capabilities: [], setup() { throw new Error("its far end is gone"); } };`;

describe.skipIf(NO_BROWSER)("the page /plugins", () => {
  let browser: Browser;
  let at: Dashboard;
  beforeAll(async () => {
    browser = await openBrowser();
  });
  beforeEach(async () => {
    at = await startDashboard({ config: { metrics: { enabled: true }, plugins: ["./broken.mjs"] }, files: { "broken.mjs": BROKEN } });
    return () => at.stop();
  });
  const written = () => JSON.parse(readFileSync(join(at.folder, "svc.json"), "utf8")) as { plugins: string[]; metrics: { enabled: boolean } };

  it("says what each plugin provides and costs, and what is wrong with one that cannot run", async () => {
    const page = await openPage(browser);
    await page.goto(`${at.url}/plugins`);
    await page.getByRole("radio", { name: /In trouble/ }).click();
    const row = page.getByRole("button", { name: /feature-broken|broken\.mjs/ });
    await row.click();
    await page.getByText("its far end is gone").first().waitFor();
    await judge(page);
    await page.goto(`${at.url}/plugins?plugin=feature-dashboard`);
    await page.getByText("GET /api/admin/plugins", { exact: false }).first().waitFor();
    await page.getByText(/load \d+ ms, set up \d+ ms, start \d+ ms/).waitFor();
    await page.context().close();
  });

  it("switches one off after saying what breaks, and on again, by the keyboard alone", async () => {
    const page = await openPage(browser);
    await page.goto(`${at.url}/plugins?plugin=feature-metrics`);
    const off = page.getByRole("button", { name: "Switch off" });
    await off.focus();
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog");
    await dialog.getByText(/address(es)? of the HTTP API/).waitFor();
    await judge(page);
    await dialog.getByRole("button", { name: "Switch off" }).and(page.locator(":not([aria-busy])")).focus();
    await page.keyboard.press("Enter");
    await page.getByText("feature-metrics is switched off.").waitFor();
    expect(written().metrics.enabled).toBe(false);
    await page.getByRole("button", { name: "Switch on" }).focus();
    await page.keyboard.press("Enter");
    await dialog.getByRole("button", { name: "Switch on" }).and(page.locator(":not([aria-busy])")).focus();
    await page.keyboard.press("Enter");
    await page.getByText("feature-metrics is switched on.").waitFor();
    expect(written().metrics.enabled).toBe(true);
    await page.context().close();
  });

  it("one without a switch of its own is barred by its name, which waits for a restart", async () => {
    const page = await openPage(browser);
    await page.goto(`${at.url}/plugins?plugin=tier-local`);
    await page.getByRole("button", { name: "Switch off" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("1 agent uses the tier local: echo.").waitFor();
    await page.keyboard.press("Escape");
    expect(written().plugins).toEqual(["./broken.mjs"]);
    await page.goto(`${at.url}/plugins?plugin=action-http-post`);
    await page.getByRole("button", { name: "Switch off" }).click();
    await dialog.getByRole("button", { name: "Switch off" }).and(page.locator(":not([aria-busy])")).click();
    await page.getByText("action-http-post is switched off.").waitFor();
    expect(written().plugins).toEqual(["./broken.mjs", "!action-http-post"]);
    await page.context().close();
  });
});
