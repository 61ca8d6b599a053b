import { type Capability, isLoaderVariable } from "@svc/sdk";
import { LIBRARIES } from "../capabilities/libraries.ts";
import { crosses } from "../core/host/capabilities.ts";
import { articled, KINDS, PROVIDED_KINDS } from "../core/host/kinds.ts";
import { refused } from "./refused.ts";

/**
 * Throws `SVC_ISOLATION_REFUSED` for a plugin that declares or registers something that cannot be isolated: before any of its code runs, if a
 * manifest lists it.
 */
export function refuseDeclared(plugin: string, capabilities: readonly Capability[], registers: readonly string[] = []): void {
  const first = capabilities.find((capability) => {
    const name = capability.startsWith("env:") ? capability.slice("env:".length) : "";
    return !crosses(capability, LIBRARIES) || name.startsWith("SVC_") || isLoaderVariable(name);
  });
  if (first !== undefined) throw refused(plugin, `the capability '${first}'`);
  const kind = PROVIDED_KINDS.find((one) => !KINDS[one].crosses && registers.includes(one));
  if (kind !== undefined) throw refused(plugin, articled(kind));
}
