import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { NO_BROWSER, openBrowser } from "./kit/browser.ts";
import { type Dashboard, startDashboard } from "./kit/dashboard.ts";
import { judge, openPage } from "./kit/judge.ts";
import { shots, views } from "./kit/views.ts";

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
  let attempts = 0;
  /** An id that no earlier attempt of a test has used. */
  const fresh = (name: string) => `${name}-${++attempts}`;
  /** A workflow of the test's own, as its author wrote it. */
  const copyOf = async (name: string) => {
    const id = fresh(name);
    await at.api("PUT", `/api/workflows/${id}/text`, { text: example(name) });
    return id;
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
      await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
    });
    await page.setViewportSize({ width: 1600, height: 1000 });
    await page.getByRole("radio", { name: "Both" }).click();
    await views(page, "editor-both", async ({ width }) => {
      if (width === 1600) await judge(page);
    });
  });

  it("a workflow drawn by mouse is saved and runs to its end", async () => {
    const id = fresh("by-mouse");
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
    await page.getByRole("dialog").getByLabel("Id").fill(id);
    await judge(page);
    await page.getByRole("dialog").getByRole("button", { name: "Save", exact: true }).click();
    await page.getByText(`Saved ${id}.`).waitFor();
    expect(JSON.parse(stored(`${id}.json`))).toEqual({
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
    await page.waitForURL(`**?id=${id}`);
    // What it asks for is read late: until then it says so, and no click is lost.
    let read = () => {};
    const late = new Promise<void>((resolve) => {
      read = resolve;
    });
    await page.route(`**/api/workflows/${id}`, (route) => late.then(() => route.continue()));
    await page.getByRole("button", { name: "Run...", exact: true }).click();
    const run = page.getByRole("dialog").getByRole("button", { name: /^Run/ });
    await expect.poll(() => run.getAttribute("title")).toBe("What it asks for is still being read.");
    await expect.poll(() => run.getAttribute("aria-disabled")).toBe("true");
    read();
    const answer = page.waitForResponse((response) => response.url().endsWith(`/workflows/${id}/run`));
    await run.click();
    const { runId } = (await (await answer).json()) as { runId: string };
    expect(await ended(runId)).toMatchObject({ status: "completed", output: "Hello " });
    await judge(page);
  });

  it("a workflow drawn by keyboard alone is saved and runs to its end", async () => {
    const id = fresh("by-keys");
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
    await keyboard.type(id);
    await page.getByRole("dialog").getByRole("button", { name: "Save", exact: true }).and(page.locator(":not([aria-disabled])")).waitFor();
    await keyboard.press("Control+Enter");
    await page.getByText(`Saved ${id}.`).waitFor();
    expect(JSON.parse(stored(`${id}.json`)).edges).toHaveLength(3);
    const { runId } = await at.api<{ runId: string }>("POST", `/workflows/${id}/run`, {});
    expect(await ended(runId)).toMatchObject({ status: "completed" });
    // Where nodes stand was written beside it.
    await expect.poll(async () => (await at.api<{ layout: { nodes?: object } | null }>("GET", `/api/workflows/${id}`)).layout?.nodes).toHaveProperty("set");
  });

  it("a change of the graph keeps the comments of its author, and an undo leaves nothing to save", async () => {
    const id = await copyOf("review");
    const page = await open(`id=${id}`);
    await node(page, "criticise").click();
    await page.getByLabel("Name", { exact: true }).fill("Critic");
    await says(page, "unsaved: 1 change");
    await page.getByRole("button", { name: "Undo" }).click();
    await says(page, "saved");
    await page.keyboard.press("Control+y");
    await says(page, "unsaved: 1 change");
    await says(page, "Nothing is wrong with it.");
    await page.getByRole("button", { name: "Save..." }).click();
    await page.getByRole("dialog").getByText("Changed label of criticise").waitFor();
    await judge(page);
    await page.keyboard.press("Control+Enter");
    await page.getByText(`Saved ${id}.`).waitFor();
    expect(stored(`${id}.yaml`)).toBe(example("review").replace(/( {2}- id: criticise\n {4}kind: agent\n[\s\S]*?timeout: 20m\n)/, "$1    label: Critic\n"));
  });

  it("what is wrong is told at its node, its field and its line; Enter leads there", async () => {
    const id = fresh("unfinished");
    const page = await open("new=blank");
    await node(page, "done").click();
    await page.getByRole("group", { name: "end" }).getByRole("combobox").selectOption({ label: "a text" });
    await page.getByRole("group", { name: "end" }).getByRole("textbox").fill("{{ steps.gone.output }}");
    const finding = page.locator(".editor-findings li button");
    await finding.filter({ hasText: "gone" }).waitFor();
    await expect.poll(() => finding.innerText()).toMatch(/\d+:\d+$/);
    await page.locator("[data-path=output] .form-error").waitFor();
    await expect.poll(() => node(page, "done").getAttribute("aria-label")).toMatch(/with an error/);
    // It is not saved; kept as a draft it may be.
    await page.getByRole("button", { name: "Save..." }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("1 error keeps it from being saved. A draft may have errors.").first().waitFor();
    await dialog.getByLabel("Id").fill(id);
    await dialog.getByRole("button", { name: "Keep as a draft" }).click();
    await page.waitForURL(`**?draft=${id}`);
    expect(stored(`_drafts/${id}.yaml`)).toContain("steps.gone.output");
    await page.getByRole("radio", { name: "YAML" }).click();
    await page.locator(".editor-yaml-wrong").waitFor();
    await finding.first().focus();
    await page.keyboard.press("Enter");
    await page.getByRole("radio", { name: "Both" }).click();
    await expect.poll(() => node(page, "done").evaluate((element) => element.classList.contains("selected"))).toBe(true);
    await judge(page);
  });

  it("text and graph are one: what is typed as YAML is drawn, and what cannot be read leaves the graph as it was", async () => {
    const page = await open("new=blank");
    await page.getByRole("radio", { name: "Both" }).click();
    const text = page.getByLabel("The workflow as YAML");
    await expect.poll(() => text.inputValue()).toContain("kind: trigger");
    await text.fill("nodes:\n  - {id: start, kind: trigger} # begins\n  - {id: nap, kind: timer, for: 1s}\nedges:\n  - {from: start, to: nap}\n");
    await node(page, "nap").waitFor();
    await text.fill("nodes: [");
    await says(page, "This text cannot be read. The graph shows the last one that could.");
    await expect.poll(() => node(page, "nap").count()).toBe(1);
    await page.getByRole("button", { name: "Undo" }).click();
    await expect.poll(() => text.inputValue()).toContain("# begins");
  });

  it("two tabs save: the second is told what the first wrote, chooses, and nothing is lost", async () => {
    const id = await copyOf("saga");
    const [one, two] = [await open(`id=${id}`), await open(`id=${id}`)];
    const label = async (page: Page, step: string, name: string) => {
      await node(page, step).click();
      // Until then it is the name of the step that was selected before.
      await expect.poll(() => page.getByLabel("Id", { exact: true }).inputValue()).toBe(step);
      await page.getByLabel("Name", { exact: true }).fill(name);
      await says(page, "Nothing is wrong with it.");
    };
    const save = async (page: Page) => {
      await page.getByRole("button", { name: "Save..." }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Save", exact: true }).and(page.locator(":not([aria-disabled])")).click();
    };
    await label(one, "hotel", "Theirs");
    await label(one, "car", "Car of the first");
    await save(one);
    await one.getByText(`Saved ${id}.`).waitFor();
    await label(two, "hotel", "Mine");
    await label(two, "booked", "End of the second");
    await save(two);
    await two.getByRole("heading", { name: "Somebody else has saved it meanwhile" }).waitFor();
    await two.getByText("Changed label of car").waitFor();
    await judge(two);
    await two.getByRole("radiogroup", { name: "Both changed hotel.label" }).getByRole("radio", { name: "Theirs" }).click();
    await two.getByRole("button", { name: "Take both and go on" }).click();
    await says(two, "unsaved: 1 change");
    await save(two);
    await two.getByText(`Saved ${id}.`).waitFor();
    const { definition } = await at.api<{ definition: { nodes: { id: string; label?: string }[] } }>("GET", `/api/workflows/${id}`);
    const labels = Object.fromEntries(definition.nodes.flatMap(({ id: step, label: name }) => (name === undefined ? [] : [[step, name]])));
    expect(labels).toEqual({ hotel: "Theirs", car: "Car of the first", booked: "End of the second" });
    expect(stored(`${id}.yaml`)).toContain("# In earnest each of these");
  });

  it("leaving asks about what is not saved; kept in the browser it is there again", async () => {
    const page = await open("id=nightly");
    await node(page, "write").click();
    await page.getByLabel("Name", { exact: true }).fill("Writer");
    await says(page, "unsaved: 1 change");
    await page.getByRole("link", { name: "Workflows" }).first().click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("1 change is not saved.").waitFor();
    await judge(page);
    await dialog.getByRole("button", { name: "Keep in this browser" }).click();
    await page.waitForURL(/\/workflows$/);
    await page.goto(`${at.url}/workflows/editor?id=nightly`);
    await page.getByRole("button", { name: "Take them up" }).click();
    await says(page, "unsaved: 1 change");
    // A body is a graph of its own.
    await node(page, "each").dblclick();
    await node(page, "two").waitFor();
    await page.getByRole("navigation", { name: "Where in the workflow" }).getByRole("button", { name: "each" }).waitFor();
    await judge(page);
  });

  it("a text with an alias says where it is edited", async () => {
    const page = await open("id=alias");
    await says(page, /The graph cannot be changed here: the alias \*o stands for what is written elsewhere\. Edit this in YAML, line 6\./);
    await expect.poll(() => page.locator(".editor-kind[aria-disabled]").count()).toBeGreaterThan(10);
  });

  it("copies of nodes keep the edges between them, in another workflow, too", async () => {
    const page = await open("id=both");
    await node(page, "hotel").click();
    await node(page, "car").click({ modifiers: ["Control"] });
    await page.keyboard.press("Control+c");
    await page.keyboard.press("Control+v");
    await node(page, "car2").waitFor();
    await page.locator('.react-flow__edge[data-id="hotel2.out>car2"]').waitFor({ state: "attached" });
    await page.keyboard.press("Delete");
    await expect.poll(() => node(page, "car2").count()).toBe(0);
    await says(page, "saved");
  });

  it("WF-13 without the mode `edit` there is no editor: the page is 404, the list looks and runs", async () => {
    const other = await startDashboard({
      config: { workflows: { enabled: true, editor: "readonly" } },
      files: { ".svc/workflows/review.yaml": example("review"), ".svc/workflows/nightly.yaml": example("nightly-report") },
    });
    expect((await fetch(`${other.url}/workflows/editor`)).status).toBe(404);
    const page = await openPage(browser);
    await page.goto(`${other.url}/workflows`);
    await page.getByText("Editing is off (workflows.editor). You can run and look.").waitFor();
    await expect.poll(() => page.getByRole("button", { name: "New workflow" }).count()).toBe(0);
    await page.getByRole("link", { name: "Review of a text" }).click();
    await node(page, "write").click();
    await page.getByRole("heading", { name: "write" }).waitFor();
    await judge(page);
    // A body opens under the pointer, in sight.
    await page.goto(`${other.url}/workflows?look=nightly`);
    await node(page, "each").dblclick();
    await node(page, "two").waitFor();
    const [seen, canvas] = [await node(page, "two").boundingBox(), await page.locator(".graph-canvas").boundingBox()];
    expect(seen?.y).toBeGreaterThan((canvas?.y ?? 0) + 40);
    await other.stop();
  });

  it("300 nodes and 400 edges are drawn and dragged", async () => {
    const id = fresh("large");
    const nodes = [{ id: "start", kind: "trigger" }, ...Array.from({ length: 299 }, (_, index) => ({ id: `n${index}`, kind: "set", value: index }))];
    const chain = nodes.slice(1).map(({ id: to }, index) => ({ from: nodes[index]?.id, to }));
    const more = Array.from({ length: 101 }, (_, index) => ({ from: `n${index * 2}`, fromPort: "error", to: `n${index * 2 + 7}` }));
    await at.api("PUT", `/api/workflows/${id}`, { nodes, edges: [...chain, ...more] });
    const page = await open(`id=${id}`);
    await expect.poll(() => page.locator(".react-flow__node").count()).toBe(300);
    const from = await middle(page, '.react-flow__node[data-id="n1"] .graph-node-facts');
    await page.evaluate(() => {
      const frames: number[] = [];
      Object.assign(globalThis, { frames });
      let last = performance.now();
      const tick = (now: number) => {
        frames.push(now - last);
        last = now;
        requestAnimationFrame(tick);
      };
      requestAnimationFrame(tick);
    });
    await page.mouse.move(from.x, from.y);
    await page.mouse.down();
    for (let stepped = 0; stepped < 40; stepped += 1) await page.mouse.move(from.x + stepped * 4, from.y + stepped * 3);
    const frames = (await page.evaluate(() => (globalThis as unknown as { frames: number[] }).frames)).sort((one, other) => one - other);
    await page.mouse.up();
    if (process.env.SVC_UI_SHOTS !== undefined)
      console.log(
        `frames while dragging: median ${frames[frames.length >> 1]?.toFixed(1)} ms, 95 % ${frames[Math.floor(frames.length * 0.95)]?.toFixed(1)} ms, of ${frames.length}`,
      );
    await says(page, "saved");
    await expect.poll(async () => (await at.api<{ layout: { nodes?: object } | null }>("GET", `/api/workflows/${id}`)).layout?.nodes).toHaveProperty("n1");
    await page.screenshot({ path: join(shots(), "editor-large.png") });
  });
});
