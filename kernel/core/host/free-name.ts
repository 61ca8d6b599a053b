import { fail } from "../../base/errors.ts";
import { placeOf, type Scope } from "./scope.ts";

/** Refuses a second thing of a kind and name. Throws `SVC_PLUGIN_NAME_TAKEN` with the owner and what to do. */
export function requireFree(scope: Scope, kind: string, name: string, scopes: readonly Scope[]): void {
  const owner = scopes.find((other) => ownNames(other, kind).includes(name));
  if (owner !== undefined) throw fail("SVC_PLUGIN_NAME_TAKEN", { plugin: scope.id, kind, name, owner: owner.id, next: adviceFor(scope, owner) });
}

/** Two of one id are one plugin that is there twice: an entry with "!" would switch off both. */
const adviceFor = (scope: Scope, owner: Scope): string =>
  scope.id === owner.id ? "it is there twice, so take one of the two away" : `switch one of them off in plugins, with "!${owner.id}" or "!${scope.id}"`;

/** The names that a scope holds of a kind. */
function ownNames(scope: Scope, kind: string): string[] {
  switch (kind) {
    case "channel":
      return scope.channels.map(({ channel }) => channel.name);
    case "tier":
      return scope.tiers.map(({ name }) => name);
    case "action":
      return scope.actions.map(({ name }) => name);
    case "tool":
      return scope.tools.map(({ name }) => name);
    case "server":
      return scope.servers.map(({ name }) => name);
    case "authority":
      return scope.authorities.map(({ name }) => name);
    default:
      return scope.routes.map(placeOf);
  }
}
