import type { Authority, HttpRoute, Plural, ProvidedKind } from "@svc/sdk";
import { pluralOf, providedName } from "@svc/sdk/host";
import { compileHooks, type LiveHooks, type OnFailure } from "./hooks.ts";
import { PROVIDED_KINDS } from "./kinds.ts";
import type { OwnedBy, Scope } from "./scope.ts";

/** Things of all plugins, a table a kind: `channels`, `tiers`, ... by name. */
type LiveThings = { readonly [K in ProvidedKind as Plural<K>]: ReadonlyMap<string, OwnedBy<K>> };

/** Snapshot of all plugins. A message keeps the one it started with. */
export interface Live extends LiveThings {
  readonly hooks: LiveHooks;
}

/** Take the picture. */
export function composeLive(scopes: readonly Scope[], onFailure: OnFailure): Live {
  const things = PROVIDED_KINDS.map((kind) => [
    pluralOf(kind),
    new Map(scopes.flatMap((scope) => scope.things[kind].map((owned) => [providedName(kind, owned.thing as never), owned] as const))),
  ]);
  return {
    hooks: compileHooks(
      scopes.flatMap((scope) => scope.taps),
      onFailure,
    ),
    ...(Object.fromEntries(things) as unknown as LiveThings),
  };
}

/** The routes of all plugins, each with the plugin that answers for it. */
export const routesOf = (live: Live): (HttpRoute & { readonly owner: string } & Pick<Scope, "answers">)[] => [
  ...[...live.routes.values()].map(({ scope, thing }) => ({ ...thing, owner: scope.id, answers: scope.answers })),
  ...[...live.files.values()].map(({ scope, route }) => ({ ...route, owner: scope.id })),
];

/** The authorities of all plugins, in the order in which they are called. */
export const authoritiesOf = (live: Live): Authority[] => [...live.authorities.values()].map(({ thing }) => thing);
