import type { Markup } from "@svc/sdk";

/*
 * Generation 1 of the plugin API let a channel name its platform's markup. Channels built against it still do, and get these; a channel written today
 * provides its own (`traits.markup`). Nothing is added here, and all of it is removed with `API_FLOOR` 2.
 */
const HTML = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };
/** A fence within the text would end the block: break it with an invisible character. */
const FENCE = { "```": "``\u200b`" };

const telegram: Markup = {
  escapes: { words: HTML, code: HTML, block: HTML, address: { ...HTML, '"': "&quot;" } },
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

const slack: Markup = {
  escapes: {
    words: HTML,
    code: HTML,
    block: { ...HTML, ...FENCE },
    label: { "|": "¦", "\n": " " },
    address: { "|": "%7C", "<": "%3C", ">": "%3E", "&": "&amp;" },
  },
  bold: "*{}*",
  italic: "_{}_",
  strike: "~{}~",
  code: "`{}`",
  block: "```\n{}\n```",
  link: "<{address}|{}>",
  headings: ["*{}*"],
  bullet: "•",
  rule: "———",
};

const discord: Markup = {
  escapes: {
    words: { "\\": "\\\\", "*": "\\*", _: "\\_", "~": "\\~", "`": "\\`", "|": "\\|" },
    lineStart: { ">": "\\>", "#": "\\#", "-": "\\-" },
    block: FENCE,
    label: { "[": "\\[", "]": "\\]" },
    address: { "(": "%28", ")": "%29", " ": "%20", "\t": "%09", "\n": "%0A" },
  },
  bold: "**{}**",
  italic: "*{}*",
  strike: "~~{}~~",
  code: "`{}`",
  codeWithTicks: "`` {} ``",
  block: "```\n{}\n```",
  blockWithLanguage: "```{language}\n{}\n```",
  link: "[{}]({address})",
  linkOnce: true,
  headings: ["# {}", "## {}", "### {}", "**{}**"],
  rule: "———",
};

const whatsapp: Markup = {
  escapes: { block: FENCE },
  bold: "*{}*",
  italic: "_{}_",
  strike: "~{}~",
  code: "`{}`",
  block: "```\n{}\n```",
  headings: ["*{}*"],
  rule: "———",
};

/** The markup of each name that generation 1 of the plugin API knew. */
export const FORMER_DIALECTS: Readonly<Record<string, Markup>> = { "html-telegram": telegram, mrkdwn: slack, discord, whatsapp };
