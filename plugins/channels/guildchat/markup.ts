import type { Markup } from "@svc/sdk";

/** A fence within a block would end it: it gets an invisible break. */
const FENCE = { "```": "``\u200b`" };

/** The markdown that the platform shows, which has no tables and no rules. */
export const GUILD_MARKUP: Markup = {
  escapes: {
    words: { "\\": "\\\\", "*": "\\*", _: "\\_", "~": "\\~", "`": "\\`", "|": "\\|", "<": "\\<" },
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

/** Words that the platform is to show as they are, for agents that write no markup. */
export const shownAsIs = (words: string): string => words.replace(/[\\*_~`|<]/g, "\\$&").replace(/^([^\S\n]*)([>#-])/gm, "$1\\$2");
