import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { openShell } from "../kit/svc.ts";
import { NO_BROWSER, openBrowser } from "./kit/browser.ts";
import { type Dashboard, echoAgent, startDashboard } from "./kit/dashboard.ts";
import { judge, openPage } from "./kit/judge.ts";
import { views } from "./kit/views.ts";

const edges = (text: string) =>
  text.split(",").map((edge) => {
    const [source = "", to = ""] = edge.split(">").map((part) => part.trim());
    const [from = "", fromPort] = source.split(".");
    return { from, to, ...(fromPort === undefined ? {} : { fromPort }) };
  });
const flow = (nodes: readonly object[], ways: string) => JSON.stringify({ nodes: [{ id: "start", kind: "trigger" }, ...nodes], edges: edges(ways) });

/** A plugin that asks people, as jobs and engines do. */
const ASKS = `export default { kind: "feature", name: "asks", version: "1.0.0", svc: "*", capabilities: ["services", "routes"],
  setup(ctx) {
    const approvals = () => ctx.services.get("approvals");
    const post = (path, handle) => ctx.provide.route({ method: "POST", path, guard: "loopback", body: { type: "object", additionalProperties: true }, handle });
    post("/asks", async ({ body }) => approvals().ask({ digest: await approvals().digest(body), ...body }));
    post("/takes-back", async ({ body: { id, reason } }) => ({ withdrawn: await approvals().withdraw(id, reason) }));
  } };`;
const LONG = "Geschwindigkeitsbegrenzungsueberschreitungsverfahrensordnungen";
const FLOWS = {
  release: flow(
    [
      {
        id: "ask",
        kind: "userTask",
        label: "Release notes",
        title: "Approve the notes of release 2.14",
        detail:
          "## 2.14\n- Retry-After is read as a date too (!4182)\n- 日本語の通知が二重に届く問題を修正\n- <script>alert(1)</script> http://example.test/do-it",
        assignee: "actor:anna",
        due: "2d",
        timeout: "3d",
        form: [
          { name: "day", kind: "date", label: "Release date", required: true },
          { name: "channels", kind: "multi-select", label: "Channels", options: ["blog", "botmsg"], min: 1, required: true },
          { name: "title", kind: "text", label: "Headline", maxLength: 80 },
          { name: "notes", kind: "long-text", label: "Notes" },
          { name: "share", kind: "number", label: "Share in percent", min: 0, max: 100 },
          { name: "urgent", kind: "boolean", label: "Urgent" },
          { name: "tone", kind: "select", label: "Tone", options: ["plain", "friendly", "formal", "loud"] },
          { name: "verdict", kind: "select", required: true, options: ["reject", "approve", "ask-for-changes"] },
        ],
        submitTransition: "{{ values.verdict }}",
      },
      { id: "expired", kind: "end", label: "Nobody answered", output: "expired" },
      { id: "done", kind: "end", output: "{{ in.values }}" },
      { id: "again", kind: "end", output: "again" },
    ],
    "start > ask, ask.approve > done, ask.ask-for-changes > again, ask.reject > expired, ask.timeout > expired",
  ),
  quick: flow(
    [{ id: "ask", kind: "approval", title: "コンテンツ更新の確認：翻訳された規約（第3版）", assignee: "role:lead", due: "1s", timeout: "2h" }],
    "start > ask",
  ),
  long: flow([{ id: "ask", kind: "userTask", title: `${LONG} مساعد الجدولة`, assignee: "role:release" }], "start > ask"),
};

describe.skipIf(NO_BROWSER !== undefined)("inbox", { timeout: 120_000 }, () => {
  let browser: Browser;
  let at: Dashboard;

  interface Task {
    readonly id: string;
    readonly state: string;
    readonly values?: Record<string, unknown>;
    readonly completedBy?: string;
    readonly history: readonly { readonly type: string; readonly text?: string }[];
  }
  const start = async (workflow: string): Promise<{ run: string; task: string }> => {
    const { runId: run } = await at.api<{ runId: string }>("POST", `/workflows/${workflow}/run`, {});
    let task: string | undefined;
    await expect
      .poll(
        async () => {
          task = (await at.api<{ tasks: Task[] }>("GET", `/api/workflows/tasks?run=${run}`)).tasks[0]?.id;
          return task;
        },
        { timeout: 20_000 },
      )
      .toBeDefined();
    return { run, task: task as string };
  };
  const daemon = async <T>(path: string, body: object): Promise<T> => {
    const answered = await fetch(at.daemon + path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
    expect(answered.status).toBeLessThan(300);
    return (await answered.json()) as T;
  };
  const ask = (more: object) =>
    daemon<{ id: string }>("/asks", { kind: "job", title: "Run backup daily?", detail: "0 3 * * *\nAgent: echo", requestedBy: "agent echo", ...more });
  const question = async (id: string) =>
    (await at.api<{ approval: { state: string; laterAt?: number; decision?: { by: string; choice: string } } }>("GET", `/api/approvals/${id}`)).approval;
  const read = (id: string) => at.api<Task>("GET", `/api/workflows/tasks/${id}`);

  beforeAll(async () => {
    at = await startDashboard({
      config: {
        agents: { echo: echoAgent() },
        workflows: { enabled: true },
        plugins: ["./asks.mjs"],
        business: { orgChart: { bert: { role: "lead" } } },
      },
      files: {
        "asks.mjs": ASKS,
        ...Object.fromEntries(Object.entries(FLOWS).map(([id, text]) => [`.svc/workflows/${id}.json`, text])),
      },
    });
    browser = await openBrowser();
  });

  const open = async (path: string, width = 1600): Promise<Page> => {
    const page = await openPage(browser, { viewport: { width, height: 1000 } });
    await page.goto(at.url + path);
    return page;
  };
  const answer = (page: Page, name: string | RegExp) => page.locator(".inbox-answers").getByRole("button", { name });
  const rows = (page: Page) => page.getByRole("grid", { name: "Requests" }).getByRole("row");

  it("a task of a run is shown with its material, its times, its seven kinds of fields and its transitions by their own names; both themes, three widths", async () => {
    const { task, run } = await start("release");
    await start("quick");
    await start("long");
    const page = await open(`/inbox?view=all&item=task:${task}`);
    await page.getByRole("heading", { level: 2, name: "Approve the notes of release 2.14" }).waitFor();
    await page.getByText(/Waits since .*Due .*Without an answer the run goes on at .* with “Nobody answered”\./).waitFor();
    await page.getByText("<script>alert(1)</script> http://example.test/do-it").waitFor();
    // The rail counts what waits.
    const counted = page.locator('.shell-rail a[href="/inbox"] .shell-link-count');
    await expect.poll(async () => Number(await counted.textContent()) - (await rows(page).count())).toBe(0);
    await expect.poll(() => page.locator(".inbox-answers > button").allTextContents()).toEqual(["Approvea", "Ask for changes", "Reject"]);
    await expect.poll(() => page.getByRole("link", { name: new RegExp(run) }).getAttribute("href")).toBe(`/processes?run=${run}&step=ask%2F1`);
    await page.locator(".inbox-late").first().waitFor();
    await views(page, "inbox-task", async ({ width }) => {
      await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
      if (width > 640) await expect.poll(() => rows(page).count()).toBeGreaterThanOrEqual(3);
      await judge(page);
    });
    // Looking at it has done nothing.
    expect((await read(task)).state).toBe("open");
  });

  it("WF-08 a wrong field is told at its place and nothing is sent; right ones go with the pressed transition", async () => {
    const { task } = await start("release");
    const page = await open(`/inbox?view=all&item=task:${task}`);
    await answer(page, "Approve").click();
    await page.locator('[data-path="day"]').getByText("must be given").waitFor();
    await judge(page);
    expect((await read(task)).state).toBe("open");
    await page.getByLabel("Release date").fill("2026-12-01");
    await page.getByRole("checkbox", { name: "botmsg" }).check();
    await page.getByLabel("Headline").fill("次のリリース");
    await answer(page, "Approve").click();
    await page.getByText("Sent: Approve").waitFor();
    await expect.poll(async () => (await read(task)).state).toBe("completed");
    expect((await read(task)).values).toMatchObject({ day: "2026-12-01", channels: ["botmsg"], title: "次のリリース" });
    expect((await read(task)).history.at(-1)?.text).toBe("approve");
    await page
      .getByText(/approved this at/)
      .first()
      .waitFor();
  });

  it("by keyboard alone: j and k choose, `a` goes to the first answer, Enter sends it; a destructive answer is never the first", async () => {
    const { task } = await start("quick");
    await start("quick");
    const page = await open(`/inbox?view=all&item=task:${task}`);
    await answer(page, "Approve").waitFor();
    await expect.poll(() => page.locator(".inbox-answers button").first().textContent()).toContain("Approve");
    await page.keyboard.press("j");
    await expect.poll(() => page.url()).not.toContain(task);
    await page.keyboard.press("k");
    await expect.poll(() => page.url()).toContain(task);
    await answer(page, "Approve").waitFor();
    await page.keyboard.press("a");
    await page.keyboard.press("Enter");
    await expect.poll(async () => (await read(task)).state, { timeout: 15_000 }).toBe("completed");
    await page
      .getByText(/approved this at/)
      .first()
      .waitFor();
  });

  it("too late: who was first and when is said, and what was typed stays", async () => {
    const { task } = await start("release");
    const page = await open(`/inbox?view=all&item=task:${task}`);
    await page.getByLabel("Notes", { exact: true }).fill("what I wrote");
    await page.getByLabel("Release date").fill("2026-12-01");
    await page.getByRole("checkbox", { name: "blog" }).check();
    // Live data that comes meanwhile does not touch the form.
    await at.api("POST", `/api/workflows/tasks/${task}/comment`, { text: "the blog post is not ready" });
    const listed = await rows(page).count();
    await start("quick");
    await expect.poll(() => rows(page).count()).toBeGreaterThan(listed);
    await expect.poll(() => page.getByLabel("Notes", { exact: true }).inputValue()).toBe("what I wrote");
    await at.api("POST", `/api/workflows/tasks/${task}/submit`, { values: { day: "2026-12-02", channels: ["blog"], verdict: "reject" }, actor: "ben" });
    await page.getByText(/Ben (answered “reject”|rejected this) at \d\d:\d\d\. What you wrote is kept below\./).waitFor();
    await expect.poll(() => page.getByLabel("Notes", { exact: true }).inputValue()).toBe("what I wrote");
    await expect.poll(() => page.locator(".inbox-answers").count()).toBe(0);
    await views(page, "inbox-too-late", async () => judge(page));
  });

  it("WF-10 a comment stays with the task and answers nothing; a text that is not sent outlives another choice", async () => {
    const { task } = await start("release");
    const page = await open(`/inbox?view=all&item=task:${task}`);
    await page.getByLabel("Headline").fill("not sent yet");
    await page.getByLabel("Remark").fill("please look at the second line");
    const own = await rows(page).evaluateAll((all) => all.findIndex((row) => row.getAttribute("aria-selected") === "true"));
    await rows(page)
      .nth(own === 0 ? 1 : 0)
      .click();
    await expect.poll(() => page.url()).not.toContain(task);
    await rows(page).nth(own).click();
    await expect.poll(() => page.url()).toContain(task);
    await expect.poll(() => page.getByLabel("Headline").inputValue()).toBe("not sent yet");
    await page.getByRole("button", { name: "Add the remark" }).click();
    await page.getByText("“please look at the second line”").waitFor();
    expect(await read(task)).toMatchObject({ state: "open" });
  });

  it("WF-09 mine are those of my name and my roles; who I am is asked once and kept", async () => {
    await start("release");
    const page = await open("/inbox?view=me");
    await page.getByLabel("Who are you?").fill("anna");
    await judge(page);
    await page.getByRole("button", { name: "Show mine" }).click();
    await rows(page).first().waitFor();
    expect(page.url()).toContain("actor=anna");
    const titles = await rows(page).allTextContents();
    expect(titles.some((title) => title.includes("Approve the notes"))).toBe(true);
    expect(titles.some((title) => title.includes(LONG))).toBe(false);
    const again = await page.context().newPage();
    await again.goto(`${at.url}/inbox`);
    await again.getByRole("radio", { name: /For me/, checked: true }).waitFor();
    await page.goto(`${at.url}/inbox?actor=bert`);
    await expect.poll(async () => (await rows(page).allTextContents()).some((title) => title.includes("コンテンツ更新"))).toBe(true);
  });

  it("an approval is answered with one of its choices, put off, and answered elsewhere in between; a question of an engine says that an agent waits", async () => {
    const { id } = await ask({
      title: "Send the answer to everybody?",
      choices: [
        { id: "drop", label: "Do not send", rejects: true },
        { id: "send", label: "Send it" },
        { id: "edit", label: "Send it shortened" },
      ],
    });
    const page = await open(`/inbox?view=all&item=question:${id}`);
    await answer(page, "Send it shortened").waitFor();
    await expect.poll(() => page.locator(".inbox-answers > button").allTextContents()).toEqual(["Send ita", "Send it shortened", "Do not send"]);
    await page.getByText(/No answer by .* counts as a no\./).waitFor();
    await page.keyboard.press("h");
    await page.getByRole("menuitem", { name: "In 4 hours" }).waitFor();
    await views(page, "inbox-approval", async () => judge(page));
    await page.setViewportSize({ width: 1600, height: 1000 });
    if ((await page.getByRole("menuitem", { name: "In 4 hours" }).isVisible()) === false) await page.locator("[data-later] button").first().click();
    await page.getByRole("menuitem", { name: "In 4 hours" }).click();
    await expect.poll(async () => (await question(id)).laterAt, { timeout: 15_000 }).toBeGreaterThan(Date.now() + 3 * 3_600_000);
    await answer(page, "Send it shortened").click();
    await expect.poll(async () => (await question(id)).decision?.choice).toBe("edit");
    const engine = await ask({ title: "May I delete 214 files in /srv/cache?", kind: "permission", taskId: "task_not_here" });
    await page.goto(`${at.url}/inbox?view=all&item=question:${engine.id}`);
    await page.getByText(/An agent stands still for it\./).waitFor();
    await expect.poll(() => page.locator("[data-later]").count()).toBe(0);
    await expect.poll(() => page.locator(".inbox-kind").textContent()).toBe("Question");
    await daemon("/takes-back", { id: engine.id, reason: "its run has ended" });
    await page
      .getByText(/The agent went on without an answer at \d\d:\d\d\./)
      .first()
      .waitFor();
    await expect.poll(() => page.locator(".inbox-answers").count()).toBe(0);
  });

  it("of two who answer the second is told who was first", async () => {
    const { id } = await ask({ title: "Let the job run?" });
    const page = await open(`/inbox?view=all&item=question:${id}`);
    await answer(page, "Approve").waitFor();
    await page
      .context()
      .setOffline(true)
      .catch(() => undefined);
    await at.api("POST", `/api/approvals/${id}/reject`, {});
    await page.context().setOffline(false);
    if (await answer(page, "Approve").isVisible())
      await answer(page, "Approve")
        .click({ timeout: 2_000 })
        .catch(() => undefined);
    await page
      .getByText(/This machine rejected this at \d\d:\d\d\./)
      .first()
      .waitFor();
    expect((await question(id)).state).toBe("rejected");
  });

  it("a draft is promoted or rejected with its text in sight", async () => {
    // One of its own for each attempt: a draft that is rejected is put away.
    const id = `nightly-${Date.now().toString(36)}`;
    const drafts = join(at.folder, ".svc/workflows/_drafts");
    mkdirSync(drafts, { recursive: true });
    writeFileSync(
      join(drafts, `${id}.yaml`),
      "# made from what an agent did\nname: Nightly report\nconfidence: 0.72\nnodes:\n  - {id: start, kind: trigger}\nedges: []\n",
    );
    const page = await open(`/inbox?view=all&item=draft:${id}`);
    await page.getByRole("heading", { level: 2, name: "Nightly report" }).waitFor();
    await page.getByText("# made from what an agent did").waitFor();
    await page.getByText("Likely, 0.72.").waitFor();
    await views(page, "inbox-draft", async () => judge(page));
    await page.setViewportSize({ width: 1600, height: 1000 });
    await answer(page, "Reject").click();
    await page.getByText("nothing is deleted").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Reject" }).click();
    await page.getByText(`The draft ${id} is put away`).first().waitFor();
    const left = await at.api<{ drafts: { definition: { id: string } }[] }>("GET", "/api/workflows/drafts");
    expect(left.drafts.map(({ definition }) => definition.id)).not.toContain(id);
  });

  it("what is done is listed with how it ended, newest first", async () => {
    const page = await open("/inbox?view=done");
    await rows(page).first().waitFor();
    await page
      .getByText(/(approved|rejected|answered).* at \d\d:\d\d\./)
      .first()
      .waitFor();
    await views(page, "inbox-done", async () => judge(page));
  });

  it("a GET of any address of a request changes nothing", async () => {
    const { task } = await start("quick");
    for (const path of [`/api/workflows/tasks/${task}/submit`, `/api/workflows/tasks/${task}/comment`, `/inbox?item=task:${task}&decision=approve`])
      await fetch(at.url + path).then((answered) => answered.arrayBuffer());
    const page = await open(`/inbox?view=all&item=task:${task}&decision=approve`);
    await answer(page, "Approve").waitFor();
    expect((await read(task)).state).toBe("open");
  });
});

describe.skipIf(NO_BROWSER !== undefined)("an inbox for a token that may only read", { timeout: 120_000 }, () => {
  it("shows everything, says why nothing can be answered, and sends nothing", async () => {
    const at = await startDashboard({
      token: "the-single-bearer",
      config: { workflows: { enabled: true } },
      files: { ".svc/workflows/quick.json": FLOWS.quick },
    });
    const shell = await openShell({}, at.folder);
    const { secret } = await shell.json<{ secret: string }>("token", "create", "--name", "reader", "--scope", "dashboard:read");
    const { runId } = await at.api<{ runId: string }>("POST", "/workflows/quick/run", {});
    const browser = await openBrowser();
    const page = await openPage(browser);
    await page.addInitScript((bearer) => localStorage.setItem("svc.token", bearer), secret);
    await page.goto(`${at.url}/inbox?view=all`);
    const approve = page.locator(".inbox-answers > button").first();
    await approve.waitFor();
    await expect.poll(() => approve.getAttribute("aria-disabled")).toBe("true");
    await expect.poll(() => approve.getAttribute("title")).toContain("dashboard:write");
    await approve.click({ force: true });
    await views(page, "inbox-reader", async () => judge(page));
    const { tasks } = await at.api<{ tasks: { state: string }[] }>("GET", `/api/workflows/tasks?run=${runId}`);
    expect(tasks.map(({ state }) => state)).toEqual(["open"]);
    await page.goto(`${at.url}/processes?run=${runId}`);
    await expect.poll(() => page.getByRole("button", { name: "Pause" }).getAttribute("aria-disabled")).toBe("true");
  });
});

describe.skipIf(NO_BROWSER !== undefined)("an inbox without requests", { timeout: 120_000 }, () => {
  it("says that nothing waits", async () => {
    const browser = await openBrowser();
    const at = await startDashboard({ config: { workflows: { enabled: true } } });
    const page = await openPage(browser);
    await page.goto(`${at.url}/inbox`);
    await page.getByText("Nothing waits for anybody.").waitFor();
    await views(page, "inbox-empty", async () => judge(page));
  });
});
