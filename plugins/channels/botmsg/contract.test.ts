import { type ChannelFault, channelContract } from "@svc/sdk/testing";
import { describe, it } from "vitest";
import { type Fault, FRIEND } from "./bot-api.harness.ts";
import { GROUP, setStage, TOKEN } from "./botmsg.harness.ts";
import plugin from "./index.ts";

const FAULTS: Record<ChannelFault, Fault> = {
  limited: { code: 429, description: "Too Many Requests: retry after 7", parameters: { retry_after: 7 } },
  unavailable: { code: 502, description: "Bad Gateway" },
  forbidden: { code: 403, description: "Forbidden: bot was blocked by the user" },
  markup: { code: 400, description: "Bad Request: can't parse entities: Unsupported start tag" },
  cut: "cut",
};

const buttonsOf = (markup: unknown) =>
  ((markup as { inline_keyboard?: { text: string; callback_data: string }[][] } | undefined)?.inline_keyboard ?? [])
    .flat()
    .map(({ text, callback_data }) => ({ label: text, data: callback_data }));

channelContract(
  { describe, it },
  async () => {
    const { api, context } = await setStage();
    const stranger = { id: 666, is_bot: false, first_name: "Mallory" };
    const itself = { id: 42, is_bot: true, first_name: "helper_bot", username: "helper_bot" };
    api.addChat(stranger.id);
    let writes = 0;
    let attempts = 0;
    const faults: Fault[] = [];
    let hanging = false;
    api.fault = () => {
      writes += 1;
      return hanging ? "hang" : faults.shift();
    };
    const far = {
      target: { channel: "botmsg", account: "main", chat: String(FRIEND.id) },
      retryAfterMs: 7_000,
      shown: () =>
        api.shown.map(({ id, text, file, markup }) => ({
          platformId: String(id),
          text,
          buttons: buttonsOf(markup),
          ...(file === undefined ? {} : { file: file.data }),
        })),
      press: async ({ platformId, data, from }: { platformId: string; data: string; from: string }) =>
        api.press(TOKEN, { from: from === "friend" ? FRIEND : stranger, message: Number(platformId), data }),
      fail: (fault: ChannelFault, times: number) => void faults.push(...Array<Fault>(times).fill(FAULTS[fault])),
      hang: () => void (hanging = true),
      writes: () => writes,
      async say({
        text,
        from,
        where,
        mention,
        file,
      }: {
        text: string;
        from: string;
        where: string;
        mention?: boolean;
        file?: { name: string; data: Uint8Array };
      }) {
        const person = from === "friend" ? FRIEND : from === "stranger" ? stranger : itself;
        const chat = where === "group" ? GROUP : from === "stranger" ? stranger.id : FRIEND.id;
        const words = mention ? `@helper_bot ${text}` : text;
        if (file === undefined) return { platformId: String(api.say(TOKEN, { chat, from: person, text: words })) };
        api.addFile("BQAD-1", file.data);
        return {
          platformId: String(
            api.say(TOKEN, {
              chat,
              from: person,
              more: { caption: words, document: { file_id: "BQAD-1", file_unique_id: "u1", file_name: file.name, file_size: file.data.length } },
            }),
          ),
        };
      },
      repeat: async () => api.repeat(TOKEN),
      async drop(refuse = false) {
        api.refuse(refuse);
        api.cutAll();
      },
      attempts: () => api.polls(TOKEN) + attempts,
    };
    attempts = 0;
    return { plugin: plugin as never, context: context as never, far, dispose: () => api.close() };
  },
  { lacks: [] },
);
