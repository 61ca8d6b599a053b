import type { Markup } from "@svc/sdk";

const SIGNS = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };

/** The platform's own markup. Three signs are escaped, so nothing in an answer is a mention; the signs of bold and the like cannot be. */
export const MRKDWN: Markup = {
  escapes: {
    words: SIGNS,
    code: SIGNS,
    // A fence within a block would end it.
    block: { ...SIGNS, "```": "``\u200b`" },
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

/** Words as they are, for a place that reads markup. */
export const escaped = (text: string): string => text.replace(/[&<>]/g, (sign) => SIGNS[sign as keyof typeof SIGNS]);

/** Returns standard markdown without notifications: an invisible character breaks the openings of mentions. */
export const unalerting = (markdown: string): string => markdown.replace(/<(?=!(?:channel|here|everyone|group|subteam)|@[UWB][A-Z0-9])/g, "<\u200b");
