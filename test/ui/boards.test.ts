import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type ForgeA, startForgeA } from "../kit/forge-a/server.ts";
import { freePort } from "../kit/free-port.ts";
import { NO_BROWSER, openBrowser } from "./kit/browser.ts";
import { type Dashboard, echoAgent, startDashboard } from "./kit/dashboard.ts";
import { judge, openPage } from "./kit/judge.ts";
import { pictures, views } from "./kit/views.ts";

const TOKEN = "glpat-CANARY-token-of-boards";
const SECRET = "a-secret-of-hooks";
const APP = "group/app";
/** 120 characters. */
const DEEP = `${"group-of-many-teams/".repeat(5)}${"t".repeat(20)}`;
const LONG = "Geschwindigkeitsbegrenzungsueberschreitungsverfahrensordnung";
const STATUS = ["todo", "doing", "on-hold", "review"].map((id) => `status::${id}`);
const TITLES = [
  "Crash when the config folder is a symlink",
  "通知が二重に届く（グループチャットのみ、Android 15 以降で再現）",
  "مساعد الجدولة يعيد المحادثة مرتين",
  LONG,
  "Ask: could the nightly digest skip days without a single change at all?",
];

describe.skipIf(NO_BROWSER !== undefined)("boards", { timeout: 120_000 }, () => {
  let browser: Browser;
  let far: ForgeA;
  let at: Dashboard;

  beforeAll(async () => {
    far = await startForgeA();
    afterAll(() => far.close());
    for (const login of ["ada", "rita"]) far.addUser(login);
    far.addUser("svc", { bot: true });
    far.addToken(TOKEN, "svc");
    for (const path of [APP, DEEP])
      far.addProject(path, {
        private: true,
        members: { ada: "write", rita: "write", svc: "write" },
        labels: [...STATUS, "status::blocked", "bug", "area::web", LONG],
      });
    for (const [number, title] of TITLES.entries()) far.open("ada", APP, "issue", { title, labels: number % 2 === 0 ? ["bug"] : ["area::web", LONG] });
    far.open("ada", APP, "issue", { title: "Retry-After as a date is ignored", labels: ["status::todo", "bug"] });
    far.open("rita", APP, "issue", { title: "Keyboard moves on boards", labels: ["status::review"] });
    far.open("rita", APP, "issue", { title: "Waits for upstream", labels: ["status::blocked"] });
    for (let number = 0; number < 500; number++)
      far.open("ada", DEEP, "issue", { title: `Card ${number} of a long board`, labels: [STATUS[number % 3] as string] });
    const item = far.state.projects.find(({ path }) => path === APP)?.items.get("issue:6");
    if (item !== undefined) item.assignees = ["ada", "svc"].map((username) => ({ ...item.author, username }));
    const board = (id: string, name: string, projects: string[]) => ({
      id,
      name,
      source: { type: "forge_a", projects },
      labels: [{ name: "bug", color: "#C2410C", description: "something is broken" }],
    });
    const port = await freePort();
    far.hooks.add(`http://127.0.0.1:${port}/webhook/forge_a`, SECRET);
    at = await startDashboard({
      config: {
        agents: { echo: echoAgent({ local: { mode: "echo", delayMs: 2_000 }, presence: { color: "#c2410c", initial: "Ec" } }) },
        channels: {
          forge_a: {
            enabled: true,
            host: far.url,
            webhookPort: port,
            webhookSecret: SECRET,
            token: TOKEN,
            agentMappings: [{ agentId: "echo", forgeUsernames: ["svc"] }],
          },
        },
        boards: [board("team", "Frontend monorepo", [APP]), board("deep", "A board with a name that is long enough to be cut at its end", [DEEP])],
      },
    });
    browser = await openBrowser();
  });
  beforeEach(() => far.faults.clear());

  const open = async (path = "/?board=team", width = 1600): Promise<Page> => {
    const page = await openPage(browser, { viewport: { width, height: 900 } });
    page.setDefaultTimeout(10_000);
    await page.goto(at.url + path);
    await page.locator(".boards-column [data-card]").first().waitFor();
    return page;
  };
  const card = (page: Page, number: number, project = APP): Locator => page.locator(`.boards-column [data-card="${project}#${number}"]`);
  const columnOf = (page: Page, number: number) => card(page, number).evaluate((element) => element.closest("[data-column]")?.getAttribute("data-column"));
  const becomes = (page: Page, number: number, column: string) => expect.poll(() => columnOf(page, number), { timeout: 15_000 }).toBe(column);
  const labels = (number: number) => far.item({ project: APP, kind: "issue", id: number }).labels;
  const state = (number: number) => far.item({ project: APP, kind: "issue", id: number }).state;
  const lines = () => {
    const file = join(at.folder, ".svc/board-audit.jsonl");
    return existsSync(file)
      ? readFileSync(file, "utf8")
          .trim()
          .split("\n")
          .map((line) => JSON.parse(line) as { itemId: string; action: string })
      : [];
  };
  const settled = (page: Page) => expect.poll(() => page.locator(".boards-card-moving").count(), { timeout: 15_000 }).toBe(0);
  const drag = async (page: Page, number: number, column: string) => {
    const from = await card(page, number).boundingBox();
    const to = await page.locator(`[data-column="${column}"]`).boundingBox();
    if (from === null || to === null) throw new Error("nothing to drag");
    await page.mouse.move(from.x + 40, from.y + 14);
    await page.mouse.down();
    await page.mouse.move(from.x + 60, from.y + 20, { steps: 4 });
    await page.mouse.move(to.x + to.width / 2, to.y + 200, { steps: 12 });
  };

  it("BRD-01 a board is six columns with their titles, in both themes and three widths, without a finding; below 1024 px it says so", async () => {
    const page = await open();
    await expect.poll(() => page.locator(".boards-column h2").allTextContents()).toEqual(["Triage", "To Do", "Doing", "On Hold", "Review", "Done"]);
    await views(page, "boards", async ({ width }) => {
      await expect.poll(() => page.getByText("Boards are made for 1024 px and wider").isVisible()).toBe(width < 1024);
      await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
      if (width >= 1024) {
        const [first, last] = await Promise.all(["triage", "done"].map((id) => page.locator(`[data-column="${id}"]`).boundingBox()));
        expect(first?.x).toBeGreaterThanOrEqual(0);
        expect((last?.x ?? 0) + (last?.width ?? 0)).toBeLessThanOrEqual(width);
      }
      await judge(page);
    });
    // Nothing is hidden: a card that no column maps is told apart.
    await page.getByText("1 card is in no column").click();
    await page.getByRole("button", { name: "Move to... #8" }).waitFor();
    await judge(page);
  });

  it("BRD-02 a card is dragged by the mouse: it moves at once with a dotted ring, the source gets one change, and the change is undone", async () => {
    const page = await open();
    const before = lines().length;
    const asked = far.requests.length;
    await drag(page, 6, "doing");
    await page.getByText("Drop here: adds “status::doing”, removes “status::todo”").waitFor();
    await page.mouse.up();
    await expect.poll(() => columnOf(page, 6)).toBe("doing");
    await settled(page);
    expect(labels(6)).toEqual(expect.arrayContaining(["bug", "status::doing"]));
    expect(labels(6)).not.toContain("status::todo");
    expect(far.requests.slice(asked).filter(({ method }) => method !== "GET")).toHaveLength(1);
    expect(lines().length).toBe(before + 1);
    await page.getByText("#6 moved to Doing").waitFor();
    await page.getByRole("button", { name: "Undo" }).click();
    await becomes(page, 6, "todo");
    await settled(page);
    expect(labels(6)).toContain("status::todo");
    expect(far.violations).toEqual([]);
    await judge(page);
  });

  it("a drag never opens a card, and a press without a move selects it", async () => {
    const page = await open();
    const pages = page.context().pages().length;
    await drag(page, 6, "todo");
    await page.mouse.up();
    await card(page, 7).click();
    await expect.poll(() => card(page, 7).getAttribute("class")).toContain("boards-card-selected");
    expect(page.context().pages().length).toBe(pages);
    expect(page.url()).toContain("/?board=team");
  });

  it("by keyboard alone: Tab to a card, arrows between cards, Space takes it up, arrows, Space drops it; all of it is spoken; Escape puts it back", async () => {
    const page = await open();
    for (let stops = 0; stops < 40; stops++) {
      if (await page.evaluate(() => document.activeElement?.getAttribute("data-card")?.startsWith("group/app#") ?? false)) break;
      await page.keyboard.press("Tab");
    }
    await page.keyboard.press("ArrowRight");
    await expect.poll(() => page.evaluate(() => document.activeElement?.getAttribute("data-card"))).toBe(`${APP}#6`);
    const said = page.locator("[data-said]");
    await page.keyboard.press("Space");
    await expect.poll(() => said.textContent()).toBe("#6 is taken up from To Do. Left and right choose a column, Space drops it, Escape puts it back.");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    await expect.poll(() => said.textContent()).toBe("Over On Hold: adds “status::on-hold”, removes “status::todo”.");
    await page.keyboard.press("Escape");
    await expect.poll(() => said.textContent()).toBe("#6 is put back.");
    await expect.poll(() => columnOf(page, 6)).toBe("todo");
    await page.keyboard.press("Space");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Space");
    await expect.poll(() => said.textContent()).toBe("#6 is dropped in Doing.");
    await expect.poll(() => columnOf(page, 6)).toBe("doing");
    // The focus has gone with it: the next key means the same card.
    await expect.poll(() => page.evaluate(() => document.activeElement?.getAttribute("data-card"))).toBe(`${APP}#6`);
    await settled(page);
    expect(labels(6)).toContain("status::doing");
    await page.keyboard.press("2");
    await becomes(page, 6, "todo");
    await settled(page);
    await page.keyboard.press("m");
    await page.getByRole("menu", { name: "Menu of #6" }).waitFor();
    await judge(page);
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Enter");
    await becomes(page, 6, "done");
    await settled(page);
    expect(state(6)).toBe("closed");
    await page.keyboard.press("2");
    await becomes(page, 6, "todo");
    await settled(page);
    expect([state(6), labels(6).includes("status::todo")]).toEqual(["open", true]);
  });

  it("BRD-04 when the source refuses, the card goes back, the toast stays with the source's name and status, nothing is noted, and it is tried again", async () => {
    const page = await open();
    const before = lines().length;
    far.faults.next({ kind: "status", status: 403, body: { message: "403 Forbidden: the token may not write labels" } }, { method: "PUT" });
    await card(page, 6).click();
    await page.keyboard.press("3");
    await page.getByText("#6 went back to To Do").waitFor();
    await becomes(page, 6, "todo");
    expect(await page.locator(".shell-toast, [class*=toast]").filter({ hasText: "forge_a answered 403" }).first().textContent()).toContain(
      "the token may not write labels",
    );
    expect(lines().length).toBe(before);
    expect(labels(6)).toContain("status::todo");
    await views(page, "boards-refused", async () => judge(page));
    await page.setViewportSize({ width: 1600, height: 900 });
    await page.getByRole("button", { name: "Try again" }).click();
    await becomes(page, 6, "doing");
    await settled(page);
    await card(page, 6).click();
    await page.keyboard.press("2");
    await becomes(page, 6, "todo");
    await settled(page);
  });

  it("BRD-04 a card that somebody else has moved goes to where the source has it", async () => {
    const page = await open();
    const other = await open();
    await card(other, 7).click();
    await other.keyboard.press("4");
    await becomes(other, 7, "on-hold");
    await settled(other);
    await card(page, 7).click();
    await page.keyboard.press("3");
    await page.getByText("#7 is in On Hold").waitFor();
    await becomes(page, 7, "on-hold");
    await other.keyboard.press("5");
    await becomes(other, 7, "review");
    await settled(other);
  });

  it("BRD-07 the cards are read when the page opens and when somebody asks, never by themselves", async () => {
    const page = await open();
    const reads = () => far.requests.filter(({ method, path }) => method === "GET" && path.includes("/issues")).length;
    const [time, before] = [await page.locator(".boards-read time").textContent(), reads()];
    expect(time).toMatch(/^\d\d:\d\d:\d\d$/);
    far.open("rita", APP, "issue", { title: "Written meanwhile", labels: ["status::review"] });
    // The page hears events all the time and still asks nothing.
    await at.api("POST", "/api/public/agents/echo/messages", { message: "hello" }).catch(() => undefined);
    await expect.poll(() => page.getByText("Written meanwhile").count()).toBe(0);
    expect(reads()).toBe(before);
    await page.keyboard.press("r");
    await page.getByText("Written meanwhile").waitFor();
    expect(reads()).toBeGreaterThan(before);
  });

  it("BRD-03 BRD-06 AUTH-22 on the real routes: a foreign card, a missing header and a missing scope write nothing; a path of 120 characters is moved", async () => {
    const before = [far.requests.filter(({ method }) => method !== "GET").length, lines().length];
    const move = (board: string, item: string, headers: Record<string, string>) =>
      fetch(`${at.url}/api/boards/${board}/items/${encodeURIComponent(item)}/move`, {
        method: "PATCH",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify({ from: "todo", to: "doing" }),
      });
    const marked = { "x-requested-with": "svc-board" };
    expect((await move("team", `${APP}#6`, {})).status).toBe(403);
    expect((await move("team", `${APP}#6`, { "x-requested-with": "XMLHttpRequest" })).status).toBe(403);
    expect((await move("team", `${DEEP}#1`, marked)).status).toBe(404);
    expect([far.requests.filter(({ method }) => method !== "GET").length, lines().length]).toEqual(before);
    const page = await open("/?board=deep");
    await card(page, 1, DEEP).click();
    await page.keyboard.press("5");
    await expect.poll(() => far.item({ project: DEEP, kind: "issue", id: 1 }).labels).toContain("status::review");
  });

  it("500 cards: the board opens, is filtered by title and number, and a card is dragged", async () => {
    const page = await open("/?board=deep");
    await expect.poll(() => page.locator(".boards-column [data-card]").count()).toBe(500);
    await page.keyboard.press("/");
    await page.keyboard.type("Card 42 of");
    await expect.poll(() => page.locator(".boards-column [data-card]").count()).toBe(1);
    expect(page.url()).toContain("text=Card+42+of");
    await page.keyboard.press("Escape");
    await expect.poll(() => page.locator(".boards-column [data-card]").count()).toBe(500);
    await page.locator('[data-column="todo"] [data-card]').first().scrollIntoViewIfNeeded();
    const id = await page.locator('[data-column="todo"] [data-card]').first().getAttribute("data-card");
    const number = Number(id?.split("#")[1]);
    const from = await card(page, number, DEEP).boundingBox();
    const to = await page.locator('[data-column="review"]').boundingBox();
    await page.mouse.move((from?.x ?? 0) + 30, (from?.y ?? 0) + 12);
    await page.mouse.down();
    await page.mouse.move((to?.x ?? 0) + 60, (to?.y ?? 0) + 200, { steps: 15 });
    await page.mouse.up();
    await expect.poll(() => far.item({ project: DEEP, kind: "issue", id: number }).labels, { timeout: 15_000 }).toContain("status::review");
    await pictures(page, "boards-long");
    // A hundred of them fill the columns as well, in a quarter of the time, and what they are drawn with is the same in all views.
    await page.keyboard.press("/");
    await page.keyboard.type("Card 4");
    await expect.poll(() => page.locator(".boards-column [data-card]").count()).toBe(111);
    await judge(page);
  });

  it("an agent that somebody called from an issue is shown at work on its card, and no longer when it has answered", async () => {
    const page = await open();
    far.comment("ada", { project: APP, kind: "issue", id: 7 }, "@svc please look at this");
    const work = card(page, 7).locator(".boards-work");
    await work.waitFor({ timeout: 20_000 });
    await expect.poll(() => work.textContent()).toContain("Echo");
    // By its colour and letters, too.
    const mark = work.locator(".kit-agent-mark");
    await mark.waitFor();
    expect([await mark.locator("rect").getAttribute("fill"), await mark.textContent()]).toEqual(["#c2410c", "Ec"]);
    await expect.poll(() => work.getAttribute("href")).toMatch(/^\/tasks\/.+/);
    await pictures(page, "boards-work");
    await expect.poll(() => work.count(), { timeout: 30_000 }).toBe(0);
  });

  it("cards that take long are no longer read when [Cancel] is pressed, and read when they are asked for again", async () => {
    const page = await openPage(browser, { viewport: { width: 1600, height: 900 } });
    const aborted: string[] = [];
    page.on("requestfailed", (request) => aborted.push(request.url()));
    let held = true;
    await page.route(/\/api\/boards\/team\/items$/, (route) => (held ? undefined : route.continue()));
    await page.clock.install();
    // The boards are read before their cards, and say that they are in the same place.
    const asked = page.waitForRequest(/\/api\/boards\/team\/items$/);
    await page.goto(`${at.url}/?board=team`);
    await asked;
    await page.clock.runFor(6_000);
    const cancel = page.locator("#page .kit-loading").getByRole("button", { name: "Cancel" });
    await cancel.focus();
    await page.keyboard.press("Enter");
    await page.getByText("You stopped reading. The cards can be read again.").waitFor();
    await expect.poll(() => aborted.some((url) => url.endsWith("/api/boards/team/items"))).toBe(true);
    await judge(page);
    held = false;
    await page.locator("#page .kit-state").getByRole("button", { name: "Try again" }).press("Enter");
    await card(page, 1).waitFor();
    await judge(page);
  });

  it("several boards are chosen by name, and the address keeps the choice", async () => {
    const page = await open("/");
    await page.getByRole("heading", { level: 1, name: "Frontend monorepo" }).waitFor();
    await page.getByRole("button", { name: "Choose a board" }).click();
    await page.getByRole("menuitemradio", { name: /A board with a name/ }).click();
    await page.getByRole("heading", { level: 1, name: /A board with a name/ }).waitFor();
    expect(page.url()).toContain("board=deep");
  });

  it("a source that cannot be read is told with its words, and read again by a button", async () => {
    far.faults.next({ kind: "status", status: 502 }, { path: "/issues", times: 4 });
    const page = await openPage(browser);
    await page.goto(`${at.url}/?board=team`);
    await page.getByText(/The cards could not be read\..*502/).waitFor();
    await views(page, "boards-error", async () => judge(page));
    far.faults.clear();
    await page.getByRole("button", { name: "Try again" }).click();
    await page.locator(".boards-column [data-card]").first().waitFor();
  });
});

describe.skipIf(NO_BROWSER !== undefined)("boards that are not there", { timeout: 120_000 }, () => {
  it("a source that no plugin brings is said", async () => {
    const at = await startDashboard({
      config: { boards: [{ id: "team", name: "Team", source: { type: "forge_a", projects: [APP] } }] },
    });
    const browser = await openBrowser();
    const page = await openPage(browser);
    await page.goto(`${at.url}/`);
    await page.getByText("No running plugin brings forge_a").waitFor();
    await views(page, "boards-off", async () => judge(page));
  });
});
