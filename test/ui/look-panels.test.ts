import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { NO_BROWSER, openBrowser } from "./kit/browser.ts";
import { type Dashboard, echoAgent, startDashboard } from "./kit/dashboard.ts";
import { judge, openPage } from "./kit/judge.ts";
import { views } from "./kit/views.ts";

const LONG = "Geschwindigkeitsbegrenzungsueberschreitungsverfahrensordnung";
const SECRET = "glpat-CANARYabcdefghij0123";
const node = (title: string, more = "") => `title: ${title}\n${more}`;

describe.skipIf(NO_BROWSER !== undefined)("tabs that show what agents share and keep", { timeout: 120_000 }, () => {
  let browser: Browser;
  let at: Dashboard;
  let page: Page;
  beforeAll(async () => {
    browser = await openBrowser();
  });
  beforeEach(async () => {
    at = await startDashboard({
      env: { INTENT_LEDGER_MODE: "shadow" },
      config: {
        agents: { echo: echoAgent(), keeper: echoAgent({ name: `Keeper of the ${LONG}`, workspace: "./k" }) },
        business: { projects: [{ id: "shop" }] },
        graph: { enabled: true, baseDir: "graph" },
      },
      files: {
        "graph/shop.yaml": node("The shop"),
        "graph/broken.yaml": "title: [",
        "graph/returns.yaml": node("Returns", "parent: shop\nkeywords: [refund]\ntext: |\n  Customers get <b>their</b> money back.\n"),
        "graph/_drafts/d1.yaml": `change: add\nid: stock\ntitle: ${LONG}\nconfidence: 0.4\nby: echo\nreason: people ask for it\n`,
        "k/MEMORY.md": `Ada likes short answers.\nHer key is ${SECRET}\n`,
        [`k/memory/${LONG}.md`]: "مساعد الجدولة",
      },
    });
    page = await openPage(browser);
    page.setDefaultTimeout(30_000);
    return async () => {
      await page.context().close();
      await at.stop();
    };
  });
  const tab = async (name: string) => {
    await page.goto(`${at.url}/admin#agents`);
    await page.getByRole("tab", { name, exact: true }).click();
  };
  /** The panel is asked once more, and no answer is good. */
  const away = async (path: RegExp, name: string, words: RegExp) => {
    await page.route(path, (route) => route.fulfill({ status: 503, contentType: "application/json", body: '{"error":"the store takes nothing"}' }));
    await page.reload();
    await page.getByText(words).waitFor();
    await judge(page);
    await page.unroute(path);
    await tab(name);
  };

  it("the ledger: empty, then who has what; an error in words", async () => {
    await tab("Ledger");
    await page.getByText("The ledger is empty.", { exact: false }).waitFor();
    await page.getByText("Mode shadow:", { exact: false }).waitFor();
    await views(page, "ledger-empty", () => judge(page));
    for (const [subject, agent] of [
      ["issue 12", "echo"],
      [LONG, "keeper"],
      ["المحادثة <b>7</b>", "echo"],
    ]) {
      const answer = await fetch(`${at.daemon}/ledger/assign`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ project: `shop/${LONG}`, subject, agent, by: "Ben" }),
      });
      expect(answer.status).toBe(200);
    }
    await away(/\/api\/ledger/, "Ledger", /The ledger could not be read: the store takes nothing/);
    const row = page.locator(".ledger-row").filter({ hasText: "issue 12" });
    await row.getByText("Ben").waitFor();
    await row.getByText("no turn yet").waitFor();
    await page.getByText("المحادثة <b>7</b>").waitFor();
    await views(page, "ledger", async () => {
      await judge(page);
      expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
    });
  });

  it("the intent graph: nodes below what they are a part of, a broken file and a draft, texts as text; an error in words", async () => {
    await tab("Intent graph");
    const returns = page.locator(".graph-row").filter({ hasText: "Returns" });
    await returns.getByText("part of The shop").waitFor();
    await returns.getByText("Text", { exact: true }).press("Enter");
    await returns.getByRole("region", { name: "The text of Returns" }).getByText("Customers get <b>their</b> money back.").waitFor();
    await page.locator(".graph-row").filter({ hasText: "broken.yaml" }).getByText("It is left out:", { exact: false }).waitFor();
    await page.locator(".graph-row").filter({ hasText: LONG }).getByText("Why: people ask for it").waitFor();
    await views(page, "graph", async () => {
      await judge(page);
      expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
    });
    await away(/\/api\/graph/, "Intent graph", /The graph could not be read: the store takes nothing/);
    await returns.waitFor();
  });

  it("memory: no file, then the files of an agent with their text, without its credentials; an error in words", async () => {
    await tab("Memory");
    await page.getByText("It has none: MEMORY.md", { exact: false }).waitFor();
    await views(page, "memory-empty", () => judge(page));
    const choice = page.getByLabel("Agent", { exact: true });
    await choice.selectOption("keeper");
    await page.locator(".memory-row").filter({ hasText: LONG }).waitFor();
    await page.locator("summary", { hasText: "MEMORY.md" }).press("Enter");
    const text = page.getByRole("region", { name: "The text of MEMORY.md" });
    await text.getByText("Ada likes short answers.", { exact: false }).waitFor();
    await page.getByText("1 credentials left out").waitFor();
    await views(page, "memory", async () => {
      await judge(page);
      expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
    });
    expect(await page.content()).not.toContain(SECRET);
    const shown = await at.api<object>("GET", "/api/agents/keeper/memory?file=MEMORY.md");
    expect(JSON.stringify(shown)).not.toContain(SECRET);
    expect(JSON.stringify(shown)).not.toContain(at.folder);
    // A file that an agent has written meanwhile is read when it is opened again.
    await writeFile(join(at.folder, "k/MEMORY.md"), "Ada likes long answers.\n");
    await page.locator("summary", { hasText: "MEMORY.md" }).press("Enter");
    await page.locator("summary", { hasText: "MEMORY.md" }).press("Enter");
    await text.getByText("Ada likes long answers.").waitFor();
    await away(/\/api\/agents\/[^/]+\/memory/, "Memory", /The memory could not be read: the store takes nothing/);
    await page.getByText("It has none: MEMORY.md", { exact: false }).waitFor();
  });

  it("AUTH-09 all three are read by a token that may read, by nobody else, and changed by none", async () => {
    const { secret } = await at.api<{ secret: string }>("POST", "/api/admin/tokens", { name: "reader", scopes: ["dashboard:read"] });
    const { secret: other } = await at.api<{ secret: string }>("POST", "/api/admin/tokens", { name: "other", scopes: ["mesh:peer"] });
    for (const path of ["/api/ledger", "/api/graph", "/api/graph/nodes/shop", "/api/graph/drafts", "/api/agents/keeper/memory"]) {
      const ask = async (headers: Record<string, string>, method = "GET") =>
        (await fetch(at.url + path, { method, headers: { "x-requested-with": "svc-board", ...headers } })).status;
      expect([
        path,
        await ask({ authorization: `Bearer ${secret}` }),
        await ask({ authorization: `Bearer ${other}` }),
        await ask({ authorization: "Bearer x" }),
      ]).toEqual([path, 200, 403, 401]);
      for (const method of ["PUT", "DELETE", "POST"])
        expect([path, method, await ask({ authorization: `Bearer ${secret}` }, method)]).toEqual([
          path,
          method,
          expect.toSatisfy((status: number) => [404, 405].includes(status)),
        ]);
    }
  });
});
