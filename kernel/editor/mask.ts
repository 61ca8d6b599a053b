import { secretPlaces } from "../base/config-text/secrets.ts";
import type { ComposedSchema } from "../core/config/compose.ts";

/** What stands in place of a credential. */
const MASK = "***";

/** The password that an address may hold before its host. */
const PASSWORD = /^([a-z][\w+.-]*:\/\/[^\s/@:]*:)[^\s/@]+(?=@)/i;

/**
 * A copy of a configuration fit for a screen: every credential is `***`, also the password of an address. An empty one stays empty, so
 * that one can see it.
 */
export function maskSecrets(value: Readonly<Record<string, unknown>>, composed: ComposedSchema): Record<string, unknown> {
  const copy = structuredClone(value) as Record<string, unknown>;
  for (const { path, value: secret } of secretPlaces(value, composed.root)) {
    if (secret === "") continue;
    let parent: unknown = copy;
    for (const segment of path.slice(0, -1)) parent = (parent as Record<string | number, unknown>)[segment];
    (parent as Record<string | number, unknown>)[path.at(-1) as string | number] = MASK;
  }
  return withoutPasswords(copy) as Record<string, unknown>;
}

function withoutPasswords(value: unknown): unknown {
  if (typeof value === "string") return value.replace(PASSWORD, `$1${MASK}`);
  if (typeof value === "object" && value !== null)
    for (const [key, inner] of Object.entries(value)) (value as Record<string, unknown>)[key] = withoutPasswords(inner);
  return value;
}
