import { type PluginContext, svcError } from "@svc/sdk";
import type { Client } from "../client.ts";
import type { Settings } from "../settings.ts";
import { displayName } from "./entries.ts";
import { createPhoneReader, notConnected } from "./phone-reader.ts";
import { type SweepReport, type SweepRequest, sweep } from "./sweep.ts";
import { createThrottle, type Throttle } from "./throttle.ts";

/** Runs of the ingest on one connection. */
export interface Ingest {
  /** Throws `SVC_PHONEMSG_INGEST_OFF` and, where there is no agent whose workspace it is, `SVC_PHONEMSG_INGEST_AGENT`. */
  run(request: SweepRequest): Promise<SweepReport>;
}

/** Makes it: one gate for all its live reads, however many runs there are at once. */
export function createIngest(ctx: PluginContext<Settings>, client: () => Client): Ingest {
  const { ingest: settings = {}, defaultAgent, routes = [] } = ctx.config;
  const throttle: Throttle = createThrottle(settings.throttle ?? {});
  return {
    async run(request) {
      if (settings.enabled !== true)
        throw svcError("SVC_PHONEMSG_INGEST_OFF", "The ingest is off: svc config set channels.phonemsg.ingest.enabled true", { status: 409 });
      const id = settings.agent ?? defaultAgent ?? routes[0]?.agent;
      const agent = id === undefined ? undefined : ctx.agents.get(id);
      if (agent === undefined)
        throw svcError("SVC_PHONEMSG_INGEST_AGENT", "No agent's workspace takes the entries: set channels.phonemsg.ingest.agent", { status: 409 });
      const { connection, directory, history, people, vendor } = client();
      const socket = () => {
        const { link } = connection;
        if (link.state !== "open") throw notConnected(link.state === "pairing" ? "no phone is linked" : link.reason);
        return link.socket;
      };
      const contacts = new Map((await directory.contacts()).map((contact) => [contact.id, contact]));
      const reader = createPhoneReader({
        vendor,
        history,
        throttle,
        socket,
        nameOf: async (address, push) => {
          const known = await people.known(address);
          return displayName({ ...(push === undefined ? {} : { push }), ...known, ...contacts.get(known.id) });
        },
      });
      return sweep({ ctx, settings, directory, reader, files: ctx.files.under(agent.workspace), connected: () => void socket(), signal: ctx.signal }, request);
    },
  };
}
