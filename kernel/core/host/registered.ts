import type { HttpRoute } from "@svc/sdk";
import { fail } from "../../base/errors.ts";
import type { Scope } from "./scope.ts";

/** The kinds of what a scope holds: what an operator agrees to, and what later versions may not quietly add to. */
export function registersOf(scope: Scope): string[] {
  const kinds = new Set([
    ...scope.taps.map(({ hook }) => `hook ${hook}`),
    ...scope.channels.map(() => "channel"),
    ...scope.tiers.map(() => "tier"),
    ...scope.actions.map(() => "action"),
    ...scope.tools.map(() => "tool"),
    ...scope.authorities.map(() => "authority"),
    ...scope.routes.map(({ guard }) => `route ${guard}`),
    ...scope.servers.map(() => "server"),
    // What this machine may do there without a token.
    ...scope.servers.flatMap(({ localScopes = [] }) => localScopes.map((granted) => `server granting ${granted}`)),
  ]);
  return [...kinds].sort();
}

/** Each thing that a scope holds, sorted, as `registers` of a manifest names it: `route GET /acme open`. */
export function thingsOf(scope: Scope): string[] {
  const things = new Set([
    ...scope.taps.map(({ hook }) => `hook ${hook}`),
    ...scope.channels.map(({ channel }) => `channel ${channel.name}`),
    ...scope.tiers.map(({ name }) => `tier ${name}`),
    ...scope.actions.map(({ name }) => `action ${name}`),
    ...scope.tools.map(({ name }) => `tool ${name}`),
    ...scope.authorities.map(({ name }) => `authority ${name}`),
    ...scope.routes.map(nameRoute),
    ...scope.servers.map(({ name }) => `server ${name}`),
    ...scope.crons,
  ]);
  return [...things].sort();
}

/** `route GET /acme open`; one of a server of its own: `route acme:GET /hook signed`. */
export const nameRoute = ({ server, method, path, guard }: HttpRoute): string => `route ${server === undefined ? "" : `${server}:`}${method} ${path} ${guard}`;

/** Refuses what a plugin registers without saying so in its manifest, where that says what it registers. Throws `SVC_PLUGIN_UNDECLARED`. */
export function requireDeclared({ id, declared }: Pick<Scope, "id" | "declared">, thing: string): void {
  if (declared === undefined || declared.some((pattern) => covers(pattern, thing))) return;
  throw fail("SVC_PLUGIN_UNDECLARED", { plugin: id, thing });
}

/** `*` of the pattern stands for any text; everything else for itself. */
export function covers(pattern: string, thing: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  if (rest.length === 0) return pattern === thing;
  const last = rest.pop() as string;
  if (!thing.startsWith(first) || !thing.endsWith(last) || thing.length < first.length + last.length) return false;
  let from = first.length;
  for (const part of rest) {
    const at = thing.indexOf(part, from);
    if (at === -1 || at + part.length > thing.length - last.length) return false;
    from = at + part.length;
  }
  return true;
}
