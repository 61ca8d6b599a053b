import type { Browser, Page } from "playwright-core";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { NO_BROWSER, openBrowser } from "./kit/browser.ts";
import { type Dashboard, echoAgent, startDashboard } from "./kit/dashboard.ts";
import { judge, openPage } from "./kit/judge.ts";

const HOURS = 600_000;
const AGENTS = {
  echo: echoAgent(),
  idle: echoAgent({ name: "Idle until now" }),
  busy: echoAgent({ name: "Works for long", local: { mode: "echo", delayMs: HOURS }, maxConcurrent: 4, presence: { color: "#ffcc00", initial: "W" } }),
  other: echoAgent({ name: "Works as well", local: { mode: "echo", delayMs: HOURS }, maxConcurrent: 4 }),
};
/** As long as a control that was replaced ignores clicks, with much to spare. */
const SETTLED_MS = 1_000;

describe.skipIf(NO_BROWSER !== undefined)("live data moves nothing under the hand", () => {
  let browser: Browser;
  let at: Dashboard;
  let page: Page;
  const say = async (agent: string, text: string) => (await at.api<{ taskId: string }>("POST", `/api/chat/${agent}`, { text, chat: text })).taskId;
  const stop = (id: string) => at.api("POST", `/api/tasks/${id}/stop`);
  const card = (id: string) => page.locator(`[data-task="${id}"]`);
  const ended = () => page.locator(".live-ended-list");
  const endedRow = (text: string) => ended().getByText(text, { exact: true }).first();
  const box = async (selector: string) => {
    const found = await page.locator(selector).first().boundingBox();
    return found && [found.x, found.y, found.width, found.height].map(Math.round);
  };
  const open = async (path = "/live") => {
    page = await openPage(browser);
    await page.goto(at.url + path);
    await page.locator(".shell-daemon .kit-presence-idle").first().waitFor({ state: "attached" });
    await page.locator(".live-charts").waitFor({ state: "attached" });
  };
  beforeAll(async () => {
    browser = await openBrowser();
  });
  beforeEach(async () => {
    at = await startDashboard({ config: { agents: AGENTS } });
    return () => at.stop();
  });

  it("(a) ended tasks enter at the top at rest alone; away from the top, or with the focus in the list, they are counted and wait", async () => {
    // Enough of them for a list that scrolls.
    for (let n = 0; n < 30; n += 1) await say("echo", `early ${n}`);
    await open();
    await endedRow("early 29").waitFor();
    await say("echo", "enters at once");
    await endedRow("enters at once").waitFor();
    const grid = ended();
    await grid.evaluate((list) => list.scrollTo(0, 64));
    const top = () => grid.evaluate((list) => [list.scrollTop, list.querySelector("[role=row]")?.textContent]);
    const before = await top();
    await say("echo", "comes while it is scrolled");
    const pill = page.locator(".live-ended").getByRole("button", { name: "1 new" });
    await pill.waitFor();
    expect(await top()).toEqual(before);
    await pill.click();
    await grid.evaluate((list) => list.scrollTo(0, 0));
    await endedRow("comes while it is scrolled").waitFor();
    await grid.focus();
    const first = await grid.locator("[role=row]").first().textContent();
    await say("echo", "comes under the focus");
    await pill.waitFor();
    expect(await grid.locator("[role=row]").first().textContent()).toBe(first);
    await page.evaluate(() => (document.activeElement as HTMLElement).blur());
    await endedRow("comes under the focus").waitFor();
    await judge(page);
  });

  it("(c) columns keep their width whatever stands in them, and one timer of a second draws all durations", async () => {
    await (async () => {
      page = await openPage(browser);
      await page.addInitScript(() => {
        const timers = new Set<unknown>();
        const [set, clear] = [globalThis.setInterval, globalThis.clearInterval];
        Object.assign(globalThis, {
          seconds: timers,
          setInterval: (run: () => void, ms: number, ...rest: unknown[]) => {
            const id = set(run, ms, ...rest);
            if (ms === 1_000) timers.add(id);
            return id;
          },
          clearInterval: (id: number) => {
            timers.delete(id);
            clear(id);
          },
        });
      });
      await page.goto(`${at.url}/live`);
    })();
    const [one, two] = [await say("busy", "the first"), await say("other", "the second")];
    await say("echo", "an ended one");
    await card(one).waitFor();
    await card(two).waitFor();
    await endedRow("an ended one").waitFor();
    const took = card(one).locator(".live-task-took");
    expect(await page.evaluate(() => (globalThis as unknown as { seconds: Set<unknown> }).seconds.size)).toBe(1);
    const boxes = async () => [
      await box(`[data-task="${one}"] .live-task-took`),
      await box(`[data-task="${one}"] .live-task-agent`),
      await box(".live-ended .live-cell-took"),
    ];
    await took.filter({ hasText: /\d s/ }).waitFor();
    const before = await boxes();
    // The longest that a duration becomes.
    await took.evaluate((element) => {
      (element.firstElementChild as HTMLElement).textContent = "99 min 59 s";
    });
    await page
      .locator(".live-ended .live-cell-took")
      .first()
      .evaluate((element) => {
        element.textContent = "99 min 59 s";
      });
    expect(await boxes()).toEqual(before);
    await stop(one);
    await stop(two);
  });

  it("(d) a control that was replaced under the pointer a moment ago ignores the click, and takes the next one", async () => {
    await open();
    const dialog = page.getByRole("dialog", { name: "Stop this task?" });
    await page.evaluate(() => {
      // The click of a hand that was on its way: in the frame in which the control appears.
      new MutationObserver((_changes, observer) => {
        const button = document.querySelector<HTMLElement>("[data-task] button[aria-label^='Stop the task']");
        if (button === null) return;
        observer.disconnect();
        button.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, detail: 1 }));
        document.body.dataset.clicked = "yes";
      }).observe(document.body, { childList: true, subtree: true });
    });
    const id = await say("busy", "under the pointer");
    await page.locator("body[data-clicked]").waitFor();
    await card(id).waitFor();
    await page.waitForFunction(([since, ms]) => performance.now() - since > ms, [await page.evaluate(() => performance.now()), SETTLED_MS] as const);
    expect(await dialog.count()).toBe(0);
    await card(id)
      .getByRole("button", { name: /^Stop the task/ })
      .click();
    await dialog.waitFor();
    await dialog.getByRole("button", { name: "Stop" }).click();
    await card(id).locator(".kit-glyph-cancelled").first().waitFor();
  });

  it("(e) nothing re-sorts itself, and the plots stay where they are when agents begin to work", async () => {
    for (let n = 0; n < 3; n += 1) await say("echo", `early ${n}`);
    await open();
    await endedRow("early 2").waitFor();
    const texts = (selector: string) => page.locator(selector).allTextContents();
    const [agents, lanes] = [await texts(".live-agent bdi"), await texts(".live-lane-name bdi")];
    expect(lanes).toEqual(["Echo", "Idle until now", "Works for long", "Works as well"]);
    const before = await Promise.all([".live-plot", ".live-now > .live-running", ".live-ended", ".live-axis"].map(box));
    const working = await Promise.all([say("busy", "one"), say("other", "two")]);
    // It outdoes the agent that was the busiest.
    for (let n = 0; n < 5; n += 1) await say("idle", `more ${n}`);
    for (const id of working) await card(id).waitFor();
    await page.locator(".live-lane-value").filter({ hasText: "5 tasks" }).waitFor();
    await page.locator(".live-lane-value.live-running").nth(1).waitFor();
    expect(await texts(".live-lane-name bdi")).toEqual(lanes);
    expect(await texts(".live-agent bdi")).toEqual(agents);
    expect(await Promise.all([".live-plot", ".live-now > .live-running", ".live-ended", ".live-axis"].map(box))).toEqual(before);
    await judge(page);
  });

  it("(f) those who hear the page are told the end of what they began, and nothing of what others do", async () => {
    await open("/live?chat=idle");
    await page.getByRole("textbox", { name: "Message to Idle until now" }).waitFor();
    await page.evaluate(() => {
      const heard: string[] = [];
      Object.assign(globalThis, { heard });
      new MutationObserver((changes) => {
        for (const { target } of changes) {
          const element = target instanceof Element ? target : target.parentElement;
          const region = element?.closest("[aria-live], [role=status], [role=alert], [role=log]");
          const text = region?.textContent?.trim() ?? "";
          if (region !== null && region !== undefined && region.getAttribute("aria-live") !== "off" && text !== "") heard.push(text);
        }
      }).observe(document.body, { childList: true, subtree: true, characterData: true });
    });
    await say("echo", "of somebody else");
    const id = await say("busy", "of another one");
    await card(id).waitFor({ state: "attached" });
    await stop(id);
    // The chat stands where the cards are.
    await card(id).locator(".kit-glyph-cancelled").first().waitFor({ state: "attached" });
    await endedRow("of somebody else").waitFor({ state: "attached" });
    const heard = () => page.evaluate(() => [...new Set((globalThis as unknown as { heard: string[] }).heard)]);
    expect(await heard()).toEqual([]);
    await page.getByRole("textbox", { name: "Message to Idle until now" }).fill("of mine");
    await page.keyboard.press("Enter");
    await page.getByText("Idle until now has answered.").waitFor({ state: "attached" });
    expect(await heard()).toEqual(["Idle until now has answered."]);
  });

  it("an agent's colour and letter stand before its name where an agent has them, and nowhere else", async () => {
    const id = await say("busy", "with a mark");
    await open();
    await card(id).waitFor();
    for (const place of [".live-agent", ".live-lane-name", `[data-task="${id}"] header`])
      await page.locator(place).filter({ hasText: "Works for long" }).locator('.kit-agent-mark rect[fill="#ffcc00"]').waitFor({ state: "attached" });
    expect(await page.locator(".live-agent .kit-agent-mark text").allTextContents()).toEqual(["E", "I", "W", "W"]);
    await judge(page);
    await page.goto(`${at.url}/tasks`);
    await page.locator(".tasks-agent .kit-agent-mark").first().waitFor();
    await stop(id);
    const plain = await startDashboard();
    let asked = false;
    page.on("request", (request) => {
      asked ||= request.url().includes("/api/presence");
    });
    await page.goto(`${plain.url}/live`);
    await page.locator(".live-charts").waitFor();
    expect([asked, await page.locator(".kit-agent-mark").count()]).toEqual([false, 0]);
    await plain.stop();
  });
});
