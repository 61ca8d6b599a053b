import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
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
const ASKS = `name: Asks somebody
nodes:
  - {id: start, kind: trigger}
  - {id: person, kind: userTask, title: Say yes, assignee: "role:release", form: [{name: text, kind: text}], submitTransition: done}
  - {id: end, kind: end}
edges:
  - {from: start, to: person}
  - {from: person, to: end, fromPort: done}
`;
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

describe.skipIf(NO_BROWSER !== undefined)("the list of workflows", { timeout: 120_000 }, () => {
  let browser: Browser;
  let at: Dashboard;
  let first: string;
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
  });
  // Runs and drafts are counted: each attempt has a daemon of its own.
  beforeEach(async () => {
    at = await startDashboard({
      config: SETTINGS,
      files: FILES,
      async seed(dashboard) {
        at = dashboard;
        for (const who of ["Ada", "Ben", "Cem"]) {
          const { runId } = await dashboard.api<{ runId: string }>("POST", "/workflows/greet/run", { who });
          await ended(runId);
          if (who === "Ada") first = runId;
        }
        await ended((await dashboard.api<{ runId: string }>("POST", "/workflows/failing/run", {})).runId);
      },
    });
    return () => at.stop();
  });

  it("shows what starts each, how its last runs went and when it starts next, in both themes and three widths", async () => {
    const page = await open();
    const row = page.getByRole("row", { name: /Greeting/ });
    await row.waitFor();
    await expect.poll(() => row.innerText()).toMatch(/schedule 0 6 \* \* \*; webhook forge, push/);
    await row.getByRole("link", { name: /Last runs, the newest first: ok, ok, ok/ }).waitFor();
    await page
      .getByRole("row", { name: /broken/ })
      .getByText("cannot be run")
      .waitFor();
    await views(page, "workflows", async () => {
      await judge(page);
      await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
    });
  });

  it("a run that waits for a person is said to wait, and not to be running", async () => {
    writeFileSync(join(at.folder, ".svc/workflows/asks.yaml"), ASKS);
    await expect.poll(() => at.api("POST", "/workflows/asks/run", {}).then(Boolean, () => false)).toBe(true);
    const page = await open();
    const row = page.getByRole("row", { name: /Asks somebody/ });
    await row.getByRole("link", { name: "Last runs, the newest first: waiting for a person" }).waitFor();
    await views(page, "workflows-waits", () => judge(page));
    const [task] = (await at.api<{ tasks: readonly { readonly id: string }[] }>("GET", "/api/workflows/tasks")).tasks;
    await at.api("POST", `/api/workflows/tasks/${task?.id}/submit`, { values: { text: "yes" } });
    await row.getByRole("link", { name: "Last runs, the newest first: ok" }).waitFor();
  });

  it("starts a run with what its fields ask for; what is missing is told at its field", async () => {
    const page = await open();
    await page
      .getByRole("row", { name: /Greeting/ })
      .getByRole("button", { name: "What can be done with Greeting" })
      .click();
    await page.getByRole("menuitem", { name: /Run/ }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel(/^who/).waitFor();
    await dialog.getByRole("button", { name: "Run", exact: true }).click();
    await dialog.locator("[data-path=who] .form-error").waitFor();
    await judge(page);
    await dialog.getByLabel(/^who/).fill("Dora");
    const answer = page.waitForResponse((response) => response.url().endsWith("/workflows/greet/run") && response.status() === 202);
    await page.keyboard.press("Control+Enter");
    const { runId } = (await (await answer).json()) as { runId: string };
    expect(await ended(runId)).toBe("completed");
    expect((await at.api<{ output: unknown }>("GET", `/api/workflows/runs/${runId}`)).output).toBe("Dora 1");
    await page.getByText(`Started ${runId}`).waitFor();
    // The list hears of it by itself.
    await page.getByRole("link", { name: /Last runs, the newest first: ok, ok, ok, ok$/ }).waitFor();
  });

  it("is filtered, and worked by keyboard", async () => {
    const page = await open();
    await page.getByRole("row", { name: /Greeting/ }).waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("nightly");
    await expect.poll(() => page.getByRole("row").count()).toBe(1);
    await page.keyboard.press("Escape");
    await page.getByRole("grid", { name: "Workflows" }).focus();
    await page.keyboard.type("jjj");
    await page.keyboard.press("x");
    await page.getByRole("heading", { name: "Run Greeting" }).waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("e");
    await page.waitForURL(/editor\?id=greet/);
  });

  it("drafts tell their origin, are replayed, promoted and rejected", async () => {
    const page = await open("/workflows?view=drafts");
    const row = page.getByRole("row", { name: /Draft of a greeting/ });
    await row.waitFor();
    await expect.poll(() => row.innerText()).toMatch(/from a task[\s\S]*likely, 0\.72[\s\S]*task-1/);
    await views(page, "workflows-drafts", async () => judge(page));
    await page.setViewportSize({ width: 1600, height: 1000 });
    const ask = async (name: string, action: RegExp) => {
      await page.getByRole("button", { name: `What can be done with ${name}` }).click();
      await page.getByRole("menuitem", { name: action }).click();
    };
    await page.getByRole("button", { name: "What can be done with bad" }).click();
    await expect.poll(() => page.getByRole("menuitem", { name: /Promote/ }).getAttribute("title")).toBe("2 errors");
    await page.keyboard.press("Escape");
    // Replayed against a run that is not there, then against one that is: its answers, and no effect.
    await ask("Draft of a greeting", /Replay/);
    const recorded = page.getByLabel("Recorded answers of");
    await expect.poll(() => recorded.inputValue()).toBe("task-1");
    await page.getByRole("dialog").getByRole("button", { name: "Replay", exact: true }).click();
    await page.getByRole("dialog").locator(".kit-field-wrong").waitFor();
    await judge(page);
    await recorded.fill(first);
    const replayed = page.waitForResponse((response) => response.url().endsWith("/drafts/greeting/replay") && response.status() === 202);
    await page.getByRole("dialog").getByRole("button", { name: "Replay", exact: true }).click();
    const { runId } = (await (await replayed).json()) as { runId: string };
    expect(await ended(runId)).toBe("completed");
    expect((await at.api<{ output: unknown }>("GET", `/api/workflows/runs/${runId}`)).output).toBe("Ada 1");
    await ask("Draft of a greeting", /Promote/);
    await page.getByLabel("Id of the workflow").fill("greeting-two");
    await judge(page);
    await page.getByRole("button", { name: "Promote", exact: true }).click();
    await page.getByText("greeting-two is a workflow now").waitFor();
    await ask("bad", /Reject/);
    await page.getByLabel("Why").fill("it has no nodes");
    await page.getByRole("button", { name: "Reject", exact: true }).click();
    await page.getByText("No draft. A draft is a workflow that cannot be started yet").waitFor();
    const { workflows } = await at.api<{ workflows: { definition: { id: string } }[] }>("GET", "/api/workflows");
    expect(workflows.map(({ definition: { id } }) => id)).toContain("greeting-two");
  });

  it("says what appears here where there is none, and that they are switched off where they are", async () => {
    const empty = await startDashboard({ config: { workflows: { enabled: true } } });
    const page = await openPage(browser);
    await page.goto(`${empty.url}/workflows`);
    await page.getByText("No workflow yet. In it steps, agents and people finish one job.").waitFor();
    await judge(page);
    await page.getByRole("main").getByRole("button", { name: "New workflow" }).last().click();
    await page.getByRole("menuitem", { name: "From the example: Approval of a purchase" }).click();
    await page.locator('.react-flow__node[data-id="ask"]').waitFor();
    await empty.stop();
    const off = await startDashboard();
    await page.goto(`${off.url}/workflows`);
    await page.getByText("Workflows are switched off (workflows.enabled), or not installed: svc plugin add workflows.").waitFor();
    await judge(page);
    await off.stop();
  });
});
