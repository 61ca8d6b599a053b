import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { NO_BROWSER, openBrowser } from "./kit/browser.ts";
import { type Dashboard, startDashboard } from "./kit/dashboard.ts";
import { judge, openPage } from "./kit/judge.ts";
import { AGENTS, pastDays } from "./kit/past-days.ts";
import { shots } from "./kit/views.ts";
import { visit } from "./kit/visit.ts";

const ADMIN = ["agents", "channels", "schedules", "webhooks", "mesh", "business", "boards", "actions", "tokens", "advanced"].map((tab) => `/admin#${tab}`);
const PAGES = ["/live", "/live?chat=scheduler-ar", "/inbox", "/processes", "/workflows", "/tasks", "/tasks/TASK", "/plugins", "/setup", ...ADMIN];
/** Boards, graphs and code are read sideways, by design. */
const SIDEWAYS = ".react-flow, .boards-columns, pre, .kit-code, .live-table";
/** The least that a finger is asked to hit: a button of the design, and WCAG's 24 for what stands within a line. */
const FINGER_PX = 40;
const nameOf = (path: string) => path.replace(/\W+/g, "-").replace(/^-/, "");

describe.skipIf(NO_BROWSER !== undefined)("pages within everybody's reach", { timeout: 300_000 }, () => {
  let browser: Browser;
  let at: Dashboard;
  let task: string;
  beforeAll(async () => {
    browser = await openBrowser();
    at = await startDashboard({
      config: {
        agents: AGENTS,
        node: { id: "workshop", name: "workshop", bind: "127.0.0.1:0", defaultAgent: "reviewer" },
        workflows: { enabled: true },
        crons: { morning: { schedule: "0 9 * * 1-5", agent: "echo", prompt: "مساء الخير" } },
      },
      prepare: async (folder) => {
        task = (await pastDays(folder, 300)).at(-1) as string;
      },
    });
    await at.api("POST", "/api/chat/held", { text: "of a task that runs, in every one of these views", chat: "test" });
  });
  const each = async (options: BrowserContextOptions, kind: string, look: (page: Page, path: string) => Promise<void>, by = browser) => {
    const page = await openPage(by, options);
    const found: string[] = [];
    for (const path of PAGES) {
      await visit(page, at.url + path.replace("TASK", task));
      await look(page, path).catch((error: Error) => found.push(`${path}: ${(error as { actual?: unknown }).actual ?? error.message}`));
      if (process.env.SVC_UI_SHOTS !== undefined) await page.screenshot({ path: `${shots()}/${kind}-${nameOf(path)}.png` });
    }
    await page.context().close();
    expect(found).toEqual([]);
  };
  /** Nothing but what is meant to scrolls sideways, and no control hangs over the edge. */
  const fits = async (page: Page) => {
    const over = await page.evaluate((sideways) => {
      const wide = document.documentElement.scrollWidth - innerWidth;
      const out = [...document.querySelectorAll<HTMLElement>("button, a[href], input, select, textarea")].filter((one) => {
        const { left, right, width, height } = one.getBoundingClientRect();
        if (width === 0 || height === 0 || !one.checkVisibility({ visibilityProperty: true }) || one.closest(sideways) !== null) return false;
        // What stands in a part that scrolls is reached by that.
        for (let around = one.parentElement; around !== null; around = around.parentElement)
          if (/auto|scroll/.test(getComputedStyle(around).overflowX) && around.scrollWidth > around.clientWidth) return false;
        return right > innerWidth + 1 || left < -1;
      });
      return [
        ...(wide > 0 ? [`${wide} px wider than the window`] : []),
        ...out.map((one) => `${one.tagName} ${one.getAttribute("aria-label") ?? one.textContent}`),
      ];
    }, SIDEWAYS);
    expect(over).toEqual([]);
  };

  it("at 320 pixels nothing stands beside the window", () =>
    each({ viewport: { width: 320, height: 640 } }, "narrow", async (page) => {
      await fits(page);
      await judge(page);
    }));

  it("at 200 % nothing is cut off or lies on something else", () =>
    // What a browser does at 200 %: half the room, twice the pixels.
    each({ viewport: { width: 800, height: 500 }, deviceScaleFactor: 2 }, "zoomed", async (page) => {
      await fits(page);
      await judge(page);
    }));

  it("with letters of twice the size no row lies on another one, and none is cut at its foot", async () => {
    // What somebody has set in the browser: what is given in em, also of the window, follows from it.
    const large = await openBrowser(["--blink-settings=defaultFontSize=32"]);
    const look = async (page: Page) => {
      expect(await page.evaluate(() => getComputedStyle(document.documentElement).fontSize)).toBe("32px");
      const over = () =>
        page.evaluate(() =>
          [
            ...document.querySelectorAll<HTMLElement>(
              "#page [role=grid] [role=row], #page tbody tr, .task-step, .live-task, .live-agent, .live-lane-name, .live-plot-name",
            ),
          ]
            .filter((one) => one.checkVisibility() && one.getBoundingClientRect().height > 0)
            .flatMap((row, at, all) => {
              const own = row.getBoundingClientRect();
              const next = all[at + 1]?.parentElement === row.parentElement ? all[at + 1]?.getBoundingClientRect() : undefined;
              const lies = next !== undefined && next.top > own.top && next.top < own.bottom - 1 && next.left < own.right && own.left < next.right;
              const cut =
                own.height < Number.parseFloat(getComputedStyle(row).fontSize) ||
                [...row.children].some((cell) => cell.checkVisibility() && cell.getBoundingClientRect().bottom > own.bottom + 1);
              return lies || cut ? [`${row.className} ${Math.round(own.height)} px${lies ? ", under the next" : ""}: ${row.textContent?.slice(0, 40)}`] : [];
            }),
        );
      await expect.poll(async () => [...new Set(await over())].slice(0, 4), { timeout: 5_000 }).toEqual([]);
      await fits(page);
    };
    await each({ viewport: { width: 1600, height: 1000 } }, "letters", look, large);
    await large.close();
  });

  it("a finger finds what it is to hit", () =>
    each({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }, "touch", async (page) => {
      expect(await page.evaluate(() => matchMedia("(pointer: coarse)").matches)).toBe(true);
      const small = await page.evaluate((least) => {
        const within = (one: Element) =>
          getComputedStyle(one).display === "inline" || one.closest("p, td, dd, .react-flow, .cut, .kit-crumbs, .kit-pane-head > a") !== null;
        return [
          ...document.querySelectorAll<HTMLElement>(
            "button, a[href], [role=row], [role=tab], [role=switch], select, input:not([type=checkbox]):not([type=radio])",
          ),
        ]
          .filter((one) => {
            const { width, height } = one.getBoundingClientRect();
            if (width < 2 || height < 2 || !one.checkVisibility({ visibilityProperty: true }) || one.classList.contains("shell-skip")) return false;
            return height < (within(one) ? 24 : one.classList.contains("kit-search-input") ? least - 2 : least) - 0.5 && one.closest("label") === null;
          })
          .map(
            (one) =>
              `${one.className || one.tagName} ${Math.round(one.getBoundingClientRect().height)} px: ${(one.getAttribute("aria-label") ?? one.textContent)?.slice(0, 40)}`,
          );
      }, FINGER_PX);
      expect([...new Set(small)]).toEqual([]);
      const fields = await page.evaluate(
        () =>
          [...document.querySelectorAll("input, select, textarea")].filter(
            (one) => one.checkVisibility() && Number.parseFloat(getComputedStyle(one).fontSize) < 16,
          ).length,
      );
      // A phone zooms into smaller ones.
      expect(fields).toBe(0);
      await fits(page);
    }));

  it("with the system's light and dark colours every state and what is chosen is still told", () =>
    each({ viewport: { width: 1280, height: 800 }, forcedColors: "active" }, "forced", async (page) => {
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        await judge(page);
        const chosen = await page.evaluate(() =>
          [...document.querySelectorAll("[aria-current=page], [aria-selected=true], [aria-checked=true], [aria-pressed=true]")]
            .filter((one) => one.checkVisibility() && one.getBoundingClientRect().width > 0)
            .filter((one) => {
              const { outlineStyle, borderStyle, fontWeight, textDecorationLine, backgroundColor } = getComputedStyle(one);
              const around = getComputedStyle(one.parentElement as Element).backgroundColor;
              const inner = one.querySelector("svg, ::before") !== null;
              return (
                outlineStyle === "none" &&
                (borderStyle === "none" || borderStyle === "") &&
                Number(fontWeight) < 600 &&
                textDecorationLine === "none" &&
                (backgroundColor === around || backgroundColor === "rgba(0, 0, 0, 0)") &&
                !inner
              );
            })
            .map((one) => `${one.className}: ${one.textContent?.slice(0, 40)}`),
        );
        expect(chosen).toEqual([]);
      }
    }));

  it("nothing turns, slides or fades for those who want less motion", () =>
    each({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce" }, "still", async (page) => {
      const moving = await page.evaluate(() =>
        document
          .getAnimations()
          .filter(({ playState }) => playState === "running")
          .map((one) => (one as CSSAnimation).animationName ?? "transition"),
      );
      expect(moving).toEqual([]);
    }));

  it("names from right to left stay apart from what stands beside them, and are cut at their own end", () =>
    each({ viewport: { width: 1024, height: 768 } }, "names", async (page) => {
      const mixed = await page.evaluate(() => {
        const walker = document.createTreeWalker(document.querySelector("#page") as Element, NodeFilter.SHOW_TEXT);
        const bad: string[] = [];
        for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
          const text = node.textContent ?? "";
          const around = node.parentElement as HTMLElement;
          if (!/[\u0590-\u08ff]/.test(text) || !around.checkVisibility()) continue;
          if (around.closest("bdi, [dir=auto], input, textarea, pre, code, option, title, [role=log]") === null)
            bad.push(`${around.className}: ${text.slice(0, 40)}`);
        }
        return bad;
      });
      expect([...new Set(mixed)]).toEqual([]);
      // However long a name is: each column begins at one place.
      const apart = await page.evaluate(() =>
        [...document.querySelectorAll("#page [role=grid]")].flatMap((grid) => {
          const begins = new Map<string, Set<number>>();
          for (const cell of grid.querySelectorAll("[role=row] > [role=gridcell]:not(.figure)")) {
            const known = begins.get(cell.className.split(" ")[0] as string) ?? new Set();
            begins.set(cell.className.split(" ")[0] as string, known.add(Math.round(cell.getBoundingClientRect().left)));
          }
          return [...begins].filter(([name, places]) => name !== "" && places.size > 1).map(([name, places]) => `${name}: ${[...places].join(", ")}`);
        }),
      );
      expect(apart).toEqual([]);
    }));
});
