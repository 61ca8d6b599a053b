import type { Action, AgentTool, Authority, HttpRoute, Tier } from "@svc/sdk";
import { compileHooks, type LiveHooks, type OnFailure } from "./hooks.ts";
import type { ProvidedChannel, Scope } from "./scope.ts";

/** A provided thing and the plugin that answers for it. */
export interface Owned<T> {
  readonly scope: Scope;
  readonly thing: T;
}

/** All plugins as they stand at one moment. A message keeps the one it started with. */
export interface Live {
  readonly hooks: LiveHooks;
  readonly channels: ReadonlyMap<string, ProvidedChannel>;
  readonly tiers: ReadonlyMap<string, Owned<Tier>>;
  readonly actions: ReadonlyMap<string, Owned<Action>>;
  readonly tools: ReadonlyMap<string, Owned<AgentTool>>;
  readonly routes: readonly (HttpRoute & { readonly owner: string })[];
  readonly authorities: readonly Authority[];
}

/** Take the picture. */
export function composeLive(scopes: readonly Scope[], onFailure: OnFailure): Live {
  const owned = <T>(pick: (scope: Scope) => readonly T[], name: (thing: T) => string): Map<string, Owned<T>> =>
    new Map(scopes.flatMap((scope) => pick(scope).map((thing) => [name(thing), { scope, thing }] as const)));
  return {
    hooks: compileHooks(
      scopes.flatMap((scope) => scope.taps),
      onFailure,
    ),
    channels: new Map(scopes.flatMap((scope) => scope.channels.map((provided) => [provided.channel.name, provided] as const))),
    tiers: owned(
      (scope) => scope.tiers,
      (tier) => tier.name,
    ),
    actions: owned(
      (scope) => scope.actions,
      (action) => action.name,
    ),
    tools: owned(
      (scope) => scope.tools,
      (tool) => tool.name,
    ),
    routes: scopes.flatMap((scope) => scope.routes.map((route) => ({ ...route, owner: scope.id }))),
    authorities: scopes.flatMap((scope) => scope.authorities),
  };
}
