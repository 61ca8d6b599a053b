import type { Markup } from "@svc/sdk";

/** How the platform writes what markdown means. It has no way to say that a sign is meant as it stands. */
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
