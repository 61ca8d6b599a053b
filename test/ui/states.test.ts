import type { Browser, BrowserContext, Page } from "playwright-core";
import { beforeAll, describe, expect, it, onTestFailed } from "vitest";
import { svcIn } from "../rules/auth.harness.ts";
import { NO_BROWSER, openBrowser } from "./kit/browser.ts";
import { type Dashboard, startDashboard } from "./kit/dashboard.ts";
import { expectQuiet, judge, openPage, watch } from "./kit/judge.ts";
import { openLine } from "./kit/line.ts";
import { shots } from "./kit/views.ts";
import { visit } from "./kit/visit.ts";

/** One page, and what it says in each of its states. */
interface Shown {
  readonly path: string;
  /** What stands there of an installation with one agent and one task. */
  readonly content: RegExp;
  /** What a token that may only read is told; absent: as `content`. */
  readonly reader?: RegExp;
  /** It is waited until it says that reading takes long: once for each way in which pages read. */
  readonly slow?: true;
}

const ADMIN = ["agents", "channels", "schedules", "webhooks", "mesh", "business", "boards", "actions", "tokens", "advanced"];
const REFUSED = /cannot be shown: this token may not read it\. That needs dashboard:write/;
/** Each page in the state in which a new installation has it. */
const PAGES: readonly Shown[] = [
  { path: "/", content: /No running plugin brings forge_a/ },
  { path: "/live", content: /Nothing runs\. Last task/, slow: true },
  { path: "/live?chat=echo", content: /Say something to Echo|the first of all/, reader: /This token may read only\. Talking to agents needs dashboard:write/ },
  { path: "/inbox", content: /Nothing waits for (you|anybody)/ },
  { path: "/processes", content: /No runs yet\. A run starts by a webhook/, slow: true },
  { path: "/workflows", content: /No workflow yet\. In it steps, agents and people finish one job/ },
  { path: "/workflows/editor", content: /not saved yet/ },
  { path: "/tasks", content: /the first of all/, slow: true },
  { path: "/tasks/TASK", content: /the first of all/ },
  { path: "/plugins", content: /feature-dashboard/, reader: REFUSED },
  { path: "/setup", content: /Which engine runs the agent/, reader: REFUSED },
  ...ADMIN.map((tab) => ({ path: `/admin#${tab}`, content: /(Add an? |Filter|All settings|The document|Try it|Create a token|off)/, reader: REFUSED })),
];
/** Each way in which pages read, what is not answered for it, and what stands there when it is. */
const STOPPED: readonly { readonly path: string; readonly held: RegExp; readonly what: string; readonly content: RegExp }[] = [
  { path: "/live", held: /\/api\/tasks\/events/, what: "Events", content: /task:completed/ },
  { path: "/tasks", held: /\/api\/tasks\/marks/, what: "The tasks", content: /the first of all/ },
  { path: "/processes", held: /\/api\/workflows\/runs\?/, what: "The runs", content: /No runs yet\./ },
  { path: "/inbox", held: /\/api\/approvals/, what: "The requests", content: /Nothing waits for (you|anybody)/ },
  { path: "/admin#agents", held: /\/api\/admin\/settings/, what: "svc.json", content: /Add an agent/ },
  { path: "/workflows/editor", held: /\/api\/workflows\?/, what: "Workflow", content: /not saved yet/ },
];
const AWAY = '{"error":"the daemon at http://192.0.2.1 does not answer"}';
/** What a page asks besides the frame's own requests. */
const DATA = /\/api\/(?!me(\?|$)|ticket|live\/stream|sign-in|public)/;
/** Longer than a page reads before it says that reading takes long. */
const SLOW_MS = 6_000;
/**
 * Takes what a page asks of the daemon, from now on: it has no answer, then a refusal, then its own. By the debugger itself: `page.route` switches
 * the browser's cache off, and each document would read and compile all programs again.
 */
async function takeRequests(page: Page): Promise<{ refuse(): void; letGo(): Promise<void> }> {
  const debug = await page.context().newCDPSession(page);
  const headers = [{ name: "content-type", value: "application/json" }];
  const body = Buffer.from(AWAY).toString("base64");
  let held: string[] | undefined = [];
  // The page may be closed by then.
  const fail = (requestId: string) =>
    debug.send("Fetch.fulfillRequest", { requestId, responseCode: 502, responseHeaders: headers, body }).catch(() => undefined);
  debug.on("Fetch.requestPaused", ({ requestId, request: { url } }) => {
    if (!DATA.test(url)) void debug.send("Fetch.continueRequest", { requestId }).catch(() => undefined);
    else if (held === undefined) void fail(requestId);
    else held.push(requestId);
  });
  await debug.send("Fetch.enable", { patterns: [{ urlPattern: "*/api/*" }] });
  return {
    refuse() {
      for (const requestId of held ?? []) void fail(requestId);
      held = undefined;
    },
    letGo: () => debug.detach(),
  };
}

const THEMES = ["light", "dark"] as const;
const NAMES: Readonly<Record<string, string>> = { "/": "boards" };
const nameOf = (path: string) => NAMES[path] ?? path.replace(/\W+/g, "-").replace(/^-/, "").toLowerCase();

describe.skipIf(NO_BROWSER !== undefined)("every page in every state, in both themes", { timeout: 300_000 }, () => {
  let browser: Browser;
  let at: Dashboard;
  let task: string;
  const config = { workflows: { enabled: true }, boards: [{ id: "team", name: "Team", source: { type: "forge_a", projects: ["a/b"] } }] };
  const addressOf = (path: string, base = at.url) => base + path.replace("TASK", task);
  const said = (page: Page, words: RegExp) => page.locator("#page").getByText(words).filter({ visible: true }).first().waitFor();
  /** Both themes are judged; where pictures are wanted, one is taken of each. */
  const look = async (page: Page, state: string, path: string) => {
    // It begins with the theme in which the page stands: each change draws everything anew.
    const dark = await page.evaluate(() => matchMedia("(prefers-color-scheme: dark)").matches);
    for (const colorScheme of dark ? THEMES.toReversed() : THEMES) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      await judge(page);
      expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
      if (process.env.SVC_UI_SHOTS !== undefined) await page.screenshot({ path: `${shots()}/state-${state}-${nameOf(path)}-${colorScheme}.png` });
    }
  };
  const openAs = async (token: string | undefined): Promise<Page> => {
    const page = await openPage(browser, { viewport: { width: 1280, height: 800 } });
    if (token !== undefined) await signedIn(page.context(), token);
    return page;
  };
  /** The pages of a browser have the token; an empty page has nowhere to keep it. */
  const signedIn = (context: BrowserContext, token: string) =>
    context.addInitScript((value) => location.protocol === "http:" && localStorage.setItem("svc.token", value), token);
  /** Another document between two places of one page, which would stay the same one. It is the daemon's: another site's has a process of its own. */
  const leave = (page: Page) => page.goto(`${at.url}/nothing-here`);
  /** Pages that have the programs of the dashboard compiled already. After a failed test each has one of its own. */
  const kept: { plain?: Page; clocked?: Page } = {};
  const openKept = async (kind: keyof typeof kept): Promise<Page> => {
    const page = await openAs(at.token);
    // The clock of a browser's pages is set once for all of them.
    if (kind === "clocked") await page.clock.install();
    return page;
  };
  const keptPage = async (kind: keyof typeof kept): Promise<Page> => {
    const page = kept[kind];
    if (page === undefined) return openKept(kind);
    onTestFailed(() => {
      delete kept[kind];
    });
    await page.unrouteAll({ behavior: "ignoreErrors" });
    await leave(page);
    return page;
  };
  beforeAll(async () => {
    browser = await openBrowser();
    at = await startDashboard({ config, token: "the-single-bearer-of-old" });
    const answer = await at.api<{ taskId: string }>("POST", "/api/chat/echo", { text: "the first of all", chat: "test" });
    task = answer.taskId;
    kept.plain = await openKept("plain");
    kept.clocked = await openKept("clocked");
  });

  for (const { path, content, slow = false } of PAGES)
    it(`${path} says that it reads, that it could not, and shows what there is when it is asked again`, async () => {
      const page = await keptPage(slow ? "clocked" : "plain");
      const requests = await takeRequests(page);
      await page.goto(addressOf(path));
      await page.locator("#page .kit-loading").first().waitFor();
      await look(page, "loading", path);
      if (slow) {
        await page.clock.runFor(SLOW_MS);
        await page.getByText("Still reading...").first().waitFor();
      }
      requests.refuse();
      await said(page, /could not be read\. 502: the daemon at http:\/\/192\.0\.2\.1 does not answer/);
      await look(page, "error", path);
      await requests.letGo();
      // Each pane has its own; those of one resource go together.
      await page.evaluate(() => {
        for (const button of document.querySelectorAll<HTMLElement>("#page button")) if (button.textContent === "Try again") button.click();
      });
      await said(page, content);
      await look(page, "content", path);
    });

  for (const { path, held, what, content } of STOPPED)
    it(`${path} stops reading when [Cancel] is pressed by the keyboard, and reads when it is asked again`, async () => {
      const page = await keptPage("clocked");
      const aborted: string[] = [];
      page.on("requestfailed", (request) => aborted.push(`${request.failure()?.errorText} ${request.url()}`));
      // No answer comes until the page is gone, or asks again.
      let stopped = false;
      await page.route(held, (route) => (stopped ? route.continue() : undefined));
      await page.goto(addressOf(path));
      // The other panes have read: they would offer a way out as well.
      await expect.poll(() => page.locator("#page .kit-loading").count()).toBe(1);
      await page.clock.runFor(SLOW_MS);
      const cancel = page.locator("#page .kit-loading").getByRole("button", { name: "Cancel" });
      // One pane may have been there before the others, which are still reading then.
      await expect.poll(() => cancel.count()).toBe(1);
      const focused = () => cancel.evaluate((button) => button === document.activeElement);
      for (let presses = 0; presses < 60 && !(await focused()); presses += 1) await page.keyboard.press("Tab");
      await page.keyboard.press("Enter");
      await said(page, new RegExp(`^You stopped reading\\. ${what.replace(".", "\\.")} can be read again\\.$`));
      await expect.poll(() => aborted.some((one) => one.includes("ERR_ABORTED") && held.test(one))).toBe(true);
      await look(page, "stopped", path);
      // The focus went on to the way back, and nothing is read before it is taken.
      const again = page.locator("#page .kit-state").getByRole("button", { name: "Try again" });
      await expect.poll(() => again.evaluate((button) => button === document.activeElement)).toBe(true);
      stopped = true;
      await page.keyboard.press("Enter");
      await said(page, content);
      await again.waitFor({ state: "detached" });
      await judge(page);
    });

  it("a token that may only read sees what it may, and is told what it may not", async () => {
    const { stdout } = await svcIn(at.folder, ["--json", "token", "create", "--name", "reader", "--scope", "dashboard:read"]);
    const page = await openAs((JSON.parse(stdout) as { secret: string }).secret);
    for (const { path, content, reader = content } of PAGES) {
      await visit(page, addressOf(path));
      await said(page, reader);
      await look(page, "reader", path);
    }
    // The way out is there: another token, or back to what was.
    await page.getByRole("button", { name: "Use another token..." }).first().click();
    const dialog = page.getByRole("dialog", { name: "Sign in" });
    await dialog.getByLabel("Token", { exact: true }).waitFor();
    await judge(page);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Use another token..." }).first().click();
    await dialog.getByLabel("Token", { exact: true }).fill(at.token ?? "");
    await dialog.getByRole("button", { name: "Sign in" }).click();
    await dialog.waitFor({ state: "detached" });
    await page.getByText(REFUSED).first().waitFor({ state: "detached" });
  });

  it("a token without the dashboard's scopes is asked for another one on each page", async () => {
    const { stdout } = await svcIn(at.folder, ["--json", "token", "create", "--name", "other", "--scope", "mesh:peer"]);
    const page = await openAs((JSON.parse(stdout) as { secret: string }).secret);
    for (const { path } of PAGES) {
      await leave(page);
      await page.goto(addressOf(path));
      await page.getByRole("dialog", { name: "Sign in" }).getByLabel("Token", { exact: true }).waitFor();
      expectQuiet(page);
    }
    // The same dialog over each of them.
    await judge(page);
  });

  it("the daemon goes away over all pages: each says so, keeps what it shows, and goes on by itself", async () => {
    const line = await openLine(at.url);
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce" });
    await signedIn(context, at.token as string);
    const pages: { readonly path: string; readonly page: Page; readonly content: RegExp }[] = [];
    for (const { path, content } of PAGES) {
      const page = await context.newPage();
      watch(page);
      await page.goto(addressOf(path, line.url));
      await said(page, content);
      pages.push({ path, page, content });
    }
    line.cut();
    for (const { page, path, content } of pages) {
      await page.bringToFront();
      const bar = page.locator(".shell-stale");
      await bar.getByText(/Not connected since \d\d:\d\d:\d\d\./).waitFor();
      await said(page, content);
      await look(page, "offline", path);
    }
    // A page that was never loaded comes when the server does.
    const last = pages[1] as (typeof pages)[number];
    await last.page.bringToFront();
    await last.page.getByRole("navigation", { name: "Pages" }).first().getByRole("link", { name: "Plugins" }).click();
    await last.page.locator("#page .kit-loading").first().waitFor();
    line.mend();
    await said(last.page, /feature-dashboard/);
    for (const { page, content } of pages) {
      await page.locator(".shell-stale").waitFor({ state: "detached" });
      if (page !== last.page) await said(page, content);
      expectQuiet(page);
    }
    expect(line.streams.open).toBe(1);
    await context.close();
    await line.close();
  });
});
