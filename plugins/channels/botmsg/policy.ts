import { type Agent, plainHandle } from "@svc/sdk";
import type { Heard } from "./map.ts";
import type { AccountSettings, Policy } from "./settings.ts";

/** Decision about a message before further handling. */
export type Verdict = { readonly kind: "take" } | { readonly kind: "drop"; readonly reason: string } | { readonly kind: "pair" };

/** Stored facts about senders. */
export interface Known {
  /** The operator has confirmed this person for direct messages. */
  paired(senderId: string): Promise<boolean>;
  /** The id that a listed handle stands for, fixed when it was first seen: a handle that changes hands opens nothing. */
  pin(handle: string, senderId: string): Promise<string>;
}

/**
 * Checks a message. Closed by default: without a list no sender is admitted, and an account's own list replaces the global one, also when it is
 * empty. In a direct conversation an allowed person must also be paired; in a group the bot must be addressed.
 */
export async function judge(heard: Heard, account: AccountSettings, policy: Policy, known: Known): Promise<Verdict> {
  const refusal = await refusalOf(heard, account.allowFrom ?? policy.allowFrom, known);
  if (refusal !== undefined) return { kind: "drop", reason: refusal };
  if (heard.message.direct) {
    if (policy.dm === "block") return { kind: "drop", reason: "direct messages are blocked" };
    if (!(await known.paired(heard.message.sender?.id ?? ""))) return { kind: "pair" };
    return { kind: "take" };
  }
  if (policy.group !== "all" && !heard.addressed) return { kind: "drop", reason: "the bot is not mentioned" };
  return { kind: "take" };
}

async function refusalOf({ message }: Heard, list: readonly string[] | undefined, known: Known): Promise<string | undefined> {
  const { sender, chat } = message;
  if (list === undefined) return `no allowFrom list is set${sender === undefined ? "" : ` (the sender is ${sender.id})`}`;
  if (sender === undefined || sender.id === "") return "it has no sender";
  if (list.some((entry) => isId(entry) && (entry === sender.id || (entry.startsWith("-") && entry === chat)))) return undefined;
  const handle = sender.handle === undefined ? undefined : plainHandle(sender.handle);
  if (handle === undefined || handle === "" || !list.some((entry) => !isId(entry) && plainHandle(entry) === handle))
    return `the sender ${sender.id} is not in allowFrom`;
  return (await known.pin(handle, sender.id)) === sender.id ? undefined : "a listed handle now belongs to somebody else; list the user id instead";
}

const isId = (entry: string) => /^-?\d+$/.test(entry);

/**
 * The agent that a message means: another one's mention wins over the account's binding, unless that agent has an account here and
 * so is asked there. The own handle wins over both.
 */
export function agentMeant(heard: Heard, bound: string, agents: readonly Agent[], boundElsewhere: ReadonlySet<string>): string {
  if (heard.named) return bound;
  const mentions = new Set(heard.message.mentions);
  const meant = agents.find((agent) => agent.mentions.some((handle) => mentions.has(plainHandle(handle))));
  return meant === undefined || boundElsewhere.has(meant.id) ? bound : meant.id;
}
