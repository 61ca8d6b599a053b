import type { Browser, Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { openShell } from "../kit/svc.ts";
import { NO_BROWSER, openBrowser } from "./kit/browser.ts";
import { type Dashboard, startDashboard } from "./kit/dashboard.ts";
import { judge, openPage } from "./kit/judge.ts";
import { views } from "./kit/views.ts";

const TOKEN = "the-single-bearer-of-this-test";

describe.skipIf(NO_BROWSER !== undefined)("signing in", () => {
  let browser: Browser;
  let at: Dashboard;
  const dialog = (page: Page) => page.getByRole("dialog", { name: "Sign in" });
  const signIn = async (page: Page, token = TOKEN) => {
    await dialog(page).getByLabel("Token").fill(token);
    await dialog(page).getByRole("button", { name: "Sign in" }).click();
  };
  const connected = (page: Page) =>
    page
      .getByRole("button", { name: /workshop/ })
      .getByText("connected", { exact: true })
      .first()
      .waitFor({ state: "attached" });
  beforeAll(async () => {
    browser = await openBrowser();
    at = await startDashboard({ token: TOKEN });
  });

  it("asks for a token above the page, says why one is refused, and goes on with a good one", async () => {
    const page = await openPage(browser);
    await page.goto(`${at.url}/plugins`);
    await dialog(page).waitFor();
    await views(page, "sign-in", () => judge(page));
    await page.setViewportSize({ width: 1600, height: 1000 });
    await signIn(page, "svc_not_a_token");
    await dialog(page).locator("input[aria-invalid=true]").waitFor();
    const field = dialog(page).getByLabel("Token");
    await expect.poll(() => field.getAttribute("aria-invalid")).toBe("true");
    await signIn(page);
    await dialog(page).waitFor({ state: "detached" });
    await connected(page);
    // Kept for the other tabs of the browser, and gone after signing out.
    const other = await page.context().newPage();
    await other.goto(`${at.url}/plugins`);
    await connected(other);
    await page.getByRole("button", { name: /workshop/ }).click();
    await page.getByRole("menuitem", { name: "Sign out" }).click();
    await dialog(page).waitFor();
    await dialog(other).waitFor();
  });

  it("a refusal of what was asked before the sign-in, which comes after it, opens nothing", async () => {
    const page = await openPage(browser);
    let release = () => {};
    const signedIn = new Promise<void>((resolve) => {
      release = resolve;
    });
    let answered = 0;
    await page.route("**/api/panels", async (route) => {
      if (route.request().headers()["authorization"] !== undefined) return route.continue();
      const answer = await route.fetch();
      await signedIn;
      await route.fulfill({ response: answer }).catch(() => {});
      answered += 1;
    });
    await page.addInitScript(() => {
      // Not ended by the page: as if the answer were read already.
      const { fetch } = globalThis;
      globalThis.fetch = (address, options) => fetch(address, String(address).endsWith("/api/panels") ? { ...options, signal: null } : options);
    });
    await page.goto(`${at.url}/plugins`);
    await signIn(page);
    await dialog(page).waitFor({ state: "detached" });
    await connected(page);
    release();
    await expect.poll(() => answered).toBeGreaterThan(0);
    // Whatever is asked next is answered; nothing lies above the page.
    await page.getByRole("link", { name: "Tasks" }).click();
    await page.getByRole("heading", { name: "Tasks" }).waitFor();
    expect(await dialog(page).count()).toBe(0);
  });

  it("AUTH-04 a token that is revoked ends the stream of the page, and what was typed is kept", async () => {
    const shell = await openShell({}, at.folder);
    const made = await shell.json<{ secret: string; id: string }>("token", "create", "--name", "page", "--scope", "dashboard:write");
    const page = await openPage(browser);
    await page.addInitScript((token) => localStorage.getItem("svc.token") ?? localStorage.setItem("svc.token", token), made.secret);
    await page.goto(`${at.url}/plugins`);
    await connected(page);
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Search or run..." }).fill("half a thought");
    const { code } = await shell.svc("token", "revoke", made.id);
    expect(code).toBe(0);
    await dialog(page).waitFor();
    await expect.poll(() => dialog(page).textContent()).toMatch(/Your sign-in ended at \d\d:\d\d:\d\d \(.+\)\. What you typed is kept\./);
    await signIn(page);
    await dialog(page).waitFor({ state: "detached" });
    await expect.poll(() => page.getByRole("combobox", { name: "Search or run..." }).inputValue()).toBe("half a thought");
    await connected(page);
  });

  it("a link of the command line signs one browser in, once, and the code stays out of every address that is sent", async () => {
    const shell = await openShell({}, at.folder);
    const { url } = await shell.json<{ url: string }>("dashboard", "--link", "--no-open");
    const page = await openPage(browser);
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    await page.goto(url);
    await connected(page);
    expect(page.url()).toBe(`${at.url}/live`);
    const secret = new URL(url).hash.slice("#sign-in=".length);
    expect(asked.length).toBeGreaterThan(3);
    expect(asked.filter((one) => one.includes(secret))).toEqual([]);
    const second = await openPage(browser);
    await second.goto(url);
    await dialog(second).getByText("This sign-in link was used already").waitFor();
  });
});
