import type { Render } from "@svc/sdk";
import { Marked, type Tokens } from "marked";
import { fail } from "../../base/errors.ts";
import { MARKUPS, type Markup } from "./dialects.ts";
import { cutPieces } from "./split.ts";

/*
 * Why `marked` is a dependency of the core beside the eleven: every channel needs markdown read in the same way, a parser of our own
 * would be wrong in the corners for years, and a parser in each channel plugin would differ from channel to channel. It has no
 * dependencies and an MIT licence; its lexer alone is used, no HTML is made by it. This file is imported only when a plugin that
 * renders is loaded.
 */
const parser = new Marked({ gfm: true });

type Node = Tokens.Generic;

/** Marks that are open around a piece of inline text: most platforms cannot nest one in itself. */
type Open = ReadonlySet<string>;

const NOTHING_OPEN: Open = new Set();
const BOLD: Open = new Set(["strong"]);
/** What may be clicked. Anything else stays words. */
const SAFE_ADDRESS = /^(?:https?:\/\/|mailto:|tel:|tg:)/i;

/**
 * The capability `render`. `split` comes first, then `to` for each piece: cutting rendered text would cut marks in half. A text
 * nested too deeply to be read comes out as its words. A blank text has no piece.
 */
export function createRender(): Render {
  return {
    split: (markdown, limit, unit) =>
      [...cutPieces(normal(markdown), limit, unit)].filter(({ text }) => text.trim() !== "").map(({ open, text, close }) => open + text + close),
    to(dialect, markdown) {
      const source = normal(markdown);
      if (dialect === "markdown") return source;
      const markup = Object.hasOwn(MARKUPS, dialect) ? MARKUPS[dialect] : undefined;
      if (markup === undefined) throw fail("SVC_RENDER_DIALECT", { dialect, known: ["markdown", ...Object.keys(MARKUPS)].join(", ") });
      try {
        return blocks(parser.lexer(source), markup, NOTHING_OPEN).trim();
      } catch {
        return markup.text(source);
      }
    },
  };
}

function normal(markdown: string): string {
  return markdown.replace(/\r\n?/g, "\n").replaceAll("\0", "");
}

function blocks(tokens: readonly Node[], markup: Markup, open: Open): string {
  return tokens
    .map((token) => block(token, markup, open))
    .filter((text) => text !== "")
    .join("\n\n");
}

function block(token: Node, markup: Markup, open: Open): string {
  switch (token.type) {
    case "space":
    case "def":
      return "";
    case "heading":
      return markup.heading(inline(token.tokens ?? [], markup, new Set([...open, ...BOLD])), token["depth"]);
    case "code":
      return markup.block(token["text"], /^[\w+#.-]*/.exec(token["lang"] ?? "")?.[0] ?? "");
    case "blockquote": {
      const inner = blocks(token.tokens ?? [], markup, new Set([...open, "quote"]));
      return open.has("quote") ? inner : markup.quote(inner);
    }
    case "list":
      return list(token as Tokens.List, markup, open);
    case "table":
      return markup.table(grid(token as Tokens.Table));
    case "hr":
      return markup.rule;
    case "html":
      return raw(token["text"], markup).trim();
    default:
      return inline(token.tokens ?? [token], markup, open);
  }
}

function list({ items, ordered, start }: Tokens.List, markup: Markup, open: Open): string {
  return items
    .map(({ tokens }: { readonly tokens: readonly Node[] }, index) => {
      const parts = tokens
        .filter(({ type }) => type !== "space" && type !== "checkbox")
        .map((token) => {
          const text = block(token, markup, open);
          return token.type === "list" ? text.replace(/^/gm, "  ") : text;
        });
      const box = tokens.find(({ type }) => type === "checkbox") as Tokens.Checkbox | undefined;
      const marker = ordered ? `${Number(start) + index}.` : markup.bullet;
      return `${marker} ${box === undefined ? "" : box.checked ? "☑ " : "☐ "}${parts.join("\n")}`;
    })
    .join("\n");
}

function inline(tokens: readonly Node[], markup: Markup, open: Open): string {
  return tokens.map((token) => span(token, markup, open)).join("");
}

function span(token: Node, markup: Markup, open: Open): string {
  const within = (mark: string) => inline(token.tokens ?? [], markup, new Set([...open, mark]));
  const marked = (mark: "strong" | "emphasis" | "struck") => (open.has(mark) ? within(mark) : markup[mark](within(mark)));
  switch (token.type) {
    case "strong":
      return marked("strong");
    case "em":
      return marked("emphasis");
    case "del":
      return marked("struck");
    case "codespan":
      return markup.code(token["text"]);
    case "br":
      return "\n";
    case "link":
    case "image": {
      const words = decoded(token["text"]) || token["href"];
      const inner = token.tokens?.length ? within("link") : markup.text(words);
      return open.has("link") || !SAFE_ADDRESS.test(token["href"]) ? inner : markup.link(inner, token["href"], words);
    }
    case "html":
      return raw(token["text"], markup);
    default:
      return token.type === "text" && token.tokens ? inline(token.tokens, markup, open) : markup.text(decoded(token["text"] ?? token.raw));
  }
}

/** HTML in markdown is words to a chat, but for line breaks and comments. */
function raw(source: string, markup: Markup): string {
  return markup.text(source.replace(/<!--[\s\S]*?-->/g, "").replace(/<br\s*\/?>/gi, "\n"));
}

const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0" };

function decoded(words: string): string {
  return words.replace(/&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|([a-z]+));/g, (entity, decimal?: string, hex?: string, name?: string) => {
    if (name !== undefined) return (Object.hasOwn(ENTITIES, name) ? ENTITIES[name] : undefined) ?? entity;
    const code = decimal === undefined ? Number.parseInt(hex ?? "", 16) : Number(decimal);
    const none = code === 0 || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff);
    return none ? "\ufffd" : String.fromCodePoint(code);
  });
}

function grid({ header, rows, align }: Tokens.Table): string {
  const words = (cell: Tokens.TableCell) => inline(cell.tokens, MARKUPS["plain"] as Markup, NOTHING_OPEN).replaceAll("\n", " ");
  const cells = [header, ...rows].map((row) => row.map(words));
  const widths = header.map((_, column) => Math.max(3, ...cells.map((row) => [...(row[column] ?? "")].length)));
  const lines = cells.map((row) =>
    widths
      .map((width, column) => padded(row[column] ?? "", width, align[column]))
      .join("  ")
      .trimEnd(),
  );
  lines.splice(1, 0, widths.map((width) => "-".repeat(width)).join("  "));
  return lines.join("\n");
}

function padded(words: string, width: number, align: "center" | "left" | "right" | null | undefined): string {
  const room = width - [...words].length;
  const before = align === "right" ? room : align === "center" ? Math.floor(room / 2) : 0;
  return " ".repeat(before) + words + " ".repeat(room - before);
}
