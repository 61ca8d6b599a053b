import { existsSync } from "node:fs";

const CHROMIUM = process.env.SVC_UI_BROWSER ?? "/usr/bin/chromium";

/** A page of the dashboard in a browser, open all the time. */
export interface OpenPage {
  /** What its scripts threw and nobody caught. */
  errors(): string[];
  tally(): Readonly<Record<string, number>>;
  close(): Promise<void>;
}

/** Opens it; undefined where there is no browser. It stays open over restarts of the daemon: that is what it is there for. */
export async function openPage(url: string): Promise<OpenPage | undefined> {
  if (!existsSync(CHROMIUM)) return undefined;
  const { chromium } = await import("playwright-core");
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
  const page = await browser.newPage();
  const thrown: string[] = [];
  const counts = { "requests that failed": 0 };
  page.on("pageerror", (error) => thrown.push(`the page threw: ${error.message}`));
  page.on("requestfailed", () => (counts["requests that failed"] += 1));
  await page.goto(url);
  return {
    errors: () => [...new Set(thrown)],
    tally: () => ({ ...counts, "errors thrown": thrown.length }),
    close: () => browser.close(),
  };
}
