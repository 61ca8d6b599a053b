import { channelContract } from "@svc/sdk/testing";
import { describe, it } from "vitest";
import plugin from "./index.ts";
import { stage } from "./push.harness.ts";

const FAULTS = { limited: 429, unavailable: 503, forbidden: 403, markup: 400, cut: "cut" } as const;

channelContract(
  { describe, it },
  async () => {
    const { service, context, ask } = await stage();
    const browser = service.browse();
    return {
      plugin: plugin as never,
      context: context as never,
      prepare: async () => void (await ask("POST", "/api/push/subscribe", { body: { subscription: browser.subscription } })),
      far: {
        target: { channel: "push", chat: "default" },
        retryAfterMs: 7_000,
        shown: () => [...browser.shown.values()].map(({ id, text }) => ({ platformId: id, text })),
        fail: (fault, times) => void browser.faults.push(...Array(times).fill(FAULTS[fault])),
        hang: () => void (service.state.hanging = true),
        writes: () => service.state.writes,
      },
      dispose: service.close,
    };
  },
  { lacks: ["receive", "markup", "ids"] },
);
