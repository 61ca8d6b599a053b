import type { Agent } from "@svc/sdk";
import type { Heard } from "./map.ts";
import type { NamedWorkspace, Settings } from "./settings.ts";

/**
 * Returns why a message is dropped before further handling; undefined: it is accepted. Closed by default: without a list no sender is admitted, and a
 * workspace's own list replaces the section's, also when it is empty.
 */
export function refusalOf(heard: Heard, { allowFrom }: Pick<NamedWorkspace, "allowFrom">, { dm, group }: Pick<Settings, "dm" | "group">): string | undefined {
  const { sender, chat, direct } = heard.message;
  if (allowFrom === undefined || allowFrom.length === 0) return `no allowFrom list is set (the sender is ${sender.id})`;
  const listed = allowFrom.some(
    (entry) => entry === sender.id || (heard.teams.length > 0 && heard.teams.every((team) => team === entry)) || (!direct && entry === chat),
  );
  if (!listed) return `the sender ${sender.id} is not in allowFrom`;
  if (direct) return dm === "block" ? "direct messages are blocked" : undefined;
  return group === "all" || heard.addressed ? undefined : "the bot is not mentioned";
}

/**
 * The agent that a message means: another one's mention wins over the workspace's own agent, unless that agent has a bot of its own here
 * and so is asked by that. The bot's own mention wins over both.
 */
export function agentMeant({ named, message }: Heard, bound: string, agents: readonly Agent[], boundElsewhere: ReadonlySet<string>): string {
  if (named) return bound;
  const mentions = new Set(message.mentions);
  const meant = agents.find((agent) => agent.mentions.some((handle) => mentions.has(handle.replace(/^@/, "").toLowerCase())));
  return meant === undefined || boundElsewhere.has(meant.id) ? bound : meant.id;
}
