import type { Inbound, PluginContext, Route } from "@svc/sdk";
import type { TargetFacts } from "./target.ts";

/** Whether a peer of that name is known. */
export const isPeer = (node: string, { services }: Pick<PluginContext, "services">): boolean =>
  services
    .get("peers")
    ?.list()
    .some(({ name }) => name === node) ?? false;

/** Deliveries of entries with `node` are worked on by the agent of that peer: stored here first, then handed over by the plugin that connects nodes. */
export function addForwarding(ctx: Pick<PluginContext, "hooks">, { entries }: Pick<TargetFacts, "entries">): void {
  ctx.hooks.route.tap((message): Route | undefined => {
    const node = entryOf(message, entries)?.node;
    if (node === undefined) return undefined;
    const { agent = "", channel, chat } = message;
    return { agent, node, conversation: `${node}/${agent}:${channel}:${chat}`, reply: { channel, chat } };
  });
}

const entryOf = ({ entry, channel, chat }: Inbound, entries: TargetFacts["entries"]) =>
  entry === "webhook" && channel === "webhook" ? entries().find(({ id }) => id === chat) : undefined;
