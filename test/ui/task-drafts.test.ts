import type { Browser, Page } from "playwright-core";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { NO_BROWSER, openBrowser } from "./kit/browser.ts";
import { type Dashboard, startDashboard } from "./kit/dashboard.ts";
import { judge, openPage } from "./kit/judge.ts";

const MESSAGE = "Summarise {{ input.secret }} for the board";

describe.skipIf(NO_BROWSER !== undefined)("a draft of a task", { timeout: 120_000 }, () => {
  let browser: Browser;
  let at: Dashboard;
  let task: string;
  const open = async (path: string): Promise<Page> => {
    const page = await openPage(browser);
    await page.goto(at.url + path);
    await page.getByRole("heading", { level: 1 }).first().waitFor();
    return page;
  };
  /** The editor holds the draft, and its agent is asked what the task was asked. */
  const isOpen = async (page: Page, id: string) => {
    await page.waitForURL((url) => url.pathname === "/workflows/editor" && url.searchParams.get("draft") === id);
    await page.locator('.react-flow__node[data-id="answer"]').waitFor();
    const { definition, problems } = await at.api<{ definition: Record<string, unknown>; problems: unknown[] }>("GET", `/api/workflows/drafts/${id}`);
    expect(problems).toEqual([]);
    expect(definition).toMatchObject({ generatedFrom: "task-trace", sourceTaskIds: [task], ownerAgent: "echo" });
    expect(JSON.stringify(definition["nodes"])).toContain(MESSAGE);
  };
  beforeAll(async () => {
    browser = await openBrowser();
  });
  // Drafts are counted: each attempt has a daemon of its own.
  beforeEach(async () => {
    at = await startDashboard({ config: { workflows: { enabled: true } } });
    const answer = await fetch(`${at.daemon}/task`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json" },
      body: JSON.stringify({ agent: "echo", message: MESSAGE }),
    });
    ({ taskId: task } = (await answer.json()) as { taskId: string });
    expect(typeof task).toBe("string");
    return () => at.stop();
  });

  it("is made by a button of its page and opens in the editor", async () => {
    const page = await open(`/tasks/${task}`);
    const button = page.getByRole("button", { name: "Make a workflow" });
    await button.waitFor();
    await judge(page);
    await button.click();
    await isOpen(page, "summarise-input-secret-for-the-board");
    await judge(page);
  });

  it("is made from the list of workflows, of a task that is chosen or named; a refusal stands at the field", async () => {
    const page = await open("/workflows");
    await page.getByRole("button", { name: "New workflow" }).first().click();
    await page.getByRole("menuitem", { name: "From a task..." }).click();
    const dialog = page.getByRole("dialog");
    const field = dialog.getByRole("combobox", { name: "Task" });
    const make = dialog.getByRole("button", { name: "Make a draft" });
    await field.fill("task-nobody");
    await field.press("Tab");
    await make.click();
    await dialog.getByText("Nothing is recorded under 'task-nobody'", { exact: false }).waitFor();
    await judge(page);
    await field.fill("board");
    await page.getByRole("option", { name: /for the board/ }).click();
    await make.click();
    await isOpen(page, "summarise-input-secret-for-the-board");
    await page.goto(`${at.url}/workflows?view=drafts`);
    await page.getByRole("row", { name: /from a task/ }).waitFor();
  });
});
