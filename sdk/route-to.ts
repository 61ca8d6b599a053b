import type { Inbound, Route } from "./messages.ts";

/** Entries whose caller waits for the answer itself: their channel says where the conversation belongs, not where to send. */
const ANSWERED_DIRECTLY: ReadonlySet<string> = new Set(["task", "ask"]);

/** Returns the kernel's default route of a message to an agent of this daemon: a tap of `route` may choose the agent alone. */
export function routeTo(agent: string, { entry, channel, chat, account, thread, platformId }: Omit<Inbound, "agent">): Route {
  return {
    agent,
    conversation: [agent, channel, account ?? "", chat, ...(thread === undefined ? [] : [thread])].join(":"),
    reply: {
      channel: ANSWERED_DIRECTLY.has(entry) ? "http" : channel,
      chat,
      ...(account === undefined ? {} : { account }),
      ...(thread === undefined ? {} : { thread }),
      ...(platformId === undefined ? {} : { replyTo: platformId }),
    },
  };
}
