import { type HttpRoute, type PluginContext, svcError } from "@svc/sdk";
import { admin } from "./settings-routes.ts";

/** The channels with how they stand, the questions of one that is to be connected, and a message to try it. */
export function channelsRoutes({ settings, tasks, traces }: Pick<PluginContext, "settings" | "tasks" | "traces">): readonly HttpRoute[] {
  return [
    {
      ...admin("GET", "channels"),
      async handle() {
        const { channelViews } = await import("./channel-view.js");
        return { channels: await channelViews(await settings.plugins(), traces) };
      },
    },
    {
      ...admin("GET", "channels/:name/connect"),
      async handle({ params }) {
        const { channelNamed, connectForm } = await import("./channel-view.js");
        const plugin = channelNamed(await settings.plugins(), params["name"] ?? "");
        if (plugin === undefined) throw svcError("SVC_DASHBOARD_CHANNEL", `There is no installed channel '${params["name"]}'.`, { status: 404 });
        return connectForm(plugin);
      },
    },
    {
      ...admin("POST", "channels/:name/message"),
      forPeople: true,
      body: {
        type: "object",
        additionalProperties: false,
        required: ["chat", "text"],
        properties: {
          chat: { type: "string", minLength: 1, maxLength: 500 },
          text: { type: "string", minLength: 1, maxLength: 4_000 },
          account: { type: "string", minLength: 1, maxLength: 200 },
        },
      },
      async handle({ params, body }) {
        const { chat, text, account } = body as { chat: string; text: string; account?: string };
        const target = { channel: params["name"] ?? "", chat, ...(account === undefined ? {} : { account }) };
        const { id, sent } = await tasks.deliver({ kind: "notice", target, text });
        const late = new Promise<undefined>((resolve) => setTimeout(resolve, SENT_MS, undefined).unref());
        const answer = await Promise.race([sent, late]);
        return { id, ...(answer === undefined ? { waiting: true } : { platformId: answer.platformId }) };
      },
    },
  ];
}

/** How long a page waits for a message to leave; it goes on by itself after that. */
const SENT_MS = 15_000;
