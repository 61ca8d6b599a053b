import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROOT } from "../house/house.ts";
import { NO_BROWSER, openBrowser } from "./kit/browser.ts";
import { openPage } from "./kit/judge.ts";

describe.skipIf(NO_BROWSER !== undefined)("a list of 100,000 rows", () => {
  let browser: Browser;
  let page: Page;
  const row = (index: number) => page.getByRole("row").filter({ hasText: `Row number ${index},` });
  beforeAll(async () => {
    browser = await openBrowser();
    const { build } = await import("vite");
    const made = await build({
      root: ROOT,
      configFile: false,
      logLevel: "silent",
      // Tests run in the mode `test`, in which the build would ask for the tools of development.
      oxc: { jsx: { runtime: "automatic", development: false } },
      define: { "process.env.NODE_ENV": '"production"' },
      build: { write: false, lib: { entry: join(ROOT, "test/ui/stage/long-list.tsx"), formats: ["es"], fileName: "stage", cssFileName: "stage" } },
    });
    const [{ output }] = made as unknown as [{ output: readonly { fileName: string; code?: string; source?: string }[] }];
    const files = new Map(output.map(({ fileName, code, source }) => [`/${fileName}`, code ?? source ?? ""]));
    const style = [...files.keys()].find((name) => name.endsWith(".css"));
    files.set(
      "/",
      `<!doctype html><html lang="en"><title>Rows</title><link rel="stylesheet" href="${style}"><div id="app"></div><script type="module" src="/stage.js"></script>`,
    );
    const types: Record<string, string> = { css: "text/css", js: "text/javascript" };
    const server = createServer(({ url = "/" }, response) => {
      response.setHeader("content-type", types[url.split(".").at(-1) as string] ?? "text/html");
      response.end(files.get(url));
    }).listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    afterAll(() => void server.close());
    page = await openPage(browser);
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    await row(0).waitFor();
  });

  it("has only the rows in sight, says how many there are, and scrolls to any of them", async () => {
    const grid = page.getByRole("grid", { name: "Rows" });
    await expect.poll(() => grid.getAttribute("aria-rowcount")).toBe("100000");
    await expect.poll(() => page.getByRole("row").count()).toBeLessThan(80);
    for (const at of [0.25, 0.5, 0.75, 1]) {
      await grid.evaluate((element, part) => {
        element.scrollTop = part * (element.scrollHeight - element.clientHeight);
      }, at);
      const near = Math.round(at * (100_000 - 32));
      await page.waitForFunction(
        (wanted) => [...document.querySelectorAll("[role=row]")].some((one) => Math.abs(Number(one.getAttribute("aria-rowindex")) - wanted) < 40),
        near,
      );
      await expect.poll(() => page.getByRole("row").count()).toBeLessThan(80);
    }
    await row(99_999).waitFor();
  });

  it("is walked by keys, and opens what is chosen", async () => {
    await page.getByRole("grid", { name: "Rows" }).focus();
    await page.keyboard.press("Home");
    await row(0).waitFor();
    for (const key of ["j", "j", "k", "ArrowDown"]) await page.keyboard.press(key);
    await expect.poll(() => row(2).getAttribute("aria-selected")).toBe("true");
    await page.keyboard.press("Enter");
    await page.getByText("Rows, opened: 2").waitFor();
    await page.keyboard.press("End");
    await row(99_999).waitFor();
    await expect.poll(() => row(99_999).getAttribute("aria-selected")).toBe("true");
    await page.keyboard.press("PageUp");
    await expect.poll(() => row(99_999).getAttribute("aria-selected")).not.toBe("true");
  });

  it("scrolls through all of it; how long the longest piece of work took is printed", async () => {
    const longest = await page.evaluate(async () => {
      const grid = document.querySelector("[role=grid]") as HTMLElement;
      const tasks: number[] = [];
      const observer = new PerformanceObserver((list) => tasks.push(...list.getEntries().map(({ duration }) => duration)));
      observer.observe({ type: "longtask" });
      for (let at = 0; at <= 400; at += 1) {
        grid.scrollTop = (at / 400) * grid.scrollHeight;
        await new Promise((resolve) => requestAnimationFrame(resolve));
      }
      observer.disconnect();
      return Math.max(0, ...tasks);
    });
    // A figure of a busy machine is none to judge by: the bench's, not the test's.
    console.info(`the longest piece of work while scrolling 100,000 rows: ${longest === 0 ? "under 50" : Math.round(longest)} ms`);
    await expect.poll(() => page.getByRole("row").count()).toBeLessThan(80);
  });
});
