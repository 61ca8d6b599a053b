import type { HttpRoute, ScopeTable } from "@svc/sdk";
import { fail } from "./errors.ts";

/** The two parts of a guard's scope. A name that starts with `:` is the path parameter that holds the actual name. */
export interface GuardScope {
  readonly family: string;
  readonly name: string;
}

const PREFIX = "scope:";

/** Returns the scope that a route's guard requires, undefined if it requires none. Throws `SVC_HTTP_ROUTE` for one that no manifest declares. */
export function guardScope({ method, path, guard }: Pick<HttpRoute, "method" | "path" | "guard">, scopes: ScopeTable): GuardScope | undefined {
  const text = String(guard);
  if (!text.startsWith(PREFIX)) return undefined;
  const scope = text.slice(PREFIX.length);
  const family = scope.slice(0, Math.max(0, scope.indexOf(":")));
  const name = scope.slice(family.length + 1);
  const refuse = (reason: string) => fail("SVC_HTTP_ROUTE", { method, target: path, reason });
  const parameter = name.startsWith(":");
  if (parameter ? !scopes.hasEach(family) : !scopes.has(scope)) {
    const known = scopes.declared.map((one) => one.name).join(", ");
    const wanted = parameter ? `${family}:<id>` : scope;
    throw refuse(`its guard asks for the scope '${wanted}', which no plugin declares; name it in scopes of the manifest (declared are: ${known || "none"})`);
  }
  if (parameter && !path.split("/").includes(name)) throw refuse(`its guard names the parameter '${name}', which the path does not have`);
  return { family, name };
}

/**
 * As `guardScope`, when a plugin provides a route. A route for another server may require scopes that the plugin of that server declares; if none of
 * that family is known, that plugin is missing, and the route waits without being served.
 */
export function requireScope(route: Pick<HttpRoute, "server" | "method" | "path" | "guard">, scopes: ScopeTable): void {
  const [, family] = String(route.guard).split(":");
  if (route.server !== undefined && !scopes.declared.some(({ name }) => name.startsWith(`${family}:`))) return;
  guardScope(route, scopes);
}
