import type { ComposedSchema } from "./compose.ts";
import { secretPlaces } from "./secrets.ts";

/** What stands in place of a credential. */
const MASK = "***";

/** A copy of a configuration fit for a screen: every credential is `***`. An empty one stays empty, so that one can see it. */
export function maskSecrets(value: Readonly<Record<string, unknown>>, composed: ComposedSchema): Record<string, unknown> {
  const copy = structuredClone(value) as Record<string, unknown>;
  for (const { path, value: secret } of secretPlaces(value, composed.root)) {
    if (secret === "") continue;
    let parent: unknown = copy;
    for (const segment of path.slice(0, -1)) parent = (parent as Record<string | number, unknown>)[segment];
    (parent as Record<string | number, unknown>)[path.at(-1) as string | number] = MASK;
  }
  return copy;
}
