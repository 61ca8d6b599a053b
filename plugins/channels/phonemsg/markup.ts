import type { Markup } from "@svc/sdk";

/** The platform's markup. It has no escape character. */
export const MARKUP: Markup = {
  bold: "*{}*",
  italic: "_{}_",
  strike: "~{}~",
  code: "`{}`",
  codeWithTicks: "```{}```",
  block: "```{}```",
  link: "{} ({address})",
  linkOnce: true,
  headings: ["*{}*"],
  quote: "> ",
  bullet: "-",
  rule: "---",
};
