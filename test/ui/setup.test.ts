import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { NO_BROWSER, openBrowser } from "./kit/browser.ts";
import { type Dashboard, startDashboard } from "./kit/dashboard.ts";
import { judge, openPage } from "./kit/judge.ts";

describe.skipIf(NO_BROWSER)("the page /setup", () => {
  let browser: Browser;
  let at: Dashboard;
  beforeAll(async () => {
    browser = await openBrowser();
  });
  beforeEach(async () => {
    // As a folder is before anybody was asked: a node, and no agent.
    at = await startDashboard({ config: { node: { id: "empty", name: "empty", bind: "127.0.0.1:0" }, agents: {} } });
    return () => at.stop();
  });
  const written = () => JSON.parse(readFileSync(join(at.folder, "svc.json"), "utf8")) as Record<string, unknown>;

  it("finds an engine, writes the agent after a dry run, gets a real answer, goes on where it was left, and ends with the lines", async () => {
    const page = await openPage(browser);
    await page.goto(`${at.url}/setup`);
    await page.getByRole("radio", { name: /built-in tier local/ }).check();
    await page
      .getByText(/npm install -g/)
      .first()
      .waitFor();
    await judge(page);
    await page.getByRole("button", { name: "Next" }).click();
    await page.getByLabel("Id").fill("Not an id");
    await page.getByText("Write lower-case letters, digits, - and _, such as assistant.").waitFor();
    await page.getByRole("button", { name: "Next" }).click();
    expect(written()["agents"]).toEqual({});
    await page.getByLabel("Id").fill("helper");
    await page.getByLabel("Name").fill("Helper");
    await judge(page);
    await page.reload();
    await expect.poll(() => page.getByLabel("Id").inputValue()).toBe("helper");
    await page.getByRole("button", { name: "Next" }).click();
    await page.getByText("Only this page").waitFor();
    expect(written()).toMatchObject({ agents: { helper: { name: "Helper", tier: "local" } }, node: { defaultAgent: "helper" } });
    await judge(page);
    await page.getByRole("button", { name: "Next" }).click();
    await page.getByLabel("Say something to it").fill("hello");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Its answer" }).waitFor();
    await page.getByText('"helper": {').first().waitFor();
    await page.getByText("svc setup --yes --agent helper --tier local").waitFor();
    await judge(page);
    await page.context().close();
  });
});
