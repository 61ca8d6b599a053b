import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { NO_BROWSER, openBrowser } from "./kit/browser.ts";
import { type Dashboard, startDashboard } from "./kit/dashboard.ts";
import { judge, openPage } from "./kit/judge.ts";
import { views } from "./kit/views.ts";

const REVIEW = readFileSync(new URL("../../plugins/features/workflows/examples/review/workflow.yaml", import.meta.url), "utf8");
const NIGHTLY = readFileSync(new URL("../../plugins/features/workflows/examples/nightly-report/workflow.yaml", import.meta.url), "utf8");

describe.skipIf(NO_BROWSER !== undefined)("the editor of workflows", () => {
  let browser: Browser;
  let at: Dashboard;
  const open = async (query: string): Promise<Page> => {
    const page = await openPage(browser);
    await page.goto(`${at.url}/workflows/editor?${query}`);
    await page.locator(".react-flow__node, .editor-steps").first().waitFor();
    return page;
  };
  const stored = (name: string) => readFileSync(join(at.folder, ".svc/workflows", name), "utf8");
  const ended = async (id: string) => {
    for (;;) {
      const run = await at.api<{ status: string; output?: unknown }>("GET", `/api/workflows/runs/${id}`);
      if (run.status !== "running") return run;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  const node = (page: Page, id: string) => page.locator(`.react-flow__node[data-id="${id}"]`);
  beforeAll(async () => {
    browser = await openBrowser();
    at = await startDashboard({
      config: { workflows: { enabled: true } },
      files: { ".svc/workflows/review.yaml": REVIEW, ".svc/workflows/nightly.yaml": NIGHTLY },
    });
  });

  it("shows a workflow in both themes and three widths: a graph, its text, and on a narrow screen its steps", async () => {
    const page = await open("id=review");
    await page.getByText("Nothing is wrong with it.").waitFor();
    await views(page, "editor", async ({ width }) => {
      if (width > 640) await node(page, "write").click();
      await judge(page);
      expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
    });
  });
});
