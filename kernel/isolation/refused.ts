import { type Capability, isLoaderVariable, type SvcError } from "@svc/sdk";
import { fail } from "../base/errors.ts";
import { articled, KINDS, PROVIDED_KINDS } from "../core/host/kinds.ts";

/** Something of the context that has no way over the wire. Names the plugin and what to do. */
export const refused = (plugin: string, what: string): SvcError => fail("SVC_ISOLATION_REFUSED", { plugin, what });

const NOT_ACROSS: readonly string[] = ["data-folder", "spawn", "warm", "media", "health", "env:*"];

/** Throws `SVC_ISOLATION_REFUSED` for a plugin that declares or registers what an isolated one cannot: before any of its code runs, where a manifest says so. */
export function refuseDeclared(plugin: string, capabilities: readonly Capability[], registers: readonly string[] = []): void {
  const first = capabilities.find((capability) => {
    const name = capability.startsWith("env:") ? capability.slice("env:".length) : "";
    return NOT_ACROSS.includes(capability) || name.startsWith("SVC_") || isLoaderVariable(name);
  });
  if (first !== undefined) throw refused(plugin, `the capability '${first}'`);
  const kind = PROVIDED_KINDS.find((one) => !KINDS[one].crosses && registers.includes(one));
  if (kind !== undefined) throw refused(plugin, articled(kind));
}
