import type { Browser, Page } from "playwright-core";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { NO_BROWSER, openBrowser } from "./kit/browser.ts";
import { type Dashboard, startDashboard } from "./kit/dashboard.ts";
import { judge, openPage } from "./kit/judge.ts";

const COUNT = 1_000;
/** A plugin that asks people many things. */
const ASKS = `export default { kind: "feature", name: "asks", version: "1.0.0", svc: "*", capabilities: ["services", "routes"],
  setup(ctx) {
    ctx.provide.route({ method: "POST", path: "/asks", guard: "loopback", body: { type: "object", additionalProperties: true }, async handle({ body: { from, count } }) {
      const approvals = ctx.services.get("approvals");
      for (let n = from; n < from + count; n += 1) {
        const question = { kind: "job", title: "Question " + n, detail: "Run it?", requestedBy: "agent echo" };
        await approvals.ask({ ...question, digest: await approvals.digest(question) });
      }
      return { asked: count };
    } });
  } };`;

describe.skipIf(NO_BROWSER)("a long inbox", { timeout: 180_000 }, () => {
  let browser: Browser;
  let at: Dashboard;
  let page: Page;
  beforeAll(async () => {
    browser = await openBrowser();
  });
  beforeEach(async () => {
    at = await startDashboard({ config: { plugins: ["./asks.mjs"] }, files: { "asks.mjs": ASKS } });
    await ask(1, COUNT);
    page = await openPage(browser);
    page.setDefaultTimeout(30_000);
    return async () => {
      await page.context().close();
      await at.stop();
    };
  });
  const ask = async (from: number, count: number) => {
    const answered = await fetch(`${at.daemon}/asks`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ from, count }),
    });
    expect(answered.status).toBe(200);
  };
  const list = () => page.getByRole("grid", { name: "Requests" });
  const count = () => list().getAttribute("aria-rowcount").then(Number);
  /** To the end, as often as more comes. */
  const toTheEnd = async (rows: number) => {
    await list().focus();
    await expect
      .poll(
        async () => {
          await page.keyboard.press("End");
          return list().getByText(`Question ${rows}`, { exact: true }).count();
        },
        { timeout: 60_000 },
      )
      .toBe(1);
    expect(await count()).toBe(rows);
  };

  it("is read to its end, the longest waiting first; an answer far down keeps every row, and a new request comes behind", async () => {
    await page.goto(`${at.url}/inbox?view=all`);
    await list().getByText("Question 1", { exact: true }).waitFor();
    await page.locator('.shell-rail a[href="/inbox"] .shell-link-count').getByText("200+").waitFor();
    await page.getByRole("radio", { name: /Everyone\s*200\+/ }).waitFor();
    await judge(page);
    await toTheEnd(COUNT);
    await list().getByText(`Question ${COUNT}`, { exact: true }).waitFor();
    await page.getByRole("radio", { name: new RegExp(`Everyone\\s*${COUNT}$`) }).waitFor();
    // The last one is answered: its row stays, and so do all the others.
    await list().getByText(`Question ${COUNT}`, { exact: true }).click();
    await page.getByRole("heading", { level: 2, name: `Question ${COUNT}` }).waitFor();
    await page
      .locator(".inbox-answers")
      .getByRole("button", { name: /Approve/ })
      .click();
    await page
      .getByText(/approved this at/)
      .first()
      .waitFor();
    await page.getByRole("radio", { name: new RegExp(`Everyone\\s*${COUNT - 1}$`) }).waitFor();
    expect(await count()).toBe(COUNT);
    await ask(COUNT + 1, 1);
    await expect.poll(count, { timeout: 30_000 }).toBe(COUNT + 1);
    await toTheEnd(COUNT + 1);
    await list()
      .getByText(`Question ${COUNT + 1}`, { exact: true })
      .waitFor();
    expect(await list().locator(".inbox-over").count()).toBe(1);
    await judge(page);
  });

  it("its pages follow a cursor, on both servers, without a question twice; a place that is gone is told", async () => {
    for (const order of ["oldest", "newest"]) {
      const titles: string[] = [];
      for (let cursor: string | undefined = ""; cursor !== undefined; ) {
        const next: { approvals: { title: string }[]; next?: string } = await at.api(
          "GET",
          `/api/approvals?limit=170&order=${order}${cursor === "" ? "" : `&cursor=${cursor}`}`,
        );
        titles.push(...next.approvals.map(({ title }) => title));
        cursor = next.next;
      }
      expect(new Set(titles).size).toBe(COUNT);
      expect(titles).toHaveLength(COUNT);
      const numbers = titles.map((title) => Number(title.split(" ")[1]));
      // Several of one millisecond may stand in any order.
      expect(order === "oldest" ? (numbers[0] ?? 0) < 100 && (numbers.at(-1) ?? 0) > 900 : (numbers[0] ?? 0) > 900 && (numbers.at(-1) ?? 0) < 100).toBe(true);
    }
    await expect(at.api("GET", "/api/approvals?cursor=nobody")).rejects.toThrow("400");
    await expect(at.api("GET", "/api/approvals?order=sideways")).rejects.toThrow("400");
    const { approvals, next } = (await (await fetch(`${at.daemon}/approvals?limit=1000`)).json()) as { approvals: unknown[]; next?: string };
    expect([approvals.length, next]).toEqual([COUNT, undefined]);
  });
});
