import type { Capability, Provide, ProvidedServer, ServerHandle } from "@svc/sdk";
import { fail } from "../../base/errors.ts";
import { nameThing, type ProvidedKind, whyUnusable } from "./provided.ts";
import { nameRoute, requireDeclared } from "./registered.ts";
import { type ProvidedChannel, placeOf, type Scope, withdraw } from "./scope.ts";

/** Who takes what plugins provide. */
export interface ProvideDeps {
  /** Refuses a second thing of the same kind and name, naming its owner. */
  claim(scope: Scope, kind: ProvidedKind, name: string, thing: unknown): void;
  server(scope: Scope, server: ProvidedServer): ServerHandle;
  /** A channel's platform connected or went away. */
  channelState(channel: ProvidedChannel): void;
}

/** `ctx.provide` of one plugin; `need` throws for a capability that it has not declared. */
export function provider(scope: Scope, services: ProvideDeps, need: (capability: Capability) => void): Provide {
  const check = (kind: ProvidedKind, thing: unknown) => {
    const reason = whyUnusable(kind, thing);
    if (reason !== undefined) throw fail("SVC_PLUGIN_PROVIDES", { plugin: scope.id, kind: nameThing(kind, thing), reason });
  };
  const add = <T>(kind: ProvidedKind, name: string, list: T[], thing: T, named = `${kind} ${name}`): (() => void) => {
    requireDeclared(scope, named);
    services.claim(scope, kind, name, thing);
    list.push(thing);
    scope.changed();
    return () => withdraw(scope, list, thing);
  };
  return {
    channel(channel) {
      check("channel", channel);
      const provided: ProvidedChannel = { scope, channel, state: "connecting" };
      add("channel", channel.name, scope.channels, provided);
      const turn = (state: ProvidedChannel["state"], reason?: string) => {
        if (provided.state === state && provided.reason === reason) return;
        provided.state = state;
        if (reason === undefined) delete provided.reason;
        else provided.reason = reason;
        services.channelState(provided);
      };
      return { ready: () => turn("ready"), down: (reason) => turn("down", reason) };
    },
    tier(tier) {
      check("tier", tier);
      add("tier", tier.name, scope.tiers, tier);
    },
    action(action) {
      check("action", action);
      return add("action", action.name, scope.actions, action);
    },
    server(server) {
      need("routes");
      check("server", server);
      add("server", server.name, scope.servers, server);
      return services.server(scope, server);
    },
    authority(authority) {
      check("authority", authority);
      add("authority", authority.name, scope.authorities, authority);
    },
    tool(tool) {
      check("tool", tool);
      add("tool", tool.name, scope.tools, tool);
    },
    route(route) {
      need("routes");
      check("route", route);
      add("route", placeOf(route), scope.routes, route, nameRoute(route));
    },
  };
}
