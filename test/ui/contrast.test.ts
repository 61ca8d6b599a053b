import { describe, expect, it } from "vitest";
import { read } from "../house/house.ts";

/** The custom properties of a block of tokens.css that are colours, by name. */
function colours(block: string): Readonly<Record<string, string>> {
  return Object.fromEntries([...block.matchAll(/^\s*--([\w-]+): (#[0-9a-f]{6});/gm)].map(([, name, value]) => [name as string, value as string]));
}

const css = read("plugins/features/dashboard/ui/tokens.css");
const blockOf = (selector: string) => css.slice(css.indexOf("{", css.indexOf(selector)), css.indexOf("}", css.indexOf("{", css.indexOf(selector))));
const THEMES = { light: colours(blockOf(":root {")), dark: colours(blockOf(':root[data-theme="dark"]')) };

/** WCAG 2: how light a colour is, from 0 to 1. */
function luminance(hex: string): number {
  const [red, green, blue] = [1, 3, 5]
    .map((at) => Number.parseInt(hex.slice(at, at + 2), 16) / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * (red as number) + 0.7152 * (green as number) + 0.0722 * (blue as number);
}

function contrast(one: string, other: string): number {
  const [light, dark] = [luminance(one), luminance(other)].sort((first, second) => second - first) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

const GROUNDS = ["bg", "surface", "sunken", "hover", "selected"];
const STATES = ["ok", "run", "wait", "fail", "pause", "off"];

describe.each(Object.entries(THEMES))("the %s theme", (_name, theme) => {
  const least = (texts: readonly string[], grounds: readonly string[]) =>
    texts.flatMap((text) => grounds.map((ground) => ({ pair: `${text} on ${ground}`, ratio: contrast(theme[text] as string, theme[ground] as string) })));
  const below = (limit: number, pairs: readonly { pair: string; ratio: number }[]) =>
    pairs.filter(({ ratio }) => !(ratio >= limit)).map(({ pair, ratio }) => `${pair}: ${ratio.toFixed(2)}`);

  it("has a value for every token", () => {
    const tokens = [...GROUNDS, "line", "line-2", "ink", "ink-2", "ink-3", "accent", "btn", "on-btn", ...STATES, ...STATES.map((state) => `${state}-bg`)];
    expect(tokens.filter((token) => theme[token] === undefined)).toEqual([]);
  });

  it("shows text with 4.5 to 1 or more on every ground that it stands on", () => {
    expect(below(4.5, least(["ink", "ink-2", "ink-3", "accent", ...STATES], GROUNDS))).toEqual([]);
    expect(
      below(
        4.5,
        least(
          ["ink"],
          STATES.map((state) => `${state}-bg`),
        ),
      ),
    ).toEqual([]);
    for (const state of STATES) expect(below(4.5, least([state, "ink-2"], [`${state}-bg`]))).toEqual([]);
    expect(below(4.5, least(["on-btn"], ["btn"]))).toEqual([]);
  });

  it("shows borders of controls and the focus with 3 to 1 or more", () => {
    expect(below(3, least(["line-2", "accent"], ["bg", "surface", "sunken"]))).toEqual([]);
  });
});

it("both ways to the dark theme give the same colours", () => {
  expect(colours(blockOf(':root:not([data-theme="light"])'))).toEqual(THEMES.dark);
});
