import { type Capability, coversName, type Provided, type ProvidedKind } from "@svc/sdk";
import { fail } from "../../base/errors.ts";
import { kindRow, PROVIDED_KINDS, titleOf } from "./kinds.ts";
import type { Scope } from "./scope.ts";

/** Returns the kinds of a scope's registrations: the rights that an operator approves and that later versions may not silently extend. */
export function registersOf(scope: Scope): string[] {
  const kinds = eachThing(scope, (kind, thing) => kindRow(kind).agreed?.(thing) ?? [kind]);
  return [...new Set([...scope.taps.map(({ hook }) => `hook ${hook}`), ...kinds])].sort();
}

/** Each thing that a scope holds, sorted, as `registers` of a manifest names it: `route GET /acme open`. */
export function thingsOf(scope: Scope): string[] {
  const things = eachThing(scope, (kind, thing) => [declaredName(kind, thing)]);
  return [...new Set([...scope.taps.map(({ hook }) => `hook ${hook}`), ...things, ...scope.cronJobs])].sort();
}

/** Describes a scope's things for people: `tier local`, `action http.fetch`, `route POST /x`. */
export function describeProvided(scope: Scope): string[] {
  return eachThing(scope, (kind, thing) => [`${kind} ${kindRow(kind).describe?.(thing) ?? titleOf(kind, thing)}`]);
}

/** `route GET /acme open`; one of a server of its own: `route acme:GET /hook signed`. */
export function declaredName<K extends ProvidedKind>(kind: K, thing: Provided[K]): string {
  return `${kind} ${kindRow(kind).declare?.(thing) ?? titleOf(kind, thing)}`;
}

/** Capabilities that the kernel itself uses for a scope's things. */
export const usedFor = (scope: Scope): Capability[] => PROVIDED_KINDS.flatMap((kind) => (scope.things[kind].length > 0 ? [...(kindRow(kind).uses ?? [])] : []));

function eachThing(scope: Scope, read: <K extends ProvidedKind>(kind: K, thing: Provided[K]) => readonly string[]): string[] {
  return PROVIDED_KINDS.flatMap((kind) => scope.things[kind].flatMap(({ thing }) => read(kind, thing as never)));
}

/** Refuses a registration that is missing from the manifest's list, if the manifest has one. Throws `SVC_PLUGIN_UNDECLARED`. */
export function requireDeclared({ id, declared }: Pick<Scope, "id" | "declared">, thing: string): void {
  if (declared === undefined || coversName(declared, thing)) return;
  throw fail("SVC_PLUGIN_UNDECLARED", { plugin: id, thing });
}
