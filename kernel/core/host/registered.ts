import { type Capability, coversName, type Provided, type ProvidedKind } from "@svc/sdk";
import { fail } from "../../base/errors.ts";
import { kindRow, PROVIDED_KINDS, titleOf } from "./kinds.ts";
import type { Scope } from "./scope.ts";

/** The kinds of what a scope holds: what an operator agrees to, and what later versions may not quietly add to. */
export function registersOf(scope: Scope): string[] {
  const kinds = eachThing(scope, (kind, thing) => kindRow(kind).agreed?.(thing) ?? [kind]);
  return [...new Set([...scope.taps.map(({ hook }) => `hook ${hook}`), ...kinds])].sort();
}

/** Each thing that a scope holds, sorted, as `registers` of a manifest names it: `route GET /acme open`. */
export function thingsOf(scope: Scope): string[] {
  const things = eachThing(scope, (kind, thing) => [declaredName(kind, thing)]);
  return [...new Set([...scope.taps.map(({ hook }) => `hook ${hook}`), ...things, ...scope.cronJobs])].sort();
}

/** What a scope provides, for people: `tier local`, `action http.fetch`, `route POST /x`. */
export function describeProvided(scope: Scope): string[] {
  return eachThing(scope, (kind, thing) => [`${kind} ${kindRow(kind).describe?.(thing) ?? titleOf(kind, thing)}`]);
}

/** `route GET /acme open`; one of a server of its own: `route acme:GET /hook signed`. */
export function declaredName<K extends ProvidedKind>(kind: K, thing: Provided[K]): string {
  return `${kind} ${kindRow(kind).declare?.(thing) ?? titleOf(kind, thing)}`;
}

/** Capabilities that the kernel itself uses for what a scope provides. */
export const usedFor = (scope: Scope): Capability[] => PROVIDED_KINDS.flatMap((kind) => (scope.things[kind].length > 0 ? [...(kindRow(kind).uses ?? [])] : []));

function eachThing(scope: Scope, read: <K extends ProvidedKind>(kind: K, thing: Provided[K]) => readonly string[]): string[] {
  return PROVIDED_KINDS.flatMap((kind) => scope.things[kind].flatMap(({ thing }) => read(kind, thing as never)));
}

/** Refuses what a plugin registers without saying so in its manifest, where that says what it registers. Throws `SVC_PLUGIN_UNDECLARED`. */
export function requireDeclared({ id, declared }: Pick<Scope, "id" | "declared">, thing: string): void {
  if (declared === undefined || coversName(declared, thing)) return;
  throw fail("SVC_PLUGIN_UNDECLARED", { plugin: id, thing });
}
