import { type ChannelFault, channelContract } from "@svc/sdk/testing";
import { describe, it } from "vitest";
import plugin from "../../plugins/channels/guildchat/index.ts";
import { type RestFault, tooMany } from "../kit/guildchat/server.ts";
import { badForm, refusal } from "../kit/guildchat/wire.ts";
import { setStage } from "./guildchat.harness.ts";

const FAULTS: Record<ChannelFault, RestFault> = {
  limited: tooMany(7),
  unavailable: { status: 502, body: { message: "502: Bad Gateway", code: 0 } },
  forbidden: refusal(403, 50_001, "Missing Access"),
  markup: badForm("content", "BASE_TYPE_MAX_LENGTH", "Must be 2000 or fewer in length."),
  cut: "cut",
};

const WRITES = new Set(["POST", "PATCH", "PUT", "DELETE"]);

interface Row {
  readonly components?: readonly { readonly label: string; readonly custom_id: string }[];
}

channelContract(
  { describe, it },
  async () => {
    const { far: server, context, friend, stranger, general, direct, ...stage } = await setStage();
    const { world } = server;
    const faults: RestFault[] = [];
    let writes = 0;
    let hanging = false;
    server.fault = ({ method, path }) => {
      if (!WRITES.has(method) || !/^\/channels\//.test(path) || path.endsWith("/typing")) return undefined;
      writes += 1;
      return hanging ? "hang" : faults.shift();
    };
    const strangersPlace = world.direct(server.bot.id, stranger.id);
    return {
      plugin: plugin as never,
      context: context as never,
      dispose: async () => {
        await stage.stop();
      },
      far: {
        target: { channel: "guildchat", chat: direct.id },
        retryAfterMs: 7_000,
        shown: () =>
          world
            .at(direct.id)
            .filter(({ author }) => author === server.bot.id)
            .map(({ id, content, components, files }) => ({
              platformId: id,
              text: content,
              buttons: (components as readonly Row[]).flatMap(({ components: row = [] }) => row.map(({ label, custom_id: data }) => ({ label, data }))),
              ...(files[0] === undefined ? {} : { file: files[0].data }),
            })),
        press: async ({ platformId, data, from }) => void server.press({ message: platformId, data, from: from === "friend" ? friend.id : stranger.id }),
        fail: (fault: ChannelFault, times: number) => void faults.push(...Array<RestFault>(times).fill(FAULTS[fault])),
        hang: () => void (hanging = true),
        writes: () => writes,
        async say({ text, from, where, mention, file }) {
          const place = where === "group" ? general : from === "stranger" ? strangersPlace : direct;
          const author = from === "friend" ? friend : from === "stranger" ? stranger : server.bot;
          const { id } = server.say({
            place: place.id,
            from: author.id,
            text: mention ? `<@${server.bot.id}> ${text}` : text,
            ...(file === undefined ? {} : { files: [file] }),
          });
          return { platformId: id };
        },
        repeat: async () => server.gateway.repeat(),
        async drop(refuse = false) {
          server.gateway.open = !refuse;
          server.gateway.cut();
        },
        attempts: () => server.gateway.counts.connections,
      },
    };
  },
  // The gateway acknowledges nothing: what was said is read again from the history.
  { lacks: ["redelivery"] },
);
