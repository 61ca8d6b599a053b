import type { ChannelTraits, Markup } from "@svc/sdk";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { TextTraits } from "../base/channel-render.ts";
import { createRender } from "../capabilities/render/render.ts";
import { lengthIn, partsOf } from "./parts.ts";

const render = createRender();
const dialects: readonly string[] = ["plain", "markdown", "html-telegram", "mrkdwn", "discord", "whatsapp"];
const units: readonly ChannelTraits["unit"][] = ["utf16", "utf8", "codepoint"];
const traits = (dialect: string, maxChars: number, unit: ChannelTraits["unit"] = "utf16"): TextTraits => ({ dialect, maxChars, unit });

/** What the platform counts: one of them parses its markup first. */
const shown = (text: string, dialect: string) => (dialect === "html-telegram" ? text.replace(/<[^>]*>/g, "").replace(/&(?:amp|lt|gt|quot);/g, "&") : text);
/** OutboxEntry and digits alone: what no markup and no cut may take away, add or move. */
const entries = (text: string) => text.replace(/[^a-zA-Z0-9äλ]/g, "");

/** Texts in which nearly every sign grows when it is rendered: escapes, tables, blocks of code, lists, long runs without a blank. */
const answers = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        "<a & b> ",
        "a_b_c ",
        "*x* ",
        "**bold & <b>** ",
        "`c<d>` ",
        "1 < 2 & 3 > 2\n",
        "\n\n",
        "\n",
        "ä λ ",
        "> said < this\n",
        "# title & all\n\n",
      ),
      fc.constantFrom("- one & two\n- *three*\n", "\n| name | n |\n|---|---|\n| a & b | 1 |\n| a much longer name | 22 |\n\n"),
      fc.integer({ min: 1, max: 60 }).map((n) => "&<>_*|#".repeat(n)),
      fc.integer({ min: 1, max: 40 }).map((n) => `\n\`\`\`js\n${"if (a < b && c > d) e();\n".repeat(n)}\`\`\`\n`),
      fc.integer({ min: 1, max: 60 }).map((n) => "word ".repeat(n)),
    ),
    { maxLength: 14 },
  )
  .map((pieces) => pieces.join(""));

describe("a text of any length", () => {
  it("becomes parts that all fit once they are rendered, marked up or not, with every word in its order", () => {
    fc.assert(
      fc.property(answers, fc.constantFrom(...dialects), fc.constantFrom(...units), fc.integer({ min: 40, max: 700 }), (markdown, dialect, unit, maxChars) => {
        const parts = partsOf(markdown, traits(dialect, maxChars, unit), render);
        for (const part of parts) {
          expect(lengthIn(unit, shown(part.text, dialect))).toBeLessThanOrEqual(maxChars);
          // It is sent in place of the marked up text where that is refused.
          expect(lengthIn(unit, part.plain)).toBeLessThanOrEqual(maxChars);
          expect(part.text.trim()).not.toBe("");
        }
        expect(entries(parts.map(({ plain }) => plain).join(""))).toBe(entries(render.to("plain", markdown)));
      }),
      { numRuns: 500 },
    );
  });

  it("closes a block of code in each part and opens it again with the next", () => {
    for (const dialect of ["mrkdwn", "discord", "whatsapp", "markdown"] as const) {
      const parts = partsOf(`before\n\n\`\`\`js\n${"if (a < b && c > d) e();\n".repeat(60)}\`\`\`\n\nafter`, traits(dialect, 400), render);
      expect(parts.length).toBeGreaterThan(3);
      for (const { text } of parts) expect((text.match(/^```/gm) ?? []).length % 2, text).toBe(0);
      expect(parts.slice(1, -1).every(({ text }) => text.startsWith("```"))).toBe(true);
    }
  });

  it("a table that is wider than what was written of it is cut, also for the plain words", () => {
    const table = `| a | b |\n|---|---|\n${"| x | y |\n".repeat(40)}| ${"wide ".repeat(20)} | z |\n`;
    for (const dialect of dialects) {
      for (const { text, plain } of partsOf(table, traits(dialect, 600), render)) {
        expect(shown(text, dialect).length).toBeLessThanOrEqual(600);
        expect(plain.length).toBeLessThanOrEqual(600);
      }
    }
  });
});

describe("a text that grows", () => {
  it("keeps the parts that are full: what is shown of them is not written anew with every block", () => {
    const whole = "a & b < c\n".repeat(300);
    for (const dialect of ["mrkdwn", "plain", "discord"] as const) {
      let before: readonly string[] = [];
      let changed = 0;
      for (let at = 60; at < whole.length; at += 60) {
        const now = partsOf(whole.slice(0, at), traits(dialect, 500), render).map(({ text }) => text);
        changed += before.slice(0, -1).filter((text, index) => now[index] !== text).length;
        before = now;
      }
      // A full part may be cut once more, when what is behind it no longer fits in with it.
      expect(changed, dialect).toBeLessThanOrEqual(before.length);
    }
  });
});

describe("a platform without line breaks", () => {
  it("AUT-A3 gets a message a line, in order, and nothing empty", () => {
    const one = (text: string, dialect = "plain") => partsOf(text, { ...traits(dialect, 100), lines: "one" }, render).map((part) => part.text);
    expect(one("first\nsecond\n\n\nthird")).toEqual(["first", "second", "third"]);
    expect(one("```\na\n\n  b\n```")).toEqual(expect.arrayContaining(["a", "  b"]));
    expect(one("x".repeat(250)).every((line) => line.length <= 100)).toBe(true);
  });

  it("AUT-A3 never gets a line break or more than fits, whatever was written; the beginning stays while a text grows", () => {
    fc.assert(
      fc.property(answers, fc.constantFrom(...dialects), (text, dialect) => {
        for (const { text: line, plain } of partsOf(text, { ...traits(dialect, 120), lines: "one" }, render)) {
          expect(line).not.toMatch(/[\r\n]/);
          expect(plain).not.toMatch(/[\r\n]/);
          expect(lengthIn("utf16", shown(line, dialect))).toBeLessThanOrEqual(120);
        }
      }),
    );
  });
});

describe("a platform that counts what it shows", () => {
  const html: Markup = {
    escapes: { words: { "&": "&amp;" } },
    bold: "<b>{}</b>",
    link: '<a href="{address}">{}</a>',
    quote: "<q>{}</q>",
    bullet: "•",
    counts: "shown",
  };
  const counted = (markdown: string, markup: Markup, maxChars: number) =>
    partsOf(markdown, { markup, maxChars, unit: "utf16" }, render).map(({ text }) => text);

  it("takes words up to its limit, whatever their markup weighs", () => {
    const text = "**123** & [45](http://a.test/)";
    const shown = '<b>123</b> &amp; <a href="http://a.test/">45</a>';
    expect(counted(text, html, 30)).toEqual([shown]);
    const { counts: _, ...sent } = html;
    expect(counted(text, sent, 30).length).toBeGreaterThan(1);
    expect(counted(text, sent, shown.length)).toEqual([shown]);
  });
});
