import type { Browser, Page } from "playwright-core";
import { beforeAll, describe, expect, it, onTestFailed } from "vitest";
import { svcIn } from "../rules/auth.harness.ts";
import { NO_BROWSER, openBrowser } from "./kit/browser.ts";
import { type Dashboard, startDashboard } from "./kit/dashboard.ts";
import { judge, openPage } from "./kit/judge.ts";
import { AGENTS, pastDays } from "./kit/past-days.ts";
import { views } from "./kit/views.ts";

const ONE_MINUTE = 60_000;
const CONFIG = { agents: AGENTS, node: { id: "workshop", name: "workshop", bind: "127.0.0.1:0", defaultAgent: "reviewer" } };

describe.skipIf(NO_BROWSER !== undefined)("the page of what happens now", { timeout: 120_000 }, () => {
  let browser: Browser;
  let at: Dashboard;
  const open = async (path: string): Promise<Page> => {
    const page = await openPage(browser);
    await page.goto(at.url + path);
    await page.getByRole("heading", { name: "Live", level: 1 }).waitFor();
    return page;
  };
  /** The page shows what is under way, so that what begins from now on stands below it. */
  const read = async (page: Page): Promise<void> => {
    const { running, queued } = await at.api<{ running: readonly unknown[]; queued: readonly unknown[] }>("GET", "/api/tasks/now");
    await expect.poll(() => page.locator("[data-task]").count()).toBe(running.length + queued.length);
  };
  const say = (agent: string, text: string) => at.api<{ taskId: string }>("POST", `/api/chat/${agent}`, { text, chat: "test" });
  beforeAll(async () => {
    browser = await openBrowser();
    at = await startDashboard({
      config: CONFIG,
      prepare: async (folder) => void (await pastDays(folder, 2_000)),
    });
  }, ONE_MINUTE);

  it("is well to look at in both themes and three widths, with every kind of name", async () => {
    await say(
      "held",
      "@reviewer please look at the retry logic again, the back-off in src/net/retry-with-exponential-backoff-and-jitter.ts seems to wait far too long when the server says otherwise",
    );
    await say("held", "and then this one, too");
    const page = await open("/live");
    await page.getByText("echo-tool").first().waitFor();
    await page.getByText(/of \d+ slots/).waitFor();
    await views(page, "live", async ({ width }) => {
      await judge(page);
      await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
      if (width > 1_100) await page.getByText("Donaudampfschiff").first().waitFor();
    });
  });

  it("talks with an agent whose answer grows", async () => {
    const page = await open("/live?chat=slow");
    await page
      .getByRole("textbox", { name: "Message to Slow speaker" })
      .fill("Does the retry in !4182 respect the server's Retry-After? 日本語のコメントはそのままで。");
    await page.keyboard.press("Enter");
    await page.locator(".live-turn-growing").waitFor();
    await page
      .getByText(/日本語のコメント/)
      .nth(1)
      .waitFor();
    await page.getByRole("textbox", { name: "Message to Slow speaker" }).fill("Thanks; now with a test.");
    await page.keyboard.press("Enter");
    await views(page, "chat", () => judge(page));
  });

  it("stops a task after asking, and keeps its card as long as the pointer is on it", async () => {
    const page = await open("/live");
    await read(page);
    const { taskId } = await say("home-butler", "wait for me");
    const card = page.locator(`[data-task="${taskId}"]`);
    await card.waitFor();
    // A card that has just appeared takes no click of a pointer for 300 ms: it may have been meant for what was there before.
    await page.waitForFunction((since) => performance.now() - since > 1_000, await page.evaluate(() => performance.now()), { polling: 100 });
    await card.getByRole("button", { name: "Stop the task of Home butler" }).click();
    await page.getByRole("dialog", { name: "Stop this task?" }).getByRole("button", { name: "Stop" }).click();
    await card.locator(".kit-glyph-cancelled").first().waitFor();
    // Under the pointer it stays longer than the five seconds of others.
    await card.hover();
    await page.waitForFunction((since) => performance.now() - since > 6_500, await page.evaluate(() => performance.now()), { polling: 500 });
    await expect.poll(() => card.count()).toBe(1);
    await page.mouse.move(5, 5);
    await card.waitFor({ state: "detached" });
  });

  it("a card that has just appeared takes what comes from a key, and nothing of a pointer", async () => {
    const page = await open("/live");
    await read(page);
    // Both come in the very frame in which the card is drawn.
    const said = page.evaluate(
      () =>
        new Promise<{ pointer: number; key: number }>((resolve) => {
          const dialogs = () => document.querySelectorAll("dialog[open]").length;
          new MutationObserver((_, observer) => {
            const button = [...document.querySelectorAll<HTMLElement>("[data-task] button")].find((one) => one.ariaLabel === "Stop the task of Home butler...");
            if (button === undefined) return;
            observer.disconnect();
            button.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, detail: 1 }));
            requestAnimationFrame(() => {
              const pointer = dialogs();
              button.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, detail: 0 }));
              requestAnimationFrame(() => requestAnimationFrame(() => resolve({ pointer, key: dialogs() })));
            });
          }).observe(document.body, { childList: true, subtree: true });
        }),
    );
    const { taskId } = await say("home-butler", "a new one");
    // Where this fails, the next attempt finds no card of this one.
    onTestFailed(() => at.api("POST", `/api/tasks/${taskId}/stop`));
    expect(await said).toEqual({ pointer: 0, key: 1 });
    await page.getByRole("dialog", { name: "Stop this task?" }).getByRole("button", { name: "Stop" }).press("Enter");
    await page.locator(`[data-task="${taskId}"] .kit-glyph-cancelled`).first().waitFor();
  });

  it("an ended task moves no other one: its place is kept while something is below it, and goes to the next task", async () => {
    const page = await open("/live");
    const card = (id: string) => page.locator(`[data-task="${id}"]`);
    const top = (id: string) => card(id).evaluate((element) => element.getBoundingClientRect().top - (element.parentElement?.getBoundingClientRect().top ?? 0));
    const stop = (id: string) => at.api("POST", `/api/tasks/${id}/stop`);
    const later = async () =>
      void (await page.waitForFunction((since) => performance.now() - since > 6_500, await page.evaluate(() => performance.now()), { polling: 500 }));
    await read(page);
    const { taskId: above } = await say("home-butler", "the one above");
    await card(above).waitFor();
    const { taskId: below } = await say("still", "the one below");
    await card(below).waitFor();
    const [first, second] = [await top(above), await top(below)];
    await stop(above);
    await card(above).locator(".kit-glyph-cancelled").first().waitFor();
    await later();
    expect([await top(above), await top(below)]).toEqual([first, second]);
    const { taskId: next } = await say("home-butler", "the next one");
    await card(next).waitFor();
    await card(above).waitFor({ state: "detached" });
    expect([await top(next), await top(below)]).toEqual([first, second]);
    await stop(next);
    await stop(below);
    await card(below).waitFor({ state: "detached" });
    await card(next).waitFor({ state: "detached" });
  });

  it("holds events under the pointer, counts what waits, and lets it in when asked", async () => {
    const page = await open("/live");
    const events = page.getByRole("region", { name: "Events" });
    await events.getByRole("row").first().waitFor();
    await events.getByRole("grid").hover();
    const top = await events.getByRole("row").first().getAttribute("id");
    const text = await events.getByRole("row").first().textContent();
    await say("night-crawler", "hello");
    await events.getByRole("button", { name: /\d+ new/ }).waitFor();
    expect([await events.getByRole("row").first().getAttribute("id"), await events.getByRole("row").first().textContent()]).toEqual([top, text]);
    await events.getByRole("button", { name: /\d+ new/ }).click();
    await events.getByText("night-crawler ok").first().waitFor();
    await page.mouse.move(5, 5);
    await page.keyboard.press("Space");
    await say("night-crawler", "hello again");
    await events.getByText(/\d+ held/).waitFor();
    await events.getByRole("button", { name: "Go on" }).click();
    await events.getByText(/\d+ held/).waitFor({ state: "detached" });
    await events.getByRole("button", { name: /All kinds/ }).click();
    await page.getByRole("menuitemradio", { name: "message" }).click();
    await page.waitForFunction(() => [...document.querySelectorAll(".live-event-text strong")].every((kind) => kind.textContent === "message"));
    await events.getByRole("button", { name: "More about this event" }).first().click();
    await page.getByRole("menuitem", { name: "Only what follows from the same root" }).click();
    await events.getByText("one root").waitFor();
    await judge(page);
  });

  it("queues a follow-up by Enter, stops and sends by Ctrl-Enter, and is spoken to by keys alone", async () => {
    const page = await open("/live?chat=still");
    const box = page.getByRole("textbox", { name: "Message to Still speaker" });
    await box.waitFor();
    await page.keyboard.press("Escape");
    await box.waitFor({ state: "detached" });
    await page
      .getByRole("button", { name: /Still speaker/ })
      .first()
      .press("Enter");
    await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe("live-composer");
    const turn = (text: string) => page.locator(".live-turn").filter({ hasText: text });
    await page.keyboard.type("the first of three messages");
    await page.keyboard.press("Enter");
    await turn("the first of three").locator(".kit-glyph-running").first().waitFor();
    await page.keyboard.type("the second, which waits");
    await page.keyboard.press("Enter");
    await turn("the second, which waits").locator(".kit-glyph-queued").first().waitFor();
    await page.keyboard.type("the third, at once");
    await page.keyboard.press("Control+Enter");
    await turn("the first of three").locator(".kit-glyph-cancelled").waitFor();
    await turn("the third, at once").locator(".kit-glyph-running").first().waitFor();
    await turn("the second, which waits").locator(".kit-glyph-queued").first().waitFor();
    await judge(page);
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    await turn("the third, at once").locator(".kit-glyph-cancelled").waitFor();
    await turn("the second, which waits").locator(".kit-glyph-running").first().waitFor();
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    await turn("the second, which waits").locator(".kit-glyph-cancelled").waitFor();
  });

  it("draws what is said once a frame, however fast it comes", async () => {
    const page = await open("/live?chat=fast");
    const box = page.getByRole("textbox", { name: "Message to Fast speaker" });
    await page.locator(".live-said").waitFor();
    await page.evaluate(() => {
      const counts = { frames: 0, changes: 0 };
      Object.assign(globalThis, { counts });
      const frame = () => {
        counts.frames += 1;
        requestAnimationFrame(frame);
      };
      requestAnimationFrame(frame);
      new MutationObserver(() => {
        if (document.querySelector(".live-turn-growing") !== null) counts.changes += 1;
      }).observe(document.querySelector(".live-said") as Element, { subtree: true, characterData: true, childList: true });
    });
    await box.fill("word ".repeat(2_000));
    await page.keyboard.press("Enter");
    await page.getByText("Fast speaker has answered.").waitFor({ state: "attached" });
    const { frames, changes } = await page.evaluate(() => (globalThis as unknown as { counts: { frames: number; changes: number } }).counts);
    expect(changes).toBeLessThanOrEqual(frames + 5);
  });

  it("keeps what was said over a restart of the daemon, says that it is away, and shows the answer after it", async () => {
    const own = await startDashboard({ config: CONFIG });
    const page = await openPage(browser);
    await page.goto(`${own.url}/live?chat=slow`);
    const box = page.getByRole("textbox", { name: "Message to Slow speaker" });
    await box.fill("what becomes of this?");
    await page.keyboard.press("Enter");
    await page.locator(".live-turn-growing").waitFor();
    await own.process.kill("SIGKILL");
    await page.getByText("The daemon stopped over this. The answer comes when it is back.").waitFor();
    await page.getByText(/Not connected since/).waitFor();
    await page.locator(".live-turn-said").getByText("what becomes of this?").waitFor();
    await box.fill("written while it was away");
    await expect.poll(() => page.getByRole("button", { name: /Queue/ }).getAttribute("aria-disabled")).toBe("true");
    await views(page, "chat-away", () => judge(page));
    await own.restart();
    await page.locator(".live-turn .live-prose").getByText("what becomes of this?").waitFor();
    await page.getByText(/Not connected since/).waitFor({ state: "detached" });
    await page.getByText("Slow speaker has answered.").waitFor({ state: "attached" });
    await expect.poll(() => box.inputValue()).toBe("written while it was away");
  });

  it("tells a reader that he may read only", async () => {
    const own = await startDashboard({ config: CONFIG, token: "the-single-bearer-of-old" });
    const { code, stdout, stderr } = await svcIn(own.folder, ["--json", "token", "create", "--name", "reader", "--scope", "dashboard:read"]);
    expect(stderr === "" || code === 0).toBe(true);
    const { secret } = JSON.parse(stdout) as { secret: string };
    const page = await openPage(browser);
    await page.addInitScript((token) => localStorage.setItem("svc.token", token), secret);
    await page.goto(`${own.url}/live?chat=slow`);
    await page.getByText("This token may read only. Talking to agents needs dashboard:write.").waitFor();
    await expect.poll(() => page.getByRole("button", { name: /^Send/ }).getAttribute("aria-disabled")).toBe("true");
    await views(page, "chat-reader", () => judge(page));
  });

  it("says what appears where nothing has happened yet, and what could not be read", async () => {
    const own = await startDashboard();
    const page = await openPage(browser);
    await page.goto(`${own.url}/live`);
    await page.getByText("Nothing runs.").waitFor();
    await page.getByText("No task has ended yet.").waitFor();
    await views(page, "live-empty", () => judge(page));
    await page.route("**/api/tasks/now", (route) =>
      route.fulfill({ status: 502, contentType: "application/json", body: '{"error":"the daemon at http://192.0.2.1 does not answer"}' }),
    );
    await page.reload();
    await page.getByText("The running tasks could not be read. 502: the daemon at http://192.0.2.1 does not answer").waitFor();
    await judge(page);
  });

  it("shows the plots of an hour, a day and a week, by cursor, and as a table", async () => {
    const page = await open("/live");
    await page.getByRole("radio", { name: "7 d" }).click();
    await page.waitForURL(/range=7d/);
    await page.getByText("in 7 days").waitFor();
    await page.getByText(/Still reading/).waitFor({ state: "detached" });
    const slider = page.getByRole("slider", { name: /Point in time/ });
    await slider.focus();
    await page.keyboard.press("ArrowLeft");
    await expect.poll(() => slider.getAttribute("aria-valuetext")).toMatch(/\d+ tasks, .* tokens/);
    await page.keyboard.press("Escape");
    await views(page, "live-week", () => judge(page));
    await page.setViewportSize({ width: 1600, height: 1000 });
    await page.getByRole("button", { name: "As a table...", exact: true }).click();
    await expect.poll(() => page.getByRole("dialog").getByRole("row").count()).toBe(169);
    await judge(page);
    await page.keyboard.press("Escape");
    await page.keyboard.press("t");
    await slider.waitFor({ state: "detached" });
    await page.keyboard.press("t");
    await slider.waitFor();
    // A click on a mark opens its task.
    const area = await slider.boundingBox();
    const mark = await page.locator(".live-span").last().boundingBox();
    await page.mouse.click((mark?.x ?? 0) + (mark?.width ?? 0) / 2, (mark?.y ?? 0) + 5);
    await page.waitForURL(/\/tasks\/task_/);
    expect(area).not.toBeNull();
  });
});
