/** A channel that only one daemon may listen to, as those of platforms that allow one connection are. */
import { standbyNote, whileHeld } from "@svc/sdk";

export default {
  kind: "channel",
  name: "single",
  version: "1.0.0",
  svc: "^0.1.0",
  capabilities: ["store"],
  setup(ctx) {
    const handle = ctx.provide.channel({
      name: "single",
      traits: { maxChars: 1_000, unit: "codepoint", dialect: "plain", keyed: false },
      send: async () => ({ messageId: "1" }),
    });
    const stop = new AbortController();
    let ended;
    return {
      start() {
        const standby = (node) => handle.down(standbyNote(node));
        ended = whileHeld(ctx.store, "single", { signal: stop.signal, standby, failed: (reason) => handle.down(reason) }, async (signal) => {
          handle.ready();
          await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
        }).catch(() => {});
      },
      async stop() {
        stop.abort();
        await ended;
      },
    };
  },
};
