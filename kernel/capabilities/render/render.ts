import type { Markup } from "@svc/sdk";
import { Marked, type Tokens } from "marked";
import type { LoadedCapability } from "../../base/capability.ts";
import type { ChannelRender } from "../../base/channel-render.ts";
import { fail } from "../../base/errors.ts";
import { FORMER_DIALECTS } from "./former-dialects.ts";
import { cutPieces } from "./split.ts";
import { PLAIN, type Writer, writerOf } from "./writer.ts";

/*
 * Why `marked` is a dependency of the core beside the eleven: every channel needs markdown read in the same way, a parser of our own
 * would be wrong in the corners for years, and a parser in each channel plugin would differ from channel to channel. It has no
 * dependencies and an MIT licence; its lexer alone is used, no HTML is made by it. This file is imported only when a plugin that
 * renders is loaded.
 */
const parser = new Marked({ gfm: true });

type MarkdownNode = Tokens.Generic;

/** Marks that are open around a piece of inline text: most platforms cannot nest one in itself. */
type OpenMarks = ReadonlySet<string>;

const NOTHING_OPEN: OpenMarks = new Set();
const BOLD: OpenMarks = new Set(["bold"]);
/** Addresses rendered as links. Any other stays text. */
const SAFE_ADDRESS = /^(?:https?:\/\/|mailto:|tel:|tg:)/i;

/** The parser takes the square of the number of marks of emphasis in a paragraph: one with more of them comes out as its words. */
const MOST_MARKS = 1_000;
const hasTooManyMarks = (source: string): boolean =>
  source.length > MOST_MARKS && source.split("\n\n").some((paragraph) => (paragraph.match(/[*_~]+/g)?.length ?? 0) > MOST_MARKS);

/** The capability `render`: one for all plugins. */
export function renderCapability(): LoadedCapability<ChannelRender> {
  const render = createRender();
  return { make: () => render };
}

/**
 * Renders markdown. `split` comes first, then `to` for each piece: cutting rendered text would cut marks in half. A text
 * nested too deeply to be read comes out as its words. A blank text has no piece.
 */
export function createRender(): ChannelRender {
  return {
    former: FORMER_DIALECTS,
    split: (markdown, limit, unit) =>
      [...cutPieces(normal(markdown), limit, unit)].filter(({ text }) => text.trim() !== "").map(({ open, text, close }) => open + text + close),
    to(form, markdown) {
      const source = normal(markdown);
      if (form === "markdown") return source;
      const writer = writerOf(form === "plain" ? PLAIN : typeof form === "object" ? form : formerMarkup(form));
      if (hasTooManyMarks(source)) return writer.words(source);
      try {
        return blocks(parser.lexer(source), writer, NOTHING_OPEN).trim();
      } catch {
        return writer.words(source);
      }
    },
  };
}

function formerMarkup(name: string): Markup {
  const markup = Object.hasOwn(FORMER_DIALECTS, name) ? FORMER_DIALECTS[name] : undefined;
  if (markup === undefined) throw fail("SVC_RENDER_DIALECT", { dialect: name, known: ["markdown", "plain", ...Object.keys(FORMER_DIALECTS)].join(", ") });
  return markup;
}

function normal(markdown: string): string {
  return markdown.replace(/\r\n?/g, "\n").replaceAll("\0", "");
}

function blocks(tokens: readonly MarkdownNode[], writer: Writer, open: OpenMarks): string {
  return tokens
    .map((token) => block(token, writer, open))
    .filter((text) => text !== "")
    .join("\n\n");
}

function block(token: MarkdownNode, writer: Writer, open: OpenMarks): string {
  switch (token.type) {
    case "space":
    case "def":
      return "";
    case "heading":
      return writer.heading(inline(token.tokens ?? [], writer, new Set([...open, ...BOLD])), token["depth"]);
    case "code":
      return writer.block(token["text"], /^[\w+#.-]*/.exec(token["lang"] ?? "")?.[0] ?? "");
    case "blockquote": {
      const inner = blocks(token.tokens ?? [], writer, new Set([...open, "quote"]));
      return open.has("quote") ? inner : writer.quote(inner);
    }
    case "list":
      return list(token as Tokens.List, writer, open);
    case "table":
      return writer.block(grid(token as Tokens.Table), "");
    case "hr":
      return writer.rule;
    case "html":
      return raw(token["text"], writer).trim();
    default:
      return inline(token.tokens ?? [token], writer, open);
  }
}

function list({ items, ordered, start }: Tokens.List, writer: Writer, open: OpenMarks): string {
  return items
    .map(({ tokens }: { readonly tokens: readonly MarkdownNode[] }, index) => {
      const parts = tokens
        .filter(({ type }) => type !== "space" && type !== "checkbox")
        .map((token) => {
          const text = block(token, writer, open);
          return token.type === "list" ? text.replace(/^/gm, "  ") : text;
        });
      const box = tokens.find(({ type }) => type === "checkbox") as Tokens.Checkbox | undefined;
      const marker = ordered ? `${Number(start) + index}.` : writer.bullet;
      return `${marker} ${box === undefined ? "" : box.checked ? "☑ " : "☐ "}${parts.join("\n")}`;
    })
    .join("\n");
}

function inline(tokens: readonly MarkdownNode[], writer: Writer, open: OpenMarks): string {
  return tokens.map((token) => span(token, writer, open)).join("");
}

function span(token: MarkdownNode, writer: Writer, open: OpenMarks): string {
  const insideOf = (mark: string) => inline(token.tokens ?? [], writer, new Set([...open, mark]));
  const marked = (mark: "bold" | "italic" | "strike") => (open.has(mark) ? insideOf(mark) : writer[mark](insideOf(mark)));
  switch (token.type) {
    case "strong":
      return marked("bold");
    case "em":
      return marked("italic");
    case "del":
      return marked("strike");
    case "codespan":
      return writer.code(token["text"]);
    case "br":
      return "\n";
    case "link":
    case "image": {
      const words = decoded(token["text"]) || token["href"];
      const inner = token.tokens?.length ? insideOf("link") : writer.words(words);
      return open.has("link") || !SAFE_ADDRESS.test(token["href"]) ? inner : writer.link(inner, token["href"], words);
    }
    case "html":
      return raw(token["text"], writer);
    default:
      return token.type === "text" && token.tokens ? inline(token.tokens, writer, open) : writer.words(decoded(token["text"] ?? token.raw));
  }
}

/** HTML in markdown is words to a chat, but for line breaks and comments. */
function raw(source: string, writer: Writer): string {
  return writer.words(withoutComments(source).replace(/<br\s*\/?>/gi, "\n"));
}

function withoutComments(source: string): string {
  let rest = "";
  let from = 0;
  for (let at = source.indexOf("<!--"); at !== -1; at = source.indexOf("<!--", from)) {
    const end = source.indexOf("-->", at);
    if (end === -1) break;
    rest += source.slice(from, at);
    from = end + 3;
  }
  return rest + source.slice(from);
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
  const words = (cell: Tokens.TableCell) => inline(cell.tokens, writerOf(PLAIN), NOTHING_OPEN).replaceAll("\n", " ");
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
