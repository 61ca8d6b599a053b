import { backoffMs, channelError, definePlugin, type ForgeHandle, type Outgoing, reasonOf, sleep, svcError } from "@svc/sdk";
import { checkSection, PUBLIC_API, type Settings, schema } from "./settings.ts";

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 300_000;

/** People mention agents in issues, requests and commits; the agents answer there. */
export default definePlugin<Settings>({
  kind: "channel",
  name: "forge-b",
  version: "0.1.0",
  svc: "^0.1.0",
  config: { at: "channels.forge_b", schema, check: checkSection },
  capabilities: ["fetch", "services"],
  setup(ctx) {
    const settings = ctx.config;
    const ending = new AbortController();
    const signal = AbortSignal.any([ctx.signal, ending.signal]);
    let connected: ForgeHandle | undefined;
    let running: Promise<void> | undefined;
    let reason = "forge_b has not connected yet";
    /** Somebody asks who we are, without connecting. */
    let test: ((asked: AbortSignal) => Promise<string>) | undefined;

    const there = (): ForgeHandle => {
      if (connected === undefined) throw channelError("retry", reason);
      return connected;
    };
    const handle = ctx.provide.channel({
      name: "forge_b",
      // One comment grows for each task, which the service `forges` keeps: so there is no `edit` for the kernel here.
      traits: { maxChars: 60_000, unit: "utf16", dialect: "markdown", threads: true, reactions: true, ack: "👀", keyed: true },
      send: async (out: Outgoing, asked) => there().send(out, asked),
      react: async (target, id, emoji, asked) => there().react(target, id, emoji, asked),
      fetchMedia: async (media, asked) => there().fetchMedia(media, asked),
      async test(asked) {
        if (test === undefined) throw channelError("permanent", reason);
        return test(asked);
      },
    });

    const down = (why: string) => {
      reason = why;
      handle.down(why);
    };

    /** Until the forge knows us, and again whenever it did not any more. */
    async function run(): Promise<void> {
      const [{ createApi }, { createIdentities }, { createForge }] = await Promise.all([import("./api.js"), import("./identity.js"), import("./forge.js")]);
      const api = createApi(ctx, settings.apiRoot ?? PUBLIC_API);
      let refused = new AbortController();
      const identities = await createIdentities(
        settings,
        () => api,
        (why) => {
          if (reason !== why) ctx.log.error(why);
          down(why);
          refused.abort();
        },
      );
      if (identities.all.length === 0) throw svcError("SVC_FORGE_TOKEN", "channels.forge_b has no token and no App; set one up with: svc connect forge_b");
      const identify = async (asked: AbortSignal) => {
        for (const identity of identities.all) await identity.identify(api, asked);
        return identities.all.map(({ user, names }) => `@${user?.login ?? names[0] ?? "unknown"}`).join(", ");
      };
      test = identify;
      for (let failures = 0; !signal.aborted; ) {
        refused = new AbortController();
        try {
          await identify(signal);
          connected ??= await connect(createForge(settings, api, identities));
          failures = 0;
        } catch (error) {
          if (signal.aborted) return;
          failures += 1;
          // What was refused is told with its setting already.
          if (!refused.signal.aborted) {
            if (reason !== reasonOf(error)) ctx.log.warn({ reason: reasonOf(error) }, "forge_b is not connected; trying again");
            down(reasonOf(error));
          }
          await sleep(backoffMs(failures, { firstMs: FIRST_PAUSE_MS, longestMs: LONGEST_PAUSE_MS }), signal);
          continue;
        }
        reason = "";
        handle.ready();
        connected.ready();
        await sleep(Number.POSITIVE_INFINITY, AbortSignal.any([signal, refused.signal]));
        await sleep(FIRST_PAUSE_MS, signal);
      }
    }

    async function connect(forge: Parameters<NonNullable<ReturnType<typeof service>>["connect"]>[0]): Promise<ForgeHandle> {
      const forges = service();
      if (forges === undefined)
        throw svcError("SVC_FORGE_SERVICE", "the plugin forge-hooks, which receives webhooks, is not there; enable it: svc plugin enable forge-hooks");
      return forges.connect(forge);
    }
    const service = () => ctx.services.get("forges");

    return {
      async start() {
        running = run().catch((error: unknown) => {
          if (signal.aborted) return;
          ctx.log.error({ reason: reasonOf(error) }, "forge_b is down until its configuration is mended");
          down(reasonOf(error));
        });
      },
      async stop() {
        ending.abort(new Error("stopped"));
        await running;
        await connected?.disconnect();
      },
    };
  },
});
