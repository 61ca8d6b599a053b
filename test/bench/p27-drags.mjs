import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";
import { echoConfig, startDaemon } from "./daemon.mjs";
import { freePort } from "./process.mjs";
import { atMost } from "./rounds.mjs";

const CHROMIUM = process.env.SVC_UI_BROWSER ?? "/usr/bin/chromium";
const SETTLE_MS = 1_500;
const MOVES = 60;
const NODES = 300;
const CARDS = 500;
const STATUS = ["todo", "doing", "on-hold", "review"].map((id) => `status::${id}`);

/** A board whose cards are in memory: what the far end takes is none of the page's. */
const SOURCE = `const items = Array.from({ length: ${CARDS} }, (_, n) => ({ id: "group/app#" + (n + 1), title: "Card " + n + " of a long board", state: "open",
  labels: [${JSON.stringify(STATUS)}[n % 4], "bug"], updatedAt: Date.now() - n * 1000, project: "group/app", assignees: [] }));
export default { kind: "feature", name: "cards", version: "1.0.0", svc: "*", capabilities: [], setup(ctx) {
  ctx.provide.board({ name: "cards", list: async ({ state }) => (state === "closed" ? [] : items), get: async (id) => items.find((item) => item.id === id),
    async update(id, { addLabels = [], removeLabels = [] }) {
      const item = items.find((one) => one.id === id);
      item.labels = [...new Set([...item.labels.filter((label) => !removeLabels.includes(label)), ...addLabels])];
      return item;
    } });
} };`;

const workflow = () => {
  const steps = Array.from({ length: NODES - 2 }, (_, at) => ({ id: `step${at}`, kind: "set", value: "{{ in }}" }));
  const ids = ["start", ...steps.map(({ id }) => id), "done"];
  return JSON.stringify({
    nodes: [{ id: "start", kind: "trigger" }, ...steps, { id: "done", kind: "end" }],
    edges: ids.slice(1).map((to, at) => ({ from: ids[at], to })),
  });
};

/** The longest task of the page's main thread, in milliseconds of processor time: those of a machine that others use as well say little. */
function longestIn(trace) {
  const { traceEvents } = JSON.parse(trace.toString());
  const main = traceEvents.filter(({ name, args }) => name === "thread_name" && args?.name === "CrRendererMain").map(({ pid, tid }) => `${pid} ${tid}`);
  const press = traceEvents.find(({ name, cat = "" }) => name === "press" && cat.includes("user_timing"))?.ts ?? Number.POSITIVE_INFINITY;
  const tasks = traceEvents.filter(({ name, ph, pid, tid, ts }) => name === "RunTask" && ph === "X" && ts >= press && main.includes(`${pid} ${tid}`));
  if (tasks.length === 0) throw new Error("the browser has traced no task");
  return Math.max(...tasks.map(({ tdur = 0 }) => tdur)) / 1000;
}

/** Drags something over the page: the longest piece of work from the press to the rest. */
async function drag(browser, page, from, to) {
  await page.mouse.move(from.x, from.y);
  await browser.startTracing(page, { categories: ["disabled-by-default-devtools.timeline", "devtools.timeline", "blink.user_timing", "__metadata"] });
  // The beginning of the trace is work of its own.
  await page.waitForTimeout(SETTLE_MS);
  await page.evaluate(() => performance.mark("press"));
  await page.mouse.down();
  for (let at = 1; at <= MOVES; at += 1) {
    await page.mouse.move(from.x + ((to.x - from.x) * at) / MOVES, from.y + ((to.y - from.y) * at) / MOVES);
    await page.evaluate(() => new Promise(requestAnimationFrame));
  }
  await page.mouse.up();
  await page.waitForTimeout(SETTLE_MS);
  return longestIn(await browser.stopTracing());
}

const middleOf = async (locator) => {
  const { x, y, width, height } = await locator.boundingBox();
  return { x: x + width / 2, y: y + height / 2 };
};

async function open(browser, address) {
  const page = await (await browser.newContext({ viewport: { width: 1600, height: 1000 } })).newPage();
  await page.goto(address);
  return page;
}

async function dragNode(browser, base) {
  const page = await open(browser, `${base}/workflows/editor?id=long`);
  const node = page.locator('.react-flow__node[data-id="step1"]');
  await node.waitFor();
  await page.waitForTimeout(SETTLE_MS);
  const from = await middleOf(node);
  const found = await drag(browser, page, from, { x: from.x + 240, y: from.y + 160 });
  await page.context().close();
  return found;
}

async function dragCard(browser, base, number) {
  const page = await open(browser, `${base}/?board=long`);
  const card = page.locator(`.boards-column [data-card="group/app#${number}"]`);
  await card.waitFor();
  await page.waitForTimeout(SETTLE_MS);
  const { x, y } = await card.boundingBox();
  const to = await middleOf(page.locator('[data-column="review"]'));
  const found = await drag(browser, page, { x: x + 40, y: y + 14 }, { x: to.x, y: 300 });
  await page.context().close();
  return found;
}

export default {
  id: "P27",
  title: "dragging in a browser",
  against: "the bound",
  lines: [
    { what: `processor time of the longest task while a node of ${NODES} is dragged`, unit: "ms", target: atMost(50, "ms") },
    { what: `processor time of the longest task while a card of ${CARDS} is dragged`, unit: "ms", target: atMost(50, "ms") },
  ],
  async open({ folder, quick }) {
    if (!existsSync(CHROMIUM)) throw new Error(`there is no ${CHROMIUM} (on Debian: apt-get install chromium)`);
    const home = join(folder, "drags");
    mkdirSync(join(home, ".svc/workflows"), { recursive: true });
    writeFileSync(join(home, ".svc/workflows/long.json"), workflow());
    writeFileSync(join(home, "cards.mjs"), SOURCE);
    const port = await freePort();
    const daemon = await startDaemon(home, (own) =>
      echoConfig(own, {
        plugins: ["./cards.mjs"],
        dashboard: { enabled: true, port },
        workflows: { enabled: true },
        boards: [{ id: "long", name: "Long", source: { type: "cards", projects: ["group/app"] } }],
      }),
    );
    const { chromium } = await import("playwright-core");
    const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
    const base = `http://127.0.0.1:${port}`;
    let number = 1;
    return {
      rounds: quick ? 1 : 5,
      async ours() {
        const found = [await dragNode(browser, base), await dragCard(browser, base, number)];
        // Another card of the first column with a label.
        number += 4;
        return found;
      },
      async close() {
        await browser.close();
        await daemon.stop();
      },
      note: () => `load ${loadavg()[0].toFixed(1)}`,
    };
  },
};
