import type { Inbound, Route } from "@svc/sdk";
import { CHANNEL, NODE } from "./agent-effect.ts";

/** Where the turn of a step runs whose agent is written `id@node`. */
export function routeOf({ agent = "", chat, facts }: Inbound): Route | undefined {
  const node = facts?.[NODE];
  if (typeof node !== "string" || agent === "") return undefined;
  return { agent, node, conversation: `${agent}@${node}:${CHANNEL}::${chat}`, reply: { channel: CHANNEL, chat } };
}
