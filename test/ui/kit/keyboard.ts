import type { ElementHandle, Page } from "playwright-core";
import { expect } from "vitest";

/** What is reached by Tab, or by arrow keys from a neighbour of its kind. */
const CONTROLS =
  "button, a[href], input, select, textarea, summary, [contenteditable], [role=button], [role=link], [role=tab], [role=radio], [role=checkbox], [role=switch], [role=option], [role=slider], [role^=menuitem]";
/** Within one of these a single member is a stop of Tab; arrow keys lead to the others. */
const COMPOSITES = "[role=tablist], [role=radiogroup], [role=grid], [role=listbox], [role=menu], [role=toolbar], [role=tree]";
/** What a key of the thing around it does as well: `n` of the graph, `m` of a card, Enter of a card. */
const BY_KEY = ".graph-add, .boards-card-menu, .boards-work";
/** Buttons that open something to be closed again: a dialog by their "...", the list of nodes by its word. */
const OPENS = /\.\.\.$|^Add a node$/;
/** More stops than any page has. */
const MOST_STOPS = 900;
const AT_ONCE = 12;
/** So many stops are walked back with Shift-Tab. */
const BACK = 6;

interface Told {
  readonly done: boolean;
  readonly findings: readonly string[];
  readonly stops: readonly string[];
}

/** Stands in the page: looks at what has the focus before each Tab takes it away, so that nothing is asked between two presses. */
interface Walk {
  press(): void;
  told(): Told;
  end(): readonly string[];
  /** No node of a graph has the focus out of sight. */
  settled(): boolean;
}

/** Begins a walk in the page; `within` is what is to be walked through, the whole document for none. */
function begin({
  controls,
  composites,
  byKey,
  within,
}: Readonly<Record<"controls" | "composites" | "byKey", string>> & { readonly within: string | undefined }): void {
  const stops: HTMLElement[] = [];
  const marks = new Map<HTMLElement, string>();
  const findings: string[] = [];
  let last: HTMLElement | undefined;
  let done = false;
  const nameOf = (one: Element) =>
    `${one.tagName.toLowerCase()}${typeof one.className === "string" && one.className !== "" ? `.${one.className.split(" ")[0]}` : ""} “${(one.getAttribute("aria-label") ?? one.textContent ?? "").trim().replace(/\s+/g, " ").slice(0, 40)}”`;
  /** All that may tell the focus: of the element, of what it holds, and of what holds it. */
  const lookOf = (one: HTMLElement) => {
    const around = [one, one.parentElement, one.parentElement?.parentElement, ...one.querySelectorAll("*")].slice(0, 12);
    return around
      .flatMap((part) => (part ? ["", "::before", "::after"].map((pseudo) => getComputedStyle(part, pseudo)) : []))
      .map(({ outlineStyle, outlineWidth, outlineColor, boxShadow, borderColor, borderWidth, stroke }) =>
        [outlineStyle === "none" ? "" : `${outlineStyle} ${outlineWidth} ${outlineColor}`, boxShadow, borderColor, borderWidth, stroke].join(" "),
      )
      .join("|");
  };
  /** Nine points of what is in the window: at most a part of them may lie under something else. */
  const sight = (one: HTMLElement): string | undefined => {
    const { left, right, top, bottom } = one.getBoundingClientRect();
    const [x, y, width, height] = [
      Math.max(0, left),
      Math.max(0, top),
      Math.min(innerWidth, right) - Math.max(0, left),
      Math.min(innerHeight, bottom) - Math.max(0, top),
    ];
    if (width < 1 || height < 1) return "has the focus out of sight";
    let seen = 0;
    for (const across of [0.1, 0.5, 0.9])
      for (const down of [0.1, 0.5, 0.9]) {
        const hit = document.elementFromPoint(x + width * across, y + height * down);
        if (hit !== null && (one.contains(hit) || hit.contains(one) || hit.closest("label")?.contains(one) === true)) seen += 1;
      }
    return seen < 3 ? "has the focus, and lies under something else" : undefined;
  };
  const focused = () => {
    const one = document.activeElement;
    return one instanceof HTMLElement && one !== document.body && one !== document.documentElement ? one : undefined;
  };
  /** What held the focus no longer does: then it must look otherwise. */
  const compare = () => {
    if (last === undefined || !last.isConnected || document.activeElement === last || !marks.has(last)) return;
    if (lookOf(last) === marks.get(last)) findings.push(`${nameOf(last)} shows no mark of the focus`);
    marks.delete(last);
  };
  const note = () => {
    compare();
    const one = focused();
    if (one === undefined || one === last || done) {
      if (one === undefined) last = undefined;
      return;
    }
    const known = stops.indexOf(one);
    if (known === 0) {
      done = true;
      return;
    }
    if (known > 0) {
      findings.push(`${nameOf(one)} has the focus twice: Tab does not come out`);
      done = true;
      return;
    }
    last = one;
    stops.push(one);
    marks.set(one, lookOf(one));
    const hidden = sight(one);
    if (hidden !== undefined) findings.push(`${nameOf(one)} ${hidden}`);
  };
  /** A thing that somebody sees and could press, and no key led to. */
  const missed = () => {
    const root = within === undefined ? document : document.querySelector(within);
    const reached = new Set(stops);
    return [...(root?.querySelectorAll<HTMLElement>(controls) ?? [])]
      .filter((one) => {
        const { width, height } = one.getBoundingClientRect();
        if (reached.has(one) || width < 2 || height < 2 || !one.checkVisibility({ visibilityProperty: true, opacityProperty: true })) return false;
        if (one.matches(":disabled, [inert] *, [aria-hidden=true], [aria-hidden=true] *")) return false;
        // The keys of a group belong to the one that has its stop.
        const group = one.tabIndex < 0 ? one.closest<HTMLElement>(composites) : null;
        if (group !== null) return !stops.some((stop) => group.contains(stop));
        if (one instanceof HTMLInputElement && one.type === "radio")
          return !stops.some((stop) => stop instanceof HTMLInputElement && stop.name === one.name && stop.type === "radio");
        return !one.matches(byKey);
      })
      .map((one) => `${nameOf(one)} is not reached`);
  };
  const walk: Walk = {
    press: note,
    told: () => ({ done, findings, stops: stops.map(nameOf) }),
    end: () => [...findings, ...missed()],
    settled: () => {
      const one = focused();
      return one === undefined || !one.matches(".react-flow__node") || sight(one) === undefined;
    },
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Tab" && !event.shiftKey) note();
  };
  removeEventListener("keydown", (globalThis as { walking?: (event: KeyboardEvent) => void }).walking ?? onKeyDown, true);
  addEventListener("keydown", onKeyDown, true);
  Object.assign(globalThis, { walk, walking: onKeyDown, stopsOfWalk: stops });
}

/** What a walk with Tab through a page, or a part of it, has found. */
export interface Walked {
  readonly findings: readonly string[];
  /** In their order. */
  readonly stops: readonly string[];
}

/** Walks with Tab until it comes round, and some way back: every control is reached, seen and marked, and nothing holds the focus. */
export async function walkByTab(page: Page, within?: string): Promise<Walked> {
  await page.evaluate(begin, { controls: CONTROLS, composites: COMPOSITES, byKey: BY_KEY, within });
  // A graph brings what has the focus into sight by itself, and what is told of it above the graph comes later.
  const graph = (await page.locator(".react-flow").count()) > 0;
  const settled = () => page.waitForFunction(() => (globalThis as unknown as { walk: Walk }).walk.settled(), undefined, { timeout: 2_000 }).catch(() => {});
  let told: Told = { done: false, findings: [], stops: [] };
  for (let pressed = 0; !told.done && pressed < MOST_STOPS; pressed += AT_ONCE) {
    for (let n = 0; n < AT_ONCE; n += 1) {
      await page.keyboard.press("Tab");
      if (graph) await settled();
    }
    told = await page.evaluate(() => {
      const { walk } = globalThis as unknown as { walk: Walk };
      walk.press();
      return walk.told();
    });
  }
  const findings = await page.evaluate(() => (globalThis as unknown as { walk: Walk }).walk.end());
  if (!told.done) return { findings: [...findings, `Tab has not come round after ${MOST_STOPS} presses`], stops: told.stops };
  return { findings: [...findings, ...(await walkBack(page))], stops: told.stops };
}

/** The stops before the one that has the focus, by Shift-Tab. */
async function walkBack(page: Page): Promise<readonly string[]> {
  const look = () =>
    page.evaluate(() => {
      // A button may be gone with what it was for, such as a step that is no longer the chosen one.
      const stops = (globalThis as unknown as { stopsOfWalk: Element[] }).stopsOfWalk.filter((stop) => stop.isConnected && stop.checkVisibility());
      const one = document.activeElement as HTMLElement;
      return { place: stops.indexOf(one), count: stops.length, name: `${one.tagName} ${one.className} ${one.textContent?.slice(0, 30)}` };
    });
  /** Out of the page, which a browser leaves for its own bar, one press more leads back in; both take it a moment. */
  const press = async (keys: string, before: number) => {
    for (let presses = 0; presses < 2; presses += 1) {
      await page.keyboard.press(keys);
      for (let looks = 0; looks < 10; looks += 1) {
        const now = await look();
        if (now.place !== before && !now.name.startsWith("BODY")) return now;
        await page.waitForTimeout(20);
      }
    }
    return look();
  };
  let now = await look();
  if (now.place === -1) now = await press("Tab", -1);
  for (let back = 0; back < Math.min(BACK, now.count); back += 1) {
    const { place, count } = now;
    now = await press("Shift+Tab", place);
    if (now.place !== (place - 1 + count) % count) return [`Shift-Tab leads from stop ${place} of ${count} to ${now.place} (${now.name})`];
  }
  return [];
}

const nameOf = (one: ElementHandle<Element>) =>
  one.evaluate((element) => (element.getAttribute("aria-label") ?? element.textContent ?? "").trim().slice(0, 60));
const isFocused = (one: ElementHandle<Element>) => one.evaluate((element) => document.activeElement === element);

/** In every group of one stop the arrow keys lead to each member; in a list they move the chosen row, and `.` opens its menu. */
export async function walkByArrows(page: Page): Promise<readonly string[]> {
  const findings: string[] = [];
  for (const group of await page.$$(COMPOSITES)) {
    const kind = await group.evaluate((element) => {
      if (!element.checkVisibility() || element.closest(".form, [role=menu]") !== null) return "none";
      if (element.getAttribute("role") !== "grid") return /tablist|radiogroup/.test(element.getAttribute("role") ?? "") ? "members" : "none";
      return (element as HTMLElement).tabIndex < 0 ? "members" : element.querySelectorAll("[role=row]").length > 1 ? "rows" : "none";
    });
    const name = await nameOf(group);
    if (kind === "members") findings.push(...(await membersOf(page, group, name)));
    if (kind === "rows") findings.push(...(await rowsOf(page, group, name)));
  }
  return findings;
}

async function membersOf(page: Page, group: ElementHandle<Element>, name: string): Promise<readonly string[]> {
  const members = await group.evaluate((element) => {
    const all = [...element.querySelectorAll<HTMLElement>("[role=tab], [role=radio], button")].filter((one) => one.checkVisibility());
    all.find(({ tabIndex }) => tabIndex === 0)?.focus();
    return all.length;
  });
  const reached = new Set<string>();
  for (let n = 0; n < members; n += 1) {
    reached.add(await page.evaluate(() => `${document.activeElement?.ariaLabel ?? ""}${document.activeElement?.textContent ?? ""}`));
    await page.keyboard.press("ArrowRight");
  }
  return reached.size === members ? [] : [`arrows lead to ${reached.size} of ${members} of “${name}”`];
}

async function rowsOf(page: Page, list: ElementHandle<Element>, name: string): Promise<readonly string[]> {
  const chosen = () => list.evaluate((element) => element.getAttribute("aria-activedescendant"));
  await list.evaluate((element) => (element as HTMLElement).focus());
  await page.keyboard.press("Home");
  const first = await chosen();
  await page.keyboard.press("ArrowDown");
  const second = await chosen();
  if (first === null || second === null || first === second) return [`arrows move nothing in “${name}”`];
  if ((await list.$(`#${second} [aria-haspopup=menu]`)) === null) return [];
  await page.keyboard.press(".");
  return opened(page, list, `. in ${name}`);
}

/** What was opened has the focus, keeps it, and gives it back at Escape. */
async function opened(page: Page, opener: ElementHandle<Element>, name: string): Promise<readonly string[]> {
  const open = "dialog:modal, [popover]:popover-open";
  const within = () => page.evaluate((selector) => document.querySelector(selector)?.contains(document.activeElement) === true, open);
  try {
    await expect.poll(within, { timeout: 3_000, interval: 20 }).toBe(true);
  } catch {
    return [`“${name}” opens nothing that takes the focus`];
  }
  const modal = (await page.locator("dialog:modal").count()) > 0;
  // What it reads of itself comes later.
  const drawn = () => page.locator(open).last().innerHTML();
  let before = "";
  await expect
    .poll(
      async () => {
        const [now, last] = [await drawn(), before];
        before = now;
        return now === last && !now.includes("kit-loading");
      },
      { timeout: 5_000, interval: 40 },
    )
    .toBe(true);
  const findings = modal ? (await walkByTab(page, "dialog:modal")).findings.map((finding) => `in “${name}”: ${finding}`) : [];
  await page.keyboard.press("Escape");
  try {
    await expect.poll(() => page.locator(open).count(), { timeout: 3_000, interval: 20 }).toBe(0);
    await expect.poll(() => isFocused(opener), { timeout: 3_000, interval: 20 }).toBe(true);
  } catch {
    const where = await page.evaluate(() => `${document.activeElement?.tagName} ${document.activeElement?.textContent?.slice(0, 30)}`);
    findings.push(`Escape from what “${name}” opens leaves the focus at ${where}, ${await page.locator(open).count()} open`);
  }
  return findings;
}

/** Opens by Enter whatever a button of the page opens, but not what `known` names: it takes the focus and gives it back. */
export async function openByEnter(page: Page, known: Set<string>): Promise<readonly string[]> {
  const findings: string[] = [];
  for (const button of await page.$$("button")) {
    const told = await button.evaluate((element) => ({
      name: (element.getAttribute("aria-label") ?? element.textContent ?? "").trim(),
      popup: element.getAttribute("aria-haspopup"),
      usable: element.isConnected && element.checkVisibility({ visibilityProperty: true }) && element.ariaDisabled !== "true" && !element.matches(":disabled"),
      stop: element.tabIndex >= 0,
    }));
    if (!told.usable || !told.stop || (told.popup === null && !OPENS.test(told.name)) || known.has(told.name)) continue;
    known.add(told.name);
    await button.focus();
    await page.keyboard.press("Enter");
    findings.push(...(await opened(page, button, told.name)));
  }
  return findings;
}
