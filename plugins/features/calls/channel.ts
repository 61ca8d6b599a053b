import { type Channel, channelError } from "@svc/sdk";
import type { Camera } from "./camera.ts";
import type { LiveCall } from "./live-call.ts";

/** The name by which pictures of a session come in and agents' words go to its page. */
export const CHANNEL = "calls";

/** The chat of a call: agents' text appears on its page and in its transcript; no messages arrive from it. */
export function callChannel(
  opened: () => Promise<{ live(id: string): LiveCall | undefined; readonly camera: Camera; late(id: string, text: string, key: string): Promise<boolean> }>,
): Channel {
  return {
    name: CHANNEL,
    traits: { maxChars: 4_000, unit: "utf16", dialect: "plain", receives: false, keyed: true },
    async send({ target: { chat }, plain, key, agent }) {
      const { live, late } = await opened();
      const call = live(chat);
      if (call !== undefined && !call.over) {
        call.stream.tell("message", { key, text: plain, agent: agent ?? call.row.agent });
        if (call.row.state === "running" && call.row.kind === "call") call.heard(agent ?? call.row.agent, plain);
      } else if (!(await late(chat, plain, key))) throw channelError("permanent", "the call is over, and nowhere is set for what comes later");
      return {};
    },
    fetchMedia: async (media) => (await opened()).camera.fetch(media),
  };
}
