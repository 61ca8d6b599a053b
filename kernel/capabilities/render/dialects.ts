/** How one platform writes what markdown means. Inner texts are rendered already; `text` and `code` get the words as they are. */
export interface Markup {
  text(words: string): string;
  strong(inner: string): string;
  emphasis(inner: string): string;
  struck(inner: string): string;
  code(words: string): string;
  block(words: string, language: string): string;
  link(inner: string, address: string, words: string): string;
  heading(inner: string, depth: number): string;
  quote(inner: string): string;
  /** Tables have no markup anywhere: a grid of words, in a block where there is one. */
  table(grid: string): string;
  readonly bullet: string;
  readonly rule: string;
}

const html = (words: string) => words.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
const attribute = (words: string) => html(words).replaceAll('"', "&quot;");
const around = (mark: string) => (inner: string) => `${mark}${inner}${mark}`;
const same = (words: string) => words;
const quoted = (inner: string) => inner.replace(/^/gm, "> ");
/** A fence within the words would end the block: these platforms know no longer ones, so it gets an invisible break. */
const fenced = (words: string, language = "") => `\`\`\`${language}\n${words.replaceAll("```", "``\u200b`")}\n\`\`\``;
/** The address says no more than the words. */
const bare = (address: string, words: string) => words === address || `mailto:${words}` === address;
const named = (inner: string, address: string, words: string) => (bare(address, words) ? words : `${inner} (${address})`);

const plain: Markup = {
  text: same,
  strong: same,
  emphasis: same,
  struck: same,
  code: same,
  block: same,
  link: named,
  heading: same,
  quote: quoted,
  table: same,
  bullet: "-",
  rule: "---",
};

const telegram: Markup = {
  text: html,
  strong: (inner) => `<b>${inner}</b>`,
  emphasis: (inner) => `<i>${inner}</i>`,
  struck: (inner) => `<s>${inner}</s>`,
  code: (words) => `<code>${html(words)}</code>`,
  block: (words, language) =>
    language === "" ? `<pre>${html(words)}</pre>` : `<pre><code class="language-${attribute(language)}">${html(words)}</code></pre>`,
  link: (inner, address) => `<a href="${attribute(address)}">${inner}</a>`,
  heading: (inner) => `<b>${inner}</b>`,
  quote: (inner) => `<blockquote>${inner}</blockquote>`,
  table: (grid) => `<pre>${html(grid)}</pre>`,
  bullet: "•",
  rule: "———",
};

const slack: Markup = {
  text: html,
  strong: around("*"),
  emphasis: around("_"),
  struck: around("~"),
  code: (words) => around("`")(html(words)),
  block: (words) => fenced(html(words)),
  link: (inner, address) =>
    `<${html(address.replaceAll("|", "%7C").replaceAll("<", "%3C").replaceAll(">", "%3E"))}|${inner.replaceAll("|", "¦").replaceAll("\n", " ")}>`,
  heading: around("*"),
  quote: quoted,
  table: (grid) => fenced(html(grid)),
  bullet: "•",
  rule: "———",
};

const discord: Markup = {
  text: (words) => words.replace(/[\\*_~`|]/g, "\\$&").replace(/^([>#-])/gm, "\\$1"),
  strong: around("**"),
  emphasis: around("*"),
  struck: around("~~"),
  code: (words) => (words.includes("`") ? `\`\` ${words} \`\`` : around("`")(words)),
  block: fenced,
  link: (inner, address, words) => (bare(address, words) ? words : `[${inner.replace(/[[\]]/g, "\\$&")}](${address.replace(/[()\s]/g, encode)})`),
  heading: (inner, depth) => (depth <= 3 ? `${"#".repeat(depth)} ${inner}` : around("**")(inner)),
  quote: quoted,
  table: (grid) => fenced(grid),
  bullet: "-",
  rule: "———",
};

const whatsapp: Markup = {
  ...plain,
  strong: around("*"),
  emphasis: around("_"),
  struck: around("~"),
  code: around("`"),
  block: (words) => fenced(words),
  heading: around("*"),
  table: (grid) => fenced(grid),
  rule: "———",
};

function encode(character: string): string {
  return `%${character.charCodeAt(0).toString(16).padStart(2, "0").toUpperCase()}`;
}

/** The dialects that markdown is rendered to; `markdown` itself needs none. */
export const MARKUPS: Readonly<Record<string, Markup>> = { plain, "html-telegram": telegram, mrkdwn: slack, discord, whatsapp };
