import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { echoConfig, startDaemon } from "./daemon.mjs";
import { freePort } from "./process.mjs";
import { atMost } from "./rounds.mjs";

const CHROMIUM = process.env.SVC_UI_BROWSER ?? "/usr/bin/chromium";
const PAGES = ["/live", "/", "/inbox", "/processes", "/workflows", "/tasks", "/plugins", "/admin", "/setup"];
const STEP_MS = 5_000;
const SETTLE_MS = 1_000;
const load = (path) => import(new URL(`../../${path}`, import.meta.url).href);

/** Stores so many tasks as earlier days have left them. */
async function fill(folder, count) {
  const { openStore } = await load("plugins/stores/sqlite/dist/open.js");
  const { TRACES, TRACE_INDEXES, firstTaskIdAt } = await load("kernel/dist/core/flow/record.js");
  mkdirSync(join(folder, ".svc"), { recursive: true });
  const store = openStore({ file: join(folder, ".svc/svc.db") });
  const core = store.scope("core");
  core.collection(TRACES, { indexes: TRACE_INDEXES });
  const began = Date.now() - count * STEP_MS;
  for (let from = 0; from < count; from += 1_000)
    await core.note(
      Array.from({ length: Math.min(1_000, count - from) }, (_, offset) => {
        const n = from + offset;
        const at = began + n * STEP_MS;
        const id = `${firstTaskIdAt(at)}000${n.toString(36).padStart(5, "0")}`;
        const inbound = { id, rootId: id, entry: "task", channel: "app", chat: String(n % 50), text: `question ${n} ${"and some words ".repeat(6)}`, at };
        const value = {
          id,
          inbound,
          status: n % 50 === 0 ? "error" : "ok",
          agent: "echo",
          conversation: "c",
          attempts: 1,
          startedAt: at,
          endedAt: at + 900,
          steps: [],
          response: "answer",
        };
        return { op: "put", collection: TRACES, key: id, value };
      }),
    );
  await store.close();
}

/** The first paint of a page and its longest task until it rests, in milliseconds. */
async function look(browser, address, use = async () => {}) {
  const page = await (await browser.newContext({ viewport: { width: 1600, height: 1000 } })).newPage();
  await page.addInitScript(() => {
    globalThis.longest = 0;
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) globalThis.longest = Math.max(globalThis.longest, duration);
    }).observe({ type: "longtask", buffered: true });
  });
  await page.goto(address, { waitUntil: "load" });
  await page.getByRole("heading", { level: 1 }).first().waitFor();
  await page.waitForTimeout(SETTLE_MS);
  const loading = await page.evaluate(() => globalThis.longest);
  await page.evaluate(() => (globalThis.longest = 0));
  await use(page);
  const [paint, used] = await page.evaluate(() => [performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0, globalThis.longest]);
  await page.context().close();
  return { paint, loading, used };
}

/** From the top to the end of the list: by the wheel, then by jumps. */
async function scroll(page) {
  const grid = page.getByRole("grid", { name: "Tasks" });
  await grid.hover();
  for (let turn = 0; turn < 60; turn += 1) await page.mouse.wheel(0, 900);
  for (let part = 0; part <= 20; part += 1) {
    await grid.evaluate((element, at) => element.scrollTo(0, (element.scrollHeight * at) / 20), part);
    await page.waitForTimeout(50);
  }
  await page.locator(".tasks-list .tasks-text").last().waitFor();
}

export default {
  id: "P22",
  title: "pages of the dashboard in a browser",
  against: "the bound",
  lines: [
    { what: "first paint of the slowest page", unit: "ms", target: atMost(500, "ms") },
    { what: "longest task of any page while it loads", unit: "ms", target: atMost(200, "ms") },
    { what: "longest task while the list of all tasks is scrolled", unit: "ms", target: atMost(50, "ms") },
  ],
  async open({ folder, quick }) {
    if (!existsSync(CHROMIUM)) throw new Error(`there is no ${CHROMIUM} (on Debian: apt-get install chromium)`);
    const count = quick ? 20_000 : 100_000;
    const home = join(folder, "pages");
    await fill(home, count);
    const port = await freePort();
    const daemon = await startDaemon(home, (own) => echoConfig(own, { dashboard: { enabled: true, port } }));
    const { chromium } = await import("playwright-core");
    const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
    // The first page of a browser that has just begun waits for the browser.
    await look(browser, "data:text/html,<h1>begun</h1>");
    let slowest = "";
    return {
      rounds: 1,
      async ours() {
        let [paint, loading, used] = [0, 0, 0];
        for (const path of PAGES) {
          const found = await look(browser, `http://127.0.0.1:${port}${path}`, path === "/tasks" ? scroll : undefined);
          if (found.paint > paint) slowest = path;
          paint = Math.max(paint, found.paint);
          loading = Math.max(loading, found.loading);
          used = Math.max(used, found.used);
        }
        return [paint, loading, used];
      },
      async close() {
        await browser.close();
        await daemon.stop();
      },
      note: () => `${count} tasks; slowest: ${slowest}`,
    };
  },
};
