import { channelError, definePlugin, type Outgoing, reasonOf, svcError } from "@svc/sdk";
import { deviceAuthority } from "./device-authority.ts";
import { Devices } from "./devices.ts";
import { fanOut } from "./fan-out.ts";
import { Notices } from "./notices.ts";
import { Pairing } from "./pairing.ts";
import { PushHosts } from "./push-hosts.ts";
import { relay, relayRoute } from "./relay.ts";
import { type PushHost, pushRoutes } from "./routes.ts";
import { checkPush, keysName, PUSH, type PushSettings } from "./settings.ts";
import { openKeys, type VapidKeys } from "./vapid-keys.ts";

/** Above this the page on the phone shows no more; what a notice itself holds is cut to the room there is. */
const MOST_CHARS = 60_000;

/** Notifications by Web Push. Send only: nothing comes in and no agent is bound (CHAN-06). */
export default definePlugin<PushSettings>({
  kind: "channel",
  name: "push",
  version: "0.1.0",
  svc: "^0.1.0",
  config: { at: "channels.push", schema: PUSH, check: checkPush },
  capabilities: ["data-folder", "fetch", "files", "routes", "services", "store"],
  answers: () => import("./answers.js"),
  scopes: [{ name: "push:device", summary: "one phone: its own registration and what was pushed" }],
  setup(ctx) {
    const { relayTo, subject = "", ttlSeconds, keepRecent, allowedHosts } = ctx.config;
    let host: (PushHost & { readonly keys: VapidKeys }) | undefined;

    const started = (): NonNullable<typeof host> => {
      if (host !== undefined) return host;
      throw svcError("SVC_PUSH_KEYS", "The channel push is down; svc channel list says why.", { status: 503 });
    };

    async function send(out: Outgoing, signal: AbortSignal): Promise<object> {
      if (relayTo === undefined && host === undefined) throw channelError("retry", "push is down; svc channel list says why");
      if (relayTo !== undefined) await relay(out, relayTo, ctx.services.get("peers"), ctx.node.id, signal);
      else await fanOut(out, { ...started(), fetch: ctx.fetch, subject, ttlSeconds, log: ctx.log }, signal);
      return {};
    }

    const handle = ctx.provide.channel({
      name: "push",
      traits: { maxChars: MOST_CHARS, unit: "utf16", dialect: "plain", receives: false, keyed: true },
      send,
      async test() {
        if (relayTo !== undefined) return `notices go through the peer ${relayTo}`;
        const { devices } = started();
        const all = await devices.list();
        const stale = all.filter((device) => devices.isStale(device)).length;
        return `${all.length} ${all.length === 1 ? "phone" : "phones"}${stale === 0 ? "" : `, ${stale} to be opened again`}`;
      },
    });
    ctx.provide.route(relayRoute(send, relayTo));
    if (relayTo === undefined) {
      ctx.provide.authority(deviceAuthority(() => host?.devices));
      for (const route of pushRoutes(started)) ctx.provide.route(route);
      ctx.provide.files({ server: "dashboard", prefix: "/push", folder: "ui", guard: "open" });
    }

    return {
      async start() {
        if (relayTo !== undefined) return handle.ready();
        let keys: VapidKeys;
        try {
          keys = await openKeys(ctx.files.data, keysName(ctx.config));
        } catch (error) {
          return handle.down(reasonOf(error));
        }
        const devices = new Devices(ctx.store, keys.publicKey);
        const hosts = new PushHosts(allowedHosts);
        host = { keys, devices, hosts, notices: new Notices(ctx.store, keepRecent), pairing: new Pairing(ctx.store), publicKey: keys.publicKey };
        const stale = (await devices.list()).filter((device) => devices.isStale(device));
        if (stale.length > 0) {
          const names = stale.map(({ name }) => name);
          ctx.log.warn(
            { phones: names },
            "the push keys are not those that these phones know: open the page /push/ on each of them once, or they get no notices",
          );
        }
        handle.ready();
      },
    };
  },
});
