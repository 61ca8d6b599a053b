import { canonicalId } from "./chat-id.ts";
import type { TriageRule } from "./settings.ts";

/** Chat and sender of a message. */
export interface Origin {
  readonly chat: string;
  readonly sender: string;
}

/** The first enabled rule that the message matches; one with chats and senders needs both (PHN-06). */
export function ruleFor(rules: readonly TriageRule[], { chat, sender }: Origin): TriageRule | undefined {
  const [where, who] = [canonicalId(chat), canonicalId(sender)];
  const has = (list: readonly string[], id: string) => list.length === 0 || list.some((one) => canonicalId(one) === id);
  return rules.find(({ enabled, chats = [], senders = [] }) => enabled && chats.length + senders.length > 0 && has(chats, where) && has(senders, who));
}
