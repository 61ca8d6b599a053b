import type { Capability, Provide, Provided, ProvidedHandle, ProvidedKind } from "@svc/sdk";
import { PROVIDED, providedName, providedThing } from "@svc/sdk/host";
import { fail } from "../../base/errors.ts";
import { kindRow, nameThing, PROVIDED_KINDS, type ProvideDeps, whyUnusable } from "./kinds.ts";
import { declaredName, requireDeclared } from "./registered.ts";
import { type OwnedBy, type Scope, withdraw } from "./scope.ts";

/** `ctx.provide` of one plugin; `need` throws for a capability that it has not declared. */
export function createProvide(scope: Scope, deps: ProvideDeps, need: (capability: Capability) => void): Provide {
  return Object.fromEntries(
    PROVIDED_KINDS.map((kind) => [kind, (...given: unknown[]) => provide(kind, providedThing(kind, given), scope, deps, need)]),
  ) as unknown as Provide;
}

function provide<K extends ProvidedKind>(
  kind: K,
  thing: Provided[K],
  scope: Scope,
  deps: ProvideDeps,
  need: (capability: Capability) => void,
): ProvidedHandle<K> | undefined {
  const { capability } = PROVIDED[kind];
  if (capability !== undefined) need(capability);
  const reason = whyUnusable(kind, thing);
  if (reason !== undefined) throw fail("SVC_PLUGIN_PROVIDES", { plugin: scope.id, kind: nameThing(kind, thing), reason });
  requireDeclared(scope, declaredName(kind, thing));
  const row = kindRow(kind);
  deps.claim(scope, kind, providedName(kind, thing));
  row.admit?.(thing, deps);
  const owned = { scope, thing, ...row.state?.(thing, scope, deps) } as unknown as OwnedBy<K>;
  const list = scope.things[kind] as OwnedBy<K>[];
  list.push(owned);
  scope.changed();
  return row.handle?.(owned, deps, () => withdraw(scope, list, owned));
}

/** Refuses a second thing of the same kind and name. Throws `SVC_PLUGIN_NAME_TAKEN` with the owner and the next step. */
export function requireFree(scope: Scope, kind: ProvidedKind, name: string, scopes: readonly Scope[]): void {
  const owner = scopes.find((other) => other.things[kind].some(({ thing }) => providedName(kind, thing as never) === name));
  if (owner !== undefined) throw fail("SVC_PLUGIN_NAME_TAKEN", { plugin: scope.id, kind, name, owner: owner.id, next: adviceFor(scope, owner) });
}

/** Two registrations of the same id mean that one plugin is installed twice: an entry with "!" would disable both. */
const adviceFor = (scope: Scope, owner: Scope): string =>
  scope.id === owner.id ? "it is there twice, so take one of the two away" : `switch one of them off in plugins, with "!${owner.id}" or "!${scope.id}"`;
