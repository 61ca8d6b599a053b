import { type HttpRoute, type PluginContext, svcError } from "@svc/sdk";
import type { ChannelSetups } from "./channel-setups.ts";
import { admin, whoIs } from "./settings-routes.ts";

/** The channels with how they stand, the set-up of one that is to be connected, and a message to try it. */
export function channelsRoutes(ctx: Pick<PluginContext, "settings" | "tasks" | "traces" | "fetch" | "env" | "signal">): readonly HttpRoute[] {
  const { settings, tasks, traces } = ctx;
  let setups: ChannelSetups | undefined;
  const open = async () => {
    setups ??= (await import("./channel-setups.js")).createChannelSetups(ctx);
    return setups;
  };
  const installed = async (name = "") => {
    const { channelNamed } = await import("./channel-view.js");
    const plugin = channelNamed(await settings.plugins(), name);
    if (plugin === undefined) throw svcError("SVC_DASHBOARD_CHANNEL", `There is no installed channel '${name}'.`, { status: 404 });
    return plugin;
  };
  return [
    {
      ...admin("GET", "channels"),
      async handle() {
        const { channelViews, offeredChannels } = await import("./channel-view.js");
        return { channels: await channelViews(await settings.plugins(), traces), offered: offeredChannels(await settings.offered()) };
      },
    },
    {
      ...admin("GET", "channels/:name/connect"),
      async handle({ params }) {
        const { connectForm } = await import("./channel-view.js");
        return connectForm(await installed(params["name"]));
      },
    },
    {
      ...admin("POST", "channels/:name/setup"),
      forPeople: true,
      body: { type: "object", additionalProperties: false, properties: { server: { type: "string", minLength: 1, maxLength: 500 } } },
      async handle({ params, body, caller }) {
        return (await open()).begin(await installed(params["name"]), params["name"] ?? "", body as { server?: string }, whoIs(caller));
      },
    },
    { ...admin("GET", "setups/:id"), handle: async ({ params }) => (await open()).look(params["id"] ?? "") },
    {
      ...admin("POST", "setups/:id/answer"),
      forPeople: true,
      body: {
        type: "object",
        additionalProperties: false,
        required: ["number", "value"],
        properties: { number: { type: "integer", minimum: 1 }, value: { type: "string", maxLength: 20_000 } },
      },
      async handle({ params, body }) {
        const { number, value } = body as { number: number; value: string };
        return (await open()).answer(params["id"] ?? "", number, value);
      },
    },
    { ...admin("DELETE", "setups/:id"), handle: async ({ params }) => (await open()).end(params["id"] ?? "") },
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

/** Time that a page waits for a message to be sent; after that it is sent in the background. */
const SENT_MS = 15_000;
