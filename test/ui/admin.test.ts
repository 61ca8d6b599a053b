import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { NO_BROWSER, openBrowser } from "./kit/browser.ts";
import { type Dashboard, echoAgent, startDashboard } from "./kit/dashboard.ts";
import { judge, openPage } from "./kit/judge.ts";

const LITERAL = "CANARY-page-secret-0000001";
describe.skipIf(NO_BROWSER)("the page /admin", () => {
  let browser: Browser;
  let at: Dashboard;
  beforeAll(async () => {
    browser = await openBrowser();
  });
  beforeEach(async () => {
    at = await startDashboard({
      config: {
        agents: {
          echo: echoAgent({ mentions: ["@echo", "@two"], maxExecutionMinutes: 30 }),
        },
        providers: { main: { apiKey: LITERAL } },
        crons: { morning: { schedule: "0 9 * * 1-5", agent: "echo", prompt: "Good morning", enabled: true } },
        webhooks: [{ id: "ci", source: "ci", agentId: "echo" }],
      },
    });
    return () => at.stop();
  });
  const file = () => readFileSync(join(at.folder, "svc.json"), "utf8");
  const minutes = (page: Page) => page.getByLabel("Max execution minutes");
  const open = async (fragment: string): Promise<Page> => {
    const page = await openPage(browser);
    await page.goto(`${at.url}/admin#${fragment}`);
    await page.getByRole("tabpanel").waitFor();
    return page;
  };

  it("CFG-07 a value that is refused is told at its field with what to write, and by the bar, before it can be saved", async () => {
    const page = await open("agents/echo");
    await minutes(page).fill("60m");
    await minutes(page).blur();
    await page.locator('[data-path="agents.echo.maxExecutionMinutes"] .form-error').waitFor();
    await expect.poll(() => minutes(page).getAttribute("aria-invalid")).toBe("true");
    await page.getByRole("tab", { name: /Agents.*1 error/ }).waitFor();
    await page.locator(".admin-bar-errors").click();
    await expect.poll(() => minutes(page).evaluate((element) => element === document.activeElement)).toBe(true);
    await judge(page);
    await page.context().close();
  });

  it("CFG-05 CFG-08 by the keyboard alone: a change is reviewed as lines, saved with a copy, and in force", async () => {
    const page = await open("agents/echo");
    await minutes(page).focus();
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Control+s");
    const dialog = page.getByRole("dialog");
    await dialog.getByText('"maxExecutionMinutes": 31').first().waitFor();
    await dialog.getByText("removed").first().waitFor();
    await judge(page);
    await dialog
      .getByRole("button", { name: /Save and reload/ })
      .and(page.locator(":not([aria-busy])"))
      .waitFor();
    await page.keyboard.press("Control+Enter");
    await page.getByText("Saved. In force now.").waitFor();
    expect(file()).toContain('"maxExecutionMinutes": 31');
    expect(file()).toContain(LITERAL);
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.context().close();
  });

  it("two pages: other keys are merged, the same key is chosen, and nothing is lost", async () => {
    const [one, two] = [await open("agents/echo"), await open("agents/echo")];
    await minutes(one).fill("41");
    await minutes(two).fill("42");
    await two.getByLabel("Name", { exact: true }).fill("Echo of two");
    await one.getByRole("button", { name: /Review and save/ }).click();
    await one
      .getByRole("button", { name: /Save and reload/ })
      .and(one.locator(":not([aria-busy])"))
      .click();
    await one.getByText("Saved. In force now.").waitFor();
    await two.getByRole("button", { name: /Review and save/ }).click();
    const dialog = two.getByRole("dialog");
    await dialog.getByText("The file changed under you").waitFor();
    await judge(two);
    await dialog.getByRole("button", { name: "Keep yours" }).click();
    await dialog
      .getByRole("button", { name: /Save and reload/ })
      .and(two.locator(":not([aria-busy])"))
      .and(two.locator(":not([aria-disabled])"))
      .click();
    await two.getByText("Saved. In force now.").waitFor();
    expect(JSON.parse(file())).toMatchObject({ agents: { echo: { maxExecutionMinutes: 42, name: "Echo of two" } } });
    for (const page of [one, two]) await page.context().close();
  });

  it("a value that reads the environment is saved only where the person marks it", async () => {
    const page = await open("agents/echo");
    await page.getByLabel("System prompt").fill("You are ${HOME_OF_ALL}.");
    await page.getByRole("button", { name: /Review and save/ }).click();
    const save = page.getByRole("button", { name: /Save and reload/ });
    await page.getByText(/reads \$\{HOME_OF_ALL\}/).waitFor();
    await expect.poll(() => save.getAttribute("aria-disabled")).toBe("true");
    await page.getByRole("button", { name: "Back", exact: true }).click();
    await page.getByRole("button", { name: "Discard" }).click();
    expect(file()).not.toContain("HOME_OF_ALL");
    await page.context().close();
  });

  it("CFG-05 a credential is never in the page; one in plain text moves to .env", async () => {
    const page = await open("advanced/providers");
    await page.getByRole("button", { name: "Move to .env..." }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Variable").fill("MAIN_KEY");
    await judge(page);
    await dialog.getByRole("button", { name: "Move to .env" }).click();
    await page.getByText("${MAIN_KEY}").first().waitFor();
    expect(file()).not.toContain(LITERAL);
    expect(readFileSync(join(at.folder, ".env"), "utf8")).toContain(LITERAL);
    expect(await page.content()).not.toContain(LITERAL);
    await page.context().close();
  });

  it("the way to the document lands on the line of the key, and what is wrong stands at its line", async () => {
    const before = file();
    writeFileSync(join(at.folder, "svc.json"), before.replace('"source": "ci"', '"source": 5'));
    const page = await open("advanced/document/webhooks");
    await page.locator(".admin-text-here", { hasText: '"webhooks"' }).waitFor();
    await page.locator(".admin-text-error", { hasText: '"source": 5' }).waitFor();
    await judge(page);
    await page.context().close();
    writeFileSync(join(at.folder, "svc.json"), before);
  });

  it("AUTH-06 a token is shown once, closing asks whether it was copied, and revoking counts at once", async () => {
    const page = await open("tokens");
    await page.getByRole("button", { name: "Create a token" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("for the wall");
    await dialog.getByRole("checkbox", { name: /dashboard:read/ }).check();
    await judge(page);
    await dialog.getByRole("button", { name: "Create" }).click();
    const secret = await dialog.locator(".admin-secret-shown").textContent();
    expect(secret).toMatch(/^svc_live_[0-9a-f]{64}$/);
    await judge(page);
    await dialog.getByRole("button", { name: "Done" }).click();
    await dialog.getByText("Copied? It cannot be shown again.").waitFor();
    await dialog.getByRole("button", { name: "Close, it is copied" }).click();
    await page.getByRole("cell", { name: /^for the wall/ }).waitFor();
    expect(await page.content()).not.toContain(secret);
    const asked = () => fetch(`${at.url}/api/agents`, { headers: { authorization: `Bearer ${secret}` } });
    expect((await asked()).status).toBe(200);
    await page.getByRole("button", { name: "Revoke for the wall" }).click();
    await dialog.getByRole("button", { name: "Revoke" }).click();
    await page.getByRole("cell", { name: "revoked" }).waitFor();
    expect((await asked()).status).toBe(401);
    await page.context().close();
  });

  it("a schedule runs by hand, a webhook is tried, an action too", async () => {
    const page = await open("schedules/morning");
    await page.getByRole("button", { name: "Run now" }).click();
    await page.getByText("morning was started.").waitFor();
    await page.goto(`${at.url}/admin#webhooks`);
    await page.getByText("Unsigned: anyone who reaches it can start the agent.").waitFor();
    await page.getByRole("button", { name: "Send a test" }).click();
    await page.getByText("The test was taken in.").waitFor();
    await page.locator(".admin-log-row").first().click();
    await page.locator(".admin-log-body").getByRole("link", { name: "its task" }).waitFor();
    await page.goto(`${at.url}/admin#actions`);
    await page.getByRole("button", { name: /read.?lines/i }).click();
    await page.getByRole("button", { name: "Try it" }).click();
    await page.getByText(/took/).first().waitFor();
    await judge(page);
    await page.context().close();
  });
});
