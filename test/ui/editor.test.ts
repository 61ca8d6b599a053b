import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { NO_BROWSER, openBrowser } from "./kit/browser.ts";
import { type Dashboard, startDashboard } from "./kit/dashboard.ts";
import { judge, openPage } from "./kit/judge.ts";
import { views } from "./kit/views.ts";

const EXAMPLES = new URL("../../plugins/features/workflows/examples/", import.meta.url);
const example = (name: string) => readFileSync(new URL(`${name}/workflow.yaml`, EXAMPLES), "utf8");
const WITH_ALIAS = "nodes:\n  - {id: start, kind: trigger}\n  - {id: done, kind: end, output: &o 1}\nedges:\n  - {from: start, to: done}\nname: *o\n";

describe.skipIf(NO_BROWSER !== undefined)("the editor of workflows", { timeout: 120_000 }, () => {
  let browser: Browser;
  let at: Dashboard;
  const open = async (query: string, options: Parameters<typeof openPage>[1] = {}): Promise<Page> => {
    const page = await openPage(browser, options);
    await page.goto(`${at.url}/workflows/editor?${query}`);
    await page.locator(".react-flow__node, .editor-steps").first().waitFor();
    return page;
  };
  const stored = (name: string) => readFileSync(join(at.folder, ".svc/workflows", name), "utf8");
  const ended = async (id: string) => {
    for (;;) {
      const run = await at.api<{ status: string; output?: unknown }>("GET", `/api/workflows/runs/${id}`);
      if (run.status !== "running") return run;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  const node = (page: Page, id: string) => page.locator(`.react-flow__node[data-id="${id}"]`);
  const says = (page: Page, text: string | RegExp) => page.locator(".editor-middle").getByText(text).first().waitFor();
  /** From the middle of one thing to that of another, in steps as a hand does it. */
  const drag = async (page: Page, from: { x: number; y: number }, to: { x: number; y: number }) => {
    await page.mouse.move(from.x, from.y);
    await page.mouse.down();
    await page.mouse.move((from.x + to.x) / 2, (from.y + to.y) / 2, { steps: 4 });
    await page.mouse.move(to.x, to.y, { steps: 4 });
    await page.mouse.up();
  };
  const middle = async (page: Page, selector: string) => {
    const box = await page.locator(selector).first().boundingBox();
    if (box === null) throw new Error(`${selector} is not in sight`);
    return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
  };
  const port = (id: string, name: string) => `.react-flow__node[data-id="${id}"] .react-flow__handle[data-handleid="${name}"]`;
  const entry = (id: string) => `.react-flow__node[data-id="${id}"] .react-flow__handle-left`;

  beforeAll(async () => {
    browser = await openBrowser();
    at = await startDashboard({
      config: { workflows: { enabled: true } },
      files: {
        ".svc/workflows/review.yaml": example("review"),
        ".svc/workflows/nightly.yaml": example("nightly-report"),
        ".svc/workflows/both.yaml": example("saga"),
        ".svc/workflows/alias.yaml": WITH_ALIAS,
      },
    });
  });

  it("shows a workflow in both themes and three widths: a graph, its text, and on a narrow screen its steps", async () => {
    const page = await open("id=review");
    await says(page, "Nothing is wrong with it.");
    await views(page, "editor", async ({ width }) => {
      if (width > 640) await node(page, "write").click();
      await judge(page);
      expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
    });
    await page.setViewportSize({ width: 1600, height: 1000 });
    await page.getByRole("radio", { name: "Both" }).click();
    await views(page, "editor-both", async ({ width }) => {
      if (width === 1600) await judge(page);
    });
  });

  it("a workflow drawn by mouse is saved and runs to its end", async () => {
    const page = await open("new=blank");
    await page.locator(".react-flow__node[data-id=start]").waitFor();
    // From the palette onto the graph, between start and end.
    const [from, done] = [await middle(page, ".editor-kind:has-text('set')"), await middle(page, ".react-flow__node[data-id=done]")];
    await drag(page, from, { x: done.x, y: done.y + 160 });
    await node(page, "set").waitFor();
    await says(page, /No way leads from start to the node set/);
    await drag(page, await middle(page, port("start", "out")), await middle(page, entry("set")));
    await drag(page, await middle(page, port("set", "out")), await middle(page, entry("done")));
    // The edge that was there from the beginning goes.
    await node(page, "start").click();
    await page.getByRole("button", { name: "Remove the edge to done" }).click();
    await node(page, "set").click();
    await page.getByLabel("Name", { exact: true }).fill("Greet");
    await page.getByRole("group", { name: "set" }).getByRole("textbox").fill("{{ 'Hello ' & input.who }}");
    await says(page, "Nothing is wrong with it.");
    await page.getByRole("button", { name: "Save..." }).click();
    await page.getByRole("dialog").getByLabel("Id").fill("by-mouse");
    await judge(page);
    await page.getByRole("dialog").getByRole("button", { name: "Save", exact: true }).click();
    await page.getByText("Saved by-mouse.").waitFor();
    expect(JSON.parse(stored("by-mouse.json"))).toEqual({
      nodes: [
        { id: "start", kind: "trigger" },
        { id: "done", kind: "end" },
        { id: "set", kind: "set", value: "{{ 'Hello ' & input.who }}", label: "Greet" },
      ],
      edges: [
        { from: "start", to: "set" },
        { from: "set", to: "done" },
      ],
    });
    await page.waitForURL(/id=by-mouse/);
    await page.getByRole("button", { name: "Run...", exact: true }).click();
    const answer = page.waitForResponse((response) => response.url().endsWith("/workflows/by-mouse/run"));
    await page.getByRole("dialog").getByRole("button", { name: "Run", exact: true }).click();
    const { runId } = (await (await answer).json()) as { runId: string };
    expect(await ended(runId)).toMatchObject({ status: "completed", output: "Hello " });
    await judge(page);
  });

  it("a workflow drawn by keyboard alone is saved and runs to its end", async () => {
    const page = await open("new=blank");
    const { keyboard } = page;
    const focused = () =>
      page.evaluate(() => (document.activeElement as HTMLElement | null)?.dataset["id"] ?? document.activeElement?.getAttribute("aria-label") ?? "");
    // To the first node: Tab walks in the order of the flow.
    for (let tabs = 0; (await focused()) !== "start"; tabs += 1) {
      expect(tabs).toBeLessThan(60);
      await keyboard.press("Tab");
    }
    await keyboard.press("n");
    await expect.poll(focused).toBe("Find a node");
    await keyboard.type("set");
    await keyboard.press("Enter");
    await expect.poll(focused).toBe("set");
    // Its value, in the form.
    await keyboard.press("Enter");
    await keyboard.type("Made by keys");
    for (
      let tabs = 0;
      !(await page.evaluate(
        () => document.activeElement?.closest("[data-path=value] .form-row-value") !== null && document.activeElement?.tagName === "INPUT",
      ));
      tabs += 1
    ) {
      expect(tabs).toBeLessThan(12);
      await keyboard.press("Tab");
    }
    await keyboard.press("Control+a");
    await keyboard.type("{{ 6 * 7 }}");
    await keyboard.press("Escape");
    await expect.poll(focused).toBe("set");
    // From its port to the end.
    await keyboard.press("p");
    await page.getByRole("dialog").waitFor();
    await page.getByRole("combobox", { name: "To the node" }).focus();
    await keyboard.type("done");
    await keyboard.press("Enter");
    await judge(page);
    await page.getByRole("button", { name: "Connect", exact: true }).focus();
    await keyboard.press("Enter");
    await expect.poll(() => page.locator(".react-flow__edge").count()).toBe(3);
    // Arrows move a node by the grid; that is no change.
    const before = await node(page, "set").getAttribute("style");
    await node(page, "set").focus();
    await keyboard.press("ArrowDown");
    await expect.poll(() => node(page, "set").getAttribute("style")).not.toBe(before);
    await keyboard.press("Control+s");
    await page.getByRole("dialog").getByLabel("Id").waitFor();
    await keyboard.press("Control+a");
    await keyboard.type("by-keys");
    await page.getByRole("dialog").getByRole("button", { name: "Save", exact: true }).and(page.locator(":not([aria-disabled])")).waitFor();
    await keyboard.press("Control+Enter");
    await page.getByText("Saved by-keys.").waitFor();
    expect(JSON.parse(stored("by-keys.json")).edges).toHaveLength(3);
    const { runId } = await at.api<{ runId: string }>("POST", "/workflows/by-keys/run", {});
    expect(await ended(runId)).toMatchObject({ status: "completed" });
    // Where nodes stand was written beside it.
    await expect.poll(async () => (await at.api<{ layout: { nodes?: object } | null }>("GET", "/api/workflows/by-keys")).layout?.nodes).toHaveProperty("set");
  });
});
