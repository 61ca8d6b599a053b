import type { OfferedPlugin } from "@svc/sdk";
import { APART } from "../apart.ts";
import { onDemand } from "./on-demand.ts";

/** The first-party plugins that an installation does not bring, as people are told of them; those of this installation are among them. */
export function offeredPlugins(): readonly OfferedPlugin[] {
  const released = onDemand().map(({ version: _version, integrity: _integrity, ...plugin }) => {
    const apart = Object.values(APART).find(({ name }) => name === plugin.package);
    return { ...plugin, ...(apart === undefined ? {} : { because: apart.because }) };
  });
  // A program that runs from the sources has no catalogue, and beside it everything but these.
  const apart = Object.entries(APART).flatMap(([name, { name: pkg, because, summary }]) =>
    released.some((plugin) => plugin.package === pkg) ? [] : [{ kind: kindOf(pkg), name, package: pkg, summary, because }],
  );
  return [...released, ...apart];
}

const kindOf = (pkg: string): string => /^@svc\/([a-z]+)-/.exec(pkg)?.[1] ?? "";
