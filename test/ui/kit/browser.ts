import { existsSync } from "node:fs";
import type { Browser } from "playwright-core";
import { afterAll, vi } from "vitest";

// A browser, a daemon and what the machine does besides.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

/**
 * The browsers that Debian packages, without a window where that one is there: the same engine in two thirds of the processor time. Another
 * one by `SVC_UI_BROWSER`.
 */
const CHROMIUM = process.env.SVC_UI_BROWSER ?? ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"].find(existsSync) ?? "/usr/bin/chromium";

/** Why tests with a browser cannot run here; undefined where they can. Give it to `describe.skipIf`. */
export const NO_BROWSER = existsSync(CHROMIUM) ? undefined : `there is no ${CHROMIUM} (on Debian: apt-get install chromium)`;
if (NO_BROWSER !== undefined) console.warn(`tests of the pages are skipped: ${NO_BROWSER}`);

declare global {
  /** The browser of this process, which runs the tests of many files one after the other; it ends with the process. */
  var svcBrowser: Promise<Browser> | undefined;
}

const open: Browser[] = [];
// A hook that is asked for within another one is not heard: this one is the file's.
afterAll(async () => {
  for (const browser of open.splice(0)) await browser.close();
  const shared = await globalThis.svcBrowser;
  for (const context of shared?.contexts() ?? []) await context.close();
  if (shared?.isConnected() === false) globalThis.svcBrowser = undefined;
});

async function launch(more: readonly string[]): Promise<Browser> {
  const { chromium } = await import("playwright-core");
  return chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-dev-shm-usage", ...more] });
}

/** A browser without a page, for a test file. What it opens there is closed after its tests; with options of its own, the browser too. */
export async function openBrowser(more: readonly string[] = []): Promise<Browser> {
  if (more.length === 0) {
    globalThis.svcBrowser ??= launch([]).catch((error) => {
      globalThis.svcBrowser = undefined;
      throw error;
    });
    return globalThis.svcBrowser;
  }
  const browser = await launch(more);
  open.push(browser);
  return browser;
}
