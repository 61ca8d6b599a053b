import { backoffMs, type ChannelHandle, channelError, type Forge, type ForgeHandle, type PluginContext, reasonOf, sleep, svcError } from "@svc/sdk";
import { createApi } from "./api.ts";
import { createForge } from "./forge.ts";
import { createIdentities, type Identities, type Identity } from "./identity.ts";
import { PUBLIC_API, type Settings } from "./settings.ts";

/** The line to the forge: kept until it is stopped. */
export interface Connection {
  /** Throws `retry` with the reason while the forge is not connected. */
  forge(): ForgeHandle;
  /** Returns our account there. Throws `permanent` for a token that the forge does not know. */
  test(signal: AbortSignal): Promise<string>;
  stop(): Promise<void>;
}

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 300_000;

/** Connects, and again whenever the forge refuses a token. The channel is down while it knows none of them. */
export function openConnection(ctx: PluginContext<Settings>, channel: ChannelHandle): Connection {
  const settings = ctx.config;
  const ending = new AbortController();
  const signal = AbortSignal.any([ctx.signal, ending.signal]);
  const api = createApi(ctx, settings.apiRoot ?? PUBLIC_API);
  let connected: ForgeHandle | undefined;
  let reason = "forge_b has not connected yet";
  let refused = new AbortController();
  /** The identity that is being asked who it is, and its refusal; undefined at other times. */
  let asking: { readonly name: string; refusal?: string } | undefined;

  const refuse = (name: string, why: string) => {
    // Calls of the others go on meanwhile, and may be refused as well.
    if (asking?.name === name) asking.refusal ??= why;
    else if (!refused.signal.aborted) {
      ctx.log.error(why);
      refused.abort();
    }
  };
  const accounts = ctx.store.collection<Pick<Identity, "names" | "user" | "installed">>("accounts");
  /** While the forge does not say whose a token is, mentions find its agent by what it said before. */
  async function recall(identities: Identities): Promise<Identities> {
    for (const identity of identities.all) Object.assign(identity, (await accounts.get(identity.digest).catch(() => undefined))?.value);
    return identities;
  }
  const keep = ({ digest, names, user, installed }: Identity) =>
    accounts
      .put(digest, { names, installed, ...(user === undefined ? {} : { user }) })
      .catch((error) => ctx.log.warn({ err: error }, "an account was not stored"));

  let reading: Promise<Identities> | undefined;
  const read = async (): Promise<Identities> => {
    reading ??= createIdentities(settings, () => api, refuse).then(recall);
    const identities = await reading;
    if (identities.all.length === 0) throw svcError("SVC_FORGE_TOKEN", "channels.forge_b has no token and no App; set one up with: svc connect forge_b");
    return identities;
  };

  /** Asks for each token whose it is. */
  async function whoIs({ all }: Identities, asked: AbortSignal): Promise<{ readonly known: readonly string[]; readonly wrong: readonly string[] }> {
    const known: string[] = [];
    const wrong: string[] = [];
    try {
      for (const identity of all) {
        const own: typeof asking = { name: identity.name };
        asking = own;
        try {
          await identity.identify(api, asked);
          identity.refused = false;
          await keep(identity);
          known.push(`@${identity.user?.login ?? identity.names[0] ?? "unknown"}`);
        } catch (error) {
          asked.throwIfAborted();
          identity.refused = own.refusal !== undefined;
          wrong.push(own.refusal ?? reasonOf(error));
        }
      }
    } finally {
      asking = undefined;
    }
    return { known, wrong };
  }

  async function connect(forge: Forge): Promise<ForgeHandle> {
    const forges = ctx.services.get("forges");
    if (forges === undefined)
      throw svcError("SVC_FORGE_SERVICE", "the plugin forge-hooks, which receives webhooks, is not there; enable it: svc plugin enable forge-hooks");
    return forges.connect(forge);
  }

  const down = (why: string) => {
    reason = why;
    channel.down(why);
  };

  async function run(): Promise<void> {
    const identities = await read();
    for (let failures = 0; !signal.aborted; ) {
      refused = new AbortController();
      const { known, wrong } = await whoIs(identities, signal);
      let problem = known.length === 0 ? wrong.join("; ") : undefined;
      if (problem === undefined)
        try {
          connected ??= await connect(createForge(settings, api, identities));
        } catch (error) {
          problem = reasonOf(error);
        }
      failures = problem === undefined && wrong.length === 0 ? 0 : failures + 1;
      for (const { warning } of identities.all) if (warning !== undefined && reason !== "") ctx.log.warn(warning);
      const news = (problem ?? wrong.join("; ")) !== reason;
      if (failures > 0 && news) ctx.log.warn({ reason: problem ?? wrong.join("; ") }, "forge_b is not connected, or not with all its tokens; trying again");
      if (problem !== undefined) down(problem);
      else {
        const before = reason;
        reason = wrong.join("; ");
        channel.ready();
        if (before !== reason || wrong.length === 0) connected?.ready();
      }
      // Wait until a refusal; the cause of one may be fixed later.
      if (failures === 0) await sleep(Number.POSITIVE_INFINITY, AbortSignal.any([signal, refused.signal]));
      const pause = failures === 0 ? FIRST_PAUSE_MS : backoffMs(failures, { firstMs: FIRST_PAUSE_MS, longestMs: LONGEST_PAUSE_MS });
      await sleep(pause, signal);
    }
  }

  const running = run().catch((error: unknown) => {
    if (signal.aborted) return;
    ctx.log.error({ reason: reasonOf(error) }, "forge_b is down until its configuration is mended");
    down(reasonOf(error));
  });
  return {
    forge() {
      if (connected === undefined) throw channelError("retry", reason);
      return connected;
    },
    async test(asked) {
      const { known, wrong } = await read().then(
        (identities) => whoIs(identities, asked),
        (error) => Promise.reject(channelError("permanent", reasonOf(error))),
      );
      if (wrong.length > 0) throw channelError("permanent", [...wrong, ...known].join("; "));
      return known.join(", ");
    },
    async stop() {
      ending.abort(new Error("stopped"));
      await running;
      await connected?.disconnect();
    },
  };
}
