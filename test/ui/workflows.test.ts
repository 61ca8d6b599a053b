import type { Browser, Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { NO_BROWSER, openBrowser } from "./kit/browser.ts";
import { type Dashboard, startDashboard } from "./kit/dashboard.ts";
import { judge, openPage } from "./kit/judge.ts";
import { views } from "./kit/views.ts";

const FLOW = (name: string, more = "") => `name: ${name}
tags: [nightly, 报告]
ownerAgent: echo
nodes:
  - id: start
    kind: trigger
    inputSchema:
      who: {type: string, required: true, description: whom it greets, example: Ada}
      times: {type: integer, default: 1}
  - {id: made, kind: set, value: "{{ input.who & ' ' & input.times }}"}
  - {id: done, kind: end, output: "{{ in }}"}
edges:
  - {from: start, to: made}
  - {from: made, to: done}
${more}`;
const FAILING = "nodes:\n  - {id: start, kind: trigger}\n  - {id: no, kind: fail, code: NOPE}\nedges:\n  - {from: start, to: no}\n";
const DRAFT = `generatedFrom: task-trace\nconfidence: 0.72\nsourceTaskIds: [task-1]\n${FLOW("Draft of a greeting")}`;
const LONG = "Freigabe-der-Einkaufsanforderungen-für-die-Abteilung-Zentraleinkauf-und-Logistik";
const SETTINGS = {
  workflows: { enabled: true },
  crons: { nightly: { schedule: "0 6 * * *", workflow: "greet" } },
  webhooks: [{ id: "forge", path: "/hooks/forge", agent: "echo", triggers: { push: "greet" } }],
};
const FILES = {
  ".svc/workflows/greet.yaml": FLOW("Greeting"),
  ".svc/workflows/broken.yaml": "nodes: [\n",
  ".svc/workflows/failing.yaml": FAILING,
  ".svc/workflows/long.json": JSON.stringify({ name: `${LONG} طلب شراء 購買申請`, nodes: [{ id: "start", kind: "trigger" }], edges: [] }),
  ".svc/workflows/_drafts/greeting.yaml": DRAFT,
  ".svc/workflows/_drafts/bad.yaml": "nodes: []\nedges: []\n",
};

describe.skipIf(NO_BROWSER !== undefined)("the list of workflows", () => {
  let browser: Browser;
  let at: Dashboard;
  const open = async (path = "/workflows"): Promise<Page> => {
    const page = await openPage(browser);
    await page.goto(at.url + path);
    await page.getByRole("heading", { level: 1 }).first().waitFor();
    return page;
  };
  const ended = async (id: string) => {
    for (;;) {
      const { status } = await at.api<{ status: string }>("GET", `/api/workflows/runs/${id}`);
      if (status !== "running") return status;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  beforeAll(async () => {
    browser = await openBrowser();
    at = await startDashboard({
      config: SETTINGS,
      files: FILES,
      async seed(dashboard) {
        at = dashboard;
        for (const who of ["Ada", "Ben", "Cem"]) await ended((await dashboard.api<{ runId: string }>("POST", "/workflows/greet/run", { who })).runId);
        await ended((await dashboard.api<{ runId: string }>("POST", "/workflows/failing/run", {})).runId);
      },
    });
  });

  it("shows what starts each, how its last runs went and when it starts next, in both themes and three widths", async () => {
    const page = await open();
    const row = page.getByRole("row", { name: /Greeting/ });
    await row.waitFor();
    expect(await row.innerText()).toMatch(/schedule 0 6 \* \* \*; webhook forge, push/);
    await row.getByRole("link", { name: /Last runs, the newest first: ok, ok, ok/ }).waitFor();
    await page
      .getByRole("row", { name: /broken/ })
      .getByText("cannot be run")
      .waitFor();
    await views(page, "workflows", async () => {
      await judge(page);
      expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
    });
  });
});
