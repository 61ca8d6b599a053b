import type { Browser, Page } from "playwright-core";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { NO_BROWSER, openBrowser } from "./kit/browser.ts";
import { type Dashboard, startDashboard } from "./kit/dashboard.ts";
import { judge, openPage } from "./kit/judge.ts";
import { views } from "./kit/views.ts";

const edges = (text: string) =>
  text.split(",").map((edge) => {
    const [source = "", to = ""] = edge.split(">").map((part) => part.trim());
    const [from = "", fromPort] = source.split(".");
    return { from, to, ...(fromPort === undefined ? {} : { fromPort }) };
  });
const flow = (nodes: readonly object[], ways: string, more: object = {}, inputSchema: object = {}) =>
  JSON.stringify({ ...more, nodes: [{ id: "start", kind: "trigger", inputSchema }, ...nodes], edges: edges(ways) });

const LONG = "nightly-triage-and-labelling-of-new-issues-in-every-repository";
const MANY = Array.from({ length: 300 }, (_, at) => ({ id: `step${at}`, kind: "set", label: `Step number ${at}`, value: at }));
const FLOWS: Readonly<Record<string, string>> = {
  "review-and-release": flow(
    [
      { id: "check", kind: "branch", label: "Is it mergeable?", cases: [{ port: "mergeable", when: "{{ input.ok }}" }] },
      { id: "ask", kind: "set", label: "Ask the author", value: 1 },
      { id: "review", kind: "agent", label: "Review the change", message: "Please review {{ input.what }}" },
      {
        id: "tell",
        kind: "action",
        label: "Tell the team",
        action: "file.read_lines",
        input: { path: "{{ input.file }}" },
        retry: { attempts: 3, delay: "10ms" },
      },
      { id: "done", kind: "end", label: "End", output: "{{ in }}" },
    ],
    "start > check, check.mergeable > review, check.else > ask, review > tell, tell > done",
    {},
    { ok: { type: "boolean", default: true }, what: { type: "string", default: "!4182 次は承認です" }, file: { type: "string", default: "gone/nowhere.txt" } },
  ),
  waits: flow(
    [
      { id: "split", kind: "set", value: 1 },
      { id: "person", kind: "userTask", label: "Approve the notes", title: "Approve the notes of release 2.14", assignee: "role:release", timeout: "3d" },
      { id: "signal", kind: "waitSignal", label: "Wait for the build", signal: "built", timeout: "2h" },
      { id: "clock", kind: "timer", label: "Until tomorrow", for: "1d" },
      { id: "all", kind: "join" },
    ],
    "start > split, split > person, split > signal, split > clock, person > all, signal > all, clock > all",
  ),
  parent: flow([{ id: "child", kind: "subProcess", label: "The child", workflow: "waits" }], "start > child"),
  [LONG]: flow(
    [
      {
        id: "each",
        kind: "forEach",
        label: "Every repository",
        items: [1, 2, 3],
        do: { start: "one", nodes: [{ id: "one", kind: "set", label: "Label it", value: "{{ item }}" }], edges: [] },
      },
    ],
    "start > each",
  ),
  "three-hundred": flow(MANY, ["start > step0", ...MANY.slice(1).map((_, at) => `step${at} > step${at + 1}`)].join(", "), { maxSteps: 1000 }),
  翻訳: flow([{ id: "stop", kind: "waitSignal", signal: "go" }], "start > stop"),
};

describe.skipIf(NO_BROWSER !== undefined)("processes", { timeout: 120_000 }, () => {
  let browser: Browser;
  let at: Dashboard;
  const runs: Record<string, string> = {};

  const start = async (workflow: string, payload: object = {}) => {
    const { runId } = await at.api<{ runId: string }>("POST", `/workflows/${workflow}/run`, { payload });
    return runId;
  };
  const detail = (id: string) =>
    at.api<{ status: string; waits: { kind: string }[]; steps: { id: string; status: string }[]; restartOf?: string }>("GET", `/api/workflows/runs/${id}`);
  const until = (id: string, status: string) => vi.waitFor(async () => expect((await detail(id)).status).toBe(status), { timeout: 30_000, interval: 50 });

  beforeAll(async () => {
    at = await startDashboard({
      config: { workflows: { enabled: true } },
      files: Object.fromEntries(
        Object.entries(FLOWS)
          .filter(([id]) => /^[a-z-]+$/.test(id))
          .map(([id, text]) => [`.svc/workflows/${id}.json`, text]),
      ),
    });
    runs["many"] = await start("three-hundred");
    runs["done"] = await start(LONG);
    runs["parent"] = await start("parent");
    runs["waits"] = await start("waits");
    runs["failed"] = await start("review-and-release");
    runs["canceled"] = await start("waits");
    await at.api("POST", `/api/workflows/runs/${runs["canceled"]}/status`, { action: "cancel", reason: "not needed" });
    await until(runs["failed"] ?? "", "failed");
    await until(runs["many"] ?? "", "completed");
    browser = await openBrowser();
  });

  const open = async (path: string, width = 1600): Promise<Page> => {
    const page = await openPage(browser, { viewport: { width, height: 1000 } });
    await page.goto(at.url + path);
    return page;
  };
  const shown = (page: Page) => page.locator("[data-step]").getAttribute("data-step");

  it("opens on the step that failed: the error first, then what went in; both themes, three widths, no finding", async () => {
    const page = await open(`/processes?run=${runs["failed"]}`);
    await page.locator(".processes-error").waitFor();
    await expect.poll(() => shown(page)).toBe("tell/1");
    await page.getByText("failed at “Tell the team”").waitFor();
    await page.getByText("try 3 of 3").waitFor();
    await page.getByText("gone/nowhere.txt").first().waitFor();
    await page.getByText("Try 1 failed").waitFor();
    await page.getByText(`${runs["failed"]}/tell/1`).waitFor();
    await views(page, "processes-failed", async () => {
      await page.locator(".processes-error").waitFor();
      await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
      await judge(page);
    });
  });

  it("what was not taken is told as such, and the step of an agent leads to its task", async () => {
    const page = await open(`/processes?run=${runs["failed"]}`);
    const row = page.getByRole("row").filter({ hasText: "Ask the author" });
    await expect.poll(() => row.textContent()).toContain("not taken");
    await row.click();
    await page.getByText("No token came here").waitFor();
    await page.getByRole("row").filter({ hasText: "Review the change" }).click();
    await page.getByRole("link", { name: "Open the task" }).click();
    await expect.poll(() => page.url()).toContain("/tasks/");
  });

  it("each wait is named: for what, since when, until when", async () => {
    const page = await open(`/processes?run=${runs["waits"]}`);
    const row = (name: string) => page.getByRole("grid", { name: "Timeline" }).getByRole("row").filter({ hasText: name });
    await row("Approve the notes").waitFor();
    await expect.poll(() => row("Approve the notes").textContent()).toMatch(/waits for role:release, until .*, since \d\d:\d\d/);
    await expect.poll(() => row("Wait for the build").textContent()).toMatch(/waits for the signal built, until .*, since \d\d:\d\d/);
    await expect.poll(() => row("Until tomorrow").textContent()).toMatch(/waits until .*, since \d\d:\d\d/);
    await row("Approve the notes").click();
    await page.getByText("Answer it in the inbox").waitFor();
    await views(page, "processes-waits", async () => judge(page));
    await page.setViewportSize({ width: 1600, height: 1000 });
    await page.getByText("Answer it in the inbox").click();
    await page.getByRole("heading", { level: 2, name: "Approve the notes of release 2.14" }).waitFor();
  });

  it("by keyboard alone: a run, its steps, the failed one, restart with what it says; the new run opens and names the old one", async () => {
    const page = await open("/processes?status=failed");
    await page.locator(".processes-error").waitFor();
    expect(page.url()).toContain(`run=${runs["failed"]}`);
    await page.keyboard.press("k");
    await expect.poll(() => shown(page)).toBe("review/1");
    await page.keyboard.press("f");
    await expect.poll(() => shown(page)).toBe("tell/1");
    await page.keyboard.press("r");
    const dialog = page.getByRole("dialog", { name: "Restart at Tell the team?" });
    await dialog.getByText("Earlier steps keep their results. Tell the team runs a fourth time; its effect may happen again.").waitFor();
    await judge(page);
    await page.keyboard.press("Escape");
    await expect.poll(() => dialog.count()).toBe(0);
    await page.keyboard.press("r");
    await dialog.waitFor();
    for (let stops = 0; stops < 6; stops++) {
      if ((await page.evaluate(() => document.activeElement?.textContent)) === "Restart") break;
      await page.keyboard.press("Tab");
    }
    await page.keyboard.press("Enter");
    await expect.poll(() => page.url(), { timeout: 15_000 }).not.toContain(`run=${runs["failed"]}`);
    const made = new URL(page.url()).searchParams.get("run") ?? "";
    expect((await detail(made)).restartOf).toBe(runs["failed"]);
    await page.getByText("Restart of").waitFor();
    await page
      .locator(".processes-facts")
      .getByRole("link", { name: runs["failed"] ?? "" })
      .click();
    await page.getByText("Restarted as").waitFor();
  });

  it("a run is paused, goes on and is cancelled, and the page changes in place while it is looked at", async () => {
    const id = await start("waits");
    const page = await open(`/processes?run=${id}`);
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByText("Paused. Running steps finish; nothing new starts.").waitFor();
    await page.locator("[data-status=paused]").waitFor();
    expect((await detail(id)).status).toBe("paused");
    await page.locator("header").getByRole("button", { name: "Resume" }).click();
    await page.locator("[data-status=running]").waitFor();
    // Something that another does is seen without a reload, and the choice stays.
    await page.getByRole("row").filter({ hasText: "Wait for the build" }).click();
    await expect.poll(() => shown(page)).toBe("signal/1");
    await at.api("POST", `/api/workflows/runs/${id}/signal`, { name: "built", payload: { number: 42 } });
    await page.getByText('"number": 42').waitFor();
    await expect.poll(() => shown(page)).toBe("signal/1");
    await page.getByRole("button", { name: "Cancel run..." }).click();
    await page.getByText("A cancelled run cannot be resumed, only restarted.").waitFor();
    await judge(page);
    await page.getByLabel("Reason (optional)").fill("by a test");
    await page.getByRole("dialog").getByRole("button", { name: "Cancel run" }).click();
    await page.locator("[data-status=canceled]").waitFor();
  });

  it("parent and child lead to each other", async () => {
    const page = await open(`/processes?run=${runs["parent"]}`);
    await page.locator(".processes-facts").getByText("Sub-processes").waitFor();
    await page.locator("[data-step]").getByRole("link").first().click();
    await page.locator(".processes-facts").getByText("Parent").waitFor();
    await page
      .locator(".processes-facts")
      .getByRole("link", { name: runs["parent"] ?? "" })
      .click();
    await page.locator(`[data-run="${runs["parent"]}"]`).waitFor();
  });

  it("300 steps: the timeline draws what is in sight, walks to its end by keys, and the step is read", async () => {
    const page = await open(`/processes?run=${runs["many"]}`);
    const timeline = page.getByRole("grid", { name: "Timeline" });
    await timeline.waitFor();
    await expect.poll(() => timeline.getAttribute("aria-rowcount")).toBe("301");
    await expect.poll(() => timeline.getByRole("row").count()).toBeLessThan(80);
    await timeline.focus();
    await page.keyboard.press("Home");
    await page.keyboard.press("PageDown");
    await page.keyboard.press("End");
    await expect.poll(() => shown(page)).toBe("step299/1");
    await page.getByText("299", { exact: true }).first().waitFor();
    // Three hundred nodes are judged once: what they are drawn with is the same in all views.
    await views(page, "processes-many", async ({ theme, width }) => (theme === "light" && width === 1600 ? judge(page) : undefined));
  });

  it("the list is filtered by state and text in the address, and a run that begins meanwhile moves nothing under the hand", async () => {
    const page = await open("/processes");
    const list = page.getByRole("grid", { name: "Runs" });
    await list.getByRole("row").first().waitFor();
    await page.getByRole("radio", { name: "Open" }).click();
    expect(page.url()).toContain("status=open");
    await expect
      .poll(() =>
        list
          .getByRole("row")
          .filter({ hasText: runs["failed"] ?? "-" })
          .count(),
      )
      .toBe(0);
    await page.getByRole("radio", { name: "All" }).click();
    await page.keyboard.press("/");
    await page.keyboard.type("NIGHTLY");
    await expect.poll(() => list.getByRole("row").count()).toBe(1);
    expect(page.url()).toContain("text=NIGHTLY");
    await page.keyboard.type("zzz");
    await page.getByText("Nothing matches").waitFor();
    await page.getByRole("button", { name: "Clear filter" }).click();
    await list.getByRole("row").nth(3).hover();
    const before = await list.getByRole("row").first().textContent();
    await start("waits");
    await page.getByRole("button", { name: "1 new" }).waitFor();
    await expect.poll(() => list.getByRole("row").first().textContent()).toBe(before);
    await judge(page);
    await page.getByRole("button", { name: "1 new" }).click();
    await expect.poll(() => list.getByRole("row").first().textContent()).not.toBe(before);
  });

  it("at 390 the facts come first, then the step that failed, the timeline, the graph", async () => {
    const page = await open("/processes?status=failed", 390);
    const row = page
      .getByRole("grid", { name: "Runs" })
      .getByRole("row")
      .filter({ hasText: runs["failed"]?.slice(-6) ?? "none" });
    await row.click();
    await page.locator(".processes-error").waitFor();
    await page.locator(".processes-graph").waitFor();
    const tops = await Promise.all(
      [".processes-facts", ".processes-error", ".processes-timeline", ".processes-graph"].map(async (part) => (await page.locator(part).boundingBox())?.y ?? 0),
    );
    expect(tops).toEqual([...tops].sort((one, other) => one - other));
    await page.getByRole("button", { name: "Runs", exact: true }).first().click();
    await row.waitFor();
  });

  it("a run that is not there is said so, and is read again by a button", async () => {
    const page = await open("/processes?run=run_aaaaaaaaaaaaaaaaaaaa");
    await page.getByText(/The run could not be read\..*404/).waitFor();
    await judge(page);
  });
});

describe.skipIf(NO_BROWSER !== undefined)("processes of a daemon without any", { timeout: 120_000 }, () => {
  it("workflows that are switched off are named with the setting; none yet says how one comes", async () => {
    const browser = await openBrowser();
    const off = await startDashboard();
    const page = await openPage(browser);
    await page.goto(`${off.url}/processes`);
    await page.getByText("Workflows are switched off").waitFor();
    await views(page, "processes-off", async () => judge(page));
    const on = await startDashboard({ config: { workflows: { enabled: true } } });
    await page.goto(`${on.url}/processes`);
    await page.getByText("No runs yet. A run starts by a webhook, a schedule, or by hand.").waitFor();
    await judge(page);
  });
});
