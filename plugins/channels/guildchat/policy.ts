import { type Agent, plainHandle } from "@svc/sdk";
import type { Heard } from "./map.ts";
import type { Settings } from "./settings.ts";

/** Why a message is not taken, where it is not. `roles` asks for the roles of its sender where the message does not name them. */
export async function whyNot(heard: Heard, settings: Settings, roles: () => Promise<readonly string[]>): Promise<string | undefined> {
  const { message, addressed, named, bot, guild } = heard;
  const { allowFrom = [], dm, group } = settings;
  const sender = message.sender?.id ?? "";
  const choice = message.choice !== undefined;
  if (allowFrom.length === 0) return `no allowFrom list is set (the sender is ${sender})`;
  const listed = allowFrom.includes(sender);
  // A program is let in by its own id only: a guild is full of them.
  if (bot && !listed) return `the sender ${sender} is a bot that is not in allowFrom`;
  if (message.direct === true) {
    if (dm === "block") return "direct messages are blocked";
    return listed ? undefined : `the sender ${sender} is not in allowFrom`;
  }
  if (!listed && !(await letIn(heard, allowFrom, guild, roles))) return `the sender ${sender} is not in allowFrom`;
  if (bot && !named && !choice) return "a bot must name this bot";
  return group === "all" || addressed ? undefined : "the bot is not mentioned";
}

async function letIn(
  { message, roles: known }: Heard,
  list: readonly string[],
  guild: string | undefined,
  ask: () => Promise<readonly string[]>,
): Promise<boolean> {
  const { chat, thread } = message;
  if (list.includes(`guild:${guild}`) || list.includes(`channel:${chat}`) || list.includes(`channel:${thread}`)) return true;
  const wanted = list.filter((entry) => entry.startsWith("role:"));
  if (wanted.length === 0 || guild === undefined) return false;
  const has = known ?? (await ask());
  return wanted.some((entry) => has.includes(entry.slice(5)));
}

/** The agent that a message means: another one's mention wins over the binding, the bot's own name over both. */
export function agentMeant({ message, named }: Heard, bound: string, agents: readonly Agent[]): string {
  if (named) return bound;
  const mentions = new Set(message.mentions);
  return agents.find(({ mentions: handles }) => handles.some((handle) => mentions.has(plainHandle(handle))))?.id ?? bound;
}
