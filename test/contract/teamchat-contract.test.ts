import { type ChannelFault, channelContract } from "@svc/sdk/testing";
import { describe, it } from "vitest";
import plugin from "../../plugins/channels/teamchat/index.ts";
import type { ApiFault } from "../kit/teamchat/server.ts";
import type { Block } from "../kit/teamchat/world.ts";
import { ADA, BOT, CHANNEL, DIRECT, MALLORY, STRANGE, setStage } from "./teamchat.harness.ts";

const FAULTS: Record<ChannelFault, ApiFault> = {
  limited: { status: 429, retryAfter: 7 },
  unavailable: { status: 503 },
  forbidden: { error: "is_archived" },
  markup: { error: "invalid_blocks" },
  cut: "cut",
};

const buttonsOf = (blocks: readonly Block[] = []) =>
  blocks
    .filter(({ type }) => type === "actions")
    .flatMap(({ elements = [] }) => elements)
    .map(({ text, value }) => ({ label: (text as { text: string }).text, data: String(value) }));

channelContract({ describe, it }, async () => {
  const { far, context, stop } = await setStage();
  const faults: ApiFault[] = [];
  let hanging = false;
  let writes = 0;
  far.fault = () => {
    writes += 1;
    return hanging ? "hang" : faults.shift();
  };
  return {
    plugin: plugin as never,
    context: context as never,
    dispose: async () => {
      await stop();
      // No call and no frame was one that the platform does not know.
      if (far.violations.length + far.sockets.problems.length + far.strayTokens.length > 0)
        throw new Error([...far.violations, ...far.sockets.problems, ...far.strayTokens].join("\n"));
    },
    far: {
      target: { channel: "teamchat", account: "main", chat: DIRECT },
      retryAfterMs: 7_000,
      shown: () =>
        far.shown(DIRECT).map((post) => ({
          platformId: post.ts,
          text: post.files.length > 0 ? "" : post.words,
          buttons: buttonsOf(post.blocks),
          ...(post.files[0] === undefined ? {} : { file: post.files[0].data }),
        })),
      press: async ({ platformId, data, from }) => far.press({ user: from === "friend" ? ADA : MALLORY, room: DIRECT, ts: platformId, value: data }),
      fail: (fault, times) => void faults.push(...Array<ApiFault>(times).fill(FAULTS[fault])),
      hang: () => void (hanging = true),
      writes: () => writes,
      async say({ text, from, where, mention, file }) {
        const user = from === "friend" ? ADA : from === "stranger" ? MALLORY : BOT;
        const room = where === "group" ? CHANNEL : from === "stranger" ? STRANGE : DIRECT;
        const words = mention ? `<@${BOT}> ${text}` : text;
        const escaped = mention ? words : words.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
        const files = file === undefined ? [] : [{ name: file.name, data: file.data, mimetype: "application/octet-stream" }];
        return { platformId: far.say(room, { user, text: escaped, files }).ts };
      },
      repeat: async () => far.repeat(),
      async drop(refuse = false) {
        far.refuse(refuse);
        far.cutAll();
      },
      attempts: () => far.calls.filter(({ method }) => method === "apps.connections.open").length + far.sockets.attempts(),
    },
  };
});
