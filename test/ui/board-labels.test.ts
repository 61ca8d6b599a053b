import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type ForgeA, startForgeA } from "../kit/forge-a/server.ts";
import { NO_BROWSER, openBrowser } from "./kit/browser.ts";
import { type Dashboard, startDashboard } from "./kit/dashboard.ts";
import { judge, openPage } from "./kit/judge.ts";
import { views } from "./kit/views.ts";

const TOKEN = "glpat-CANARY-token-of-labels";
const APP = "group/app";
const LABELS = ["flow::todo", "flow::doing", "flow::review", "bug", "通知"];

describe.skipIf(NO_BROWSER)("the tab of boards in /admin", { timeout: 120_000 }, () => {
  let browser: Browser;
  let far: ForgeA;
  let at: Dashboard;
  let page: Page;
  beforeAll(async () => {
    browser = await openBrowser();
  });
  beforeEach(async () => {
    far = await startForgeA();
    far.addUser("svc", { bot: true });
    far.addToken(TOKEN, "svc");
    far.addProject(APP, { private: true, members: { svc: "write" }, labels: LABELS });
    at = await startDashboard({
      token: "the-token-of-the-page",
      config: {
        channels: { forge_a: { enabled: true, host: far.url, webhookPort: 0, webhookSecret: "a-secret", token: TOKEN } },
        boards: [
          { id: "team", name: "Team", source: { type: "forge_a", projects: [APP] } },
          { id: "gone", name: "Gone", source: { type: "forge_a", projects: ["group/gone"] } },
        ],
      },
    });
    page = await openPage(browser);
    return async () => {
      await page.context().close();
      await at.stop();
      await far.close();
    };
  });
  const columns = () => (JSON.parse(readFileSync(join(at.folder, "svc.json"), "utf8")) as { boards: { columns?: object[] }[] }).boards[0]?.columns;
  const signIn = async () => {
    await page.goto(at.url);
    await page.getByLabel("Token").fill("the-token-of-the-page");
    await page.keyboard.press("Enter");
    await page.getByLabel("Token").waitFor({ state: "detached" });
  };

  it("offers the labels that the source has, takes what is typed, and says which one the source lacks", async () => {
    await signIn();
    await page.goto(`${at.url}/admin#boards/0-team`);
    await page.getByText("5 labels read from forge_a.").waitFor();
    // The default columns name labels that this project does not have.
    expect(await page.getByText("The source does not have it").count()).toBe(4);
    await views(page, "board-labels", () => judge(page));
    for (const [column, label] of [
      ["To Do", "flow::todo"],
      ["Doing", "flow::doing"],
      ["Review", "flow::review"],
    ] as const) {
      await page.getByRole("combobox", { name: `Label of ${column}` }).click();
      await page.getByRole("option", { name: label }).click();
    }
    const typed = page.getByRole("combobox", { name: "Label of On Hold" });
    await typed.fill("flow::waits-for-somebody");
    await typed.press("Enter");
    await expect.poll(() => page.getByText("The source does not have it").count()).toBe(1);
    expect(await page.getByRole("img", { name: "#428BCA" }).count()).toBe(3);
    // The fields of the form below offer the same ones.
    await page.getByRole("combobox", { name: /Primary tool label/ }).click();
    await page.getByRole("option", { name: "通知" }).click();
    await judge(page);
    await page.getByRole("button", { name: /Review and save/ }).click();
    await page
      .getByRole("dialog")
      .getByRole("button", { name: /Save and reload/ })
      .and(page.locator(":not([aria-busy])"))
      .click();
    await page.getByText("Saved. In force now.").waitFor();
    expect(columns()?.map((column) => (column as { mapsToLabel?: string }).mapsToLabel)).toEqual([
      undefined,
      "flow::todo",
      "flow::doing",
      "flow::waits-for-somebody",
      "flow::review",
      undefined,
    ]);
    // A label that is made at the forge meanwhile is there after a click.
    far.state.projects[0]?.labels.push("flow::waits-for-somebody");
    await page.getByRole("button", { name: "Read again" }).click();
    await page.getByText("6 labels read from forge_a.").waitFor();
    expect(far.violations).toEqual([]);
  });

  it("says in the source's words why labels cannot be read, and the fields take what is typed", async () => {
    await signIn();
    await page.goto(`${at.url}/admin#boards/1-gone`);
    await page.getByText(/The labels of forge_a could not be read: forge_a answered 404/).waitFor();
    const field = page.getByRole("textbox", { name: /Primary tool label/ });
    await field.fill("bug");
    expect(await field.inputValue()).toBe("bug");
    await judge(page);
  });

  it("AUTH-09 a token that may only read asks no labels, and nobody names a project by a path that is none", async () => {
    const { secret } = await at.api<{ secret: string }>("POST", "/api/admin/tokens", { name: "reader", scopes: ["dashboard:read"] });
    const ask = (query: string, bearer: string) => fetch(`${at.url}/api/board-labels?${query}`, { headers: { authorization: `Bearer ${bearer}` } });
    const good = new URLSearchParams({ source: "forge_a", projects: APP }).toString();
    expect((await ask(good, secret)).status).toBe(403);
    expect((await ask(good, "nonsense")).status).toBe(401);
    const before = far.requests.length;
    for (const projects of ["../../user", "a/../b", "", " "]) {
      const { status } = await ask(new URLSearchParams({ source: "forge_a", projects }).toString(), at.token ?? "");
      expect([projects, status >= 400 && status < 500]).toEqual([projects, true]);
    }
    expect(far.requests.slice(before).every(({ path }) => path.includes("/labels"))).toBe(true);
    expect((await ask("source=nowhere&projects=a", at.token ?? "")).status).toBe(404);
    expect(far.violations).toEqual([]);
  });
});
