import type { Markup } from "@svc/sdk";

const SIGNS = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };

/** The HTML of `parse_mode: HTML`. */
export const HTML: Markup = {
  escapes: { words: SIGNS, code: SIGNS, block: SIGNS, address: { ...SIGNS, '"': "&quot;" } },
  bold: "<b>{}</b>",
  italic: "<i>{}</i>",
  strike: "<s>{}</s>",
  code: "<code>{}</code>",
  block: "<pre>{}</pre>",
  blockWithLanguage: '<pre><code class="language-{language}">{}</code></pre>',
  link: '<a href="{address}">{}</a>',
  headings: ["<b>{}</b>"],
  quote: "<blockquote>{}</blockquote>",
  bullet: "•",
  rule: "———",
  counts: "shown",
};
