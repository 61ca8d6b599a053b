import { type ChannelHandle, type ForgeHandle, type PluginContext, svcError } from "@svc/sdk";
import { type Api, createApi } from "./client.ts";
import { createForge } from "./forge.ts";
import { createIdentities, type Identities } from "./identities.ts";
import { createLabels, type Labels } from "./labels.ts";
import { PUBLIC_HOST, type Settings } from "./settings.ts";

/** The forge while the plugin runs. */
export interface Started {
  readonly api: Api;
  readonly identities: Identities;
  readonly labels: Labels;
  /** Undefined until the service `forges` has it. */
  readonly handle: ForgeHandle | undefined;
  stop(): Promise<void>;
}

/** Timeout of a start for the forge to name the users of its tokens; webhooks from before would not find their agents. */
const WAIT_MS = 5_000;

/** Asks whose the tokens are and opens the receiver. The channel is ready while one of the tokens works. */
export async function connect(ctx: PluginContext<Settings>, channel: ChannelHandle): Promise<Started> {
  const api = createApi(ctx, ctx.config.host ?? PUBLIC_HOST);
  let handle: ForgeHandle | undefined;
  let state: { readonly works: boolean; readonly reason: string } = { works: false, reason: `${api.origin} has not answered yet` };
  const tell = () => {
    if (ctx.signal.aborted) return;
    if (!state.works) {
      channel.down(state.reason);
      return;
    }
    if (handle === undefined) return;
    channel.ready();
    // Look for events that were missed while the forge could not be reached.
    handle.ready();
  };
  const identities = createIdentities(ctx, api, (now) => {
    state = now;
    tell();
  });
  const labels = createLabels(api);
  const forges = ctx.services.get("forges");
  if (forges === undefined)
    throw svcError(
      "SVC_FORGE_SERVICE",
      "channels.forge_a needs the plugin forge-hooks, which serves 'forges'; it is not there or did not start. Ask: svc plugin list",
    );
  await identities.start(WAIT_MS);
  handle = await forges.connect(createForge(ctx, { api, identities, labels }));
  tell();
  return {
    api,
    identities,
    labels,
    handle,
    stop: async () => handle?.disconnect(),
  };
}
