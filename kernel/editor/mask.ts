import type { ObjectSchema, SecretSetting } from "@svc/sdk";
import { formatPath } from "../base/config-path.ts";
import { PASSWORD, secretPlaces } from "../base/config-text/secrets.ts";

/** Replacement for a credential. */
const MASK = "***";

/** References to variables only, as a header may have them after its scheme: shows no credential. */
const REFERENCE = /^(?:(?:bearer|basic|token)\s+)?(?:\$\{[A-Za-z_][A-Za-z0-9_]*\})+$/i;
const SINGLE = /^\$\{([A-Za-z_][A-Za-z0-9_]*)\}$/;

/** Schema that marks the credentials. */
export interface Masked {
  readonly root: ObjectSchema;
}

/**
 * Returns a copy of a configuration with every credential replaced by `***`, also the password in an address. Empty ones stay empty, so that they are
 * recognizable; with `references`, one that only names variables stays as it is written.
 */
export function maskSecrets(
  value: Readonly<Record<string, unknown>>,
  { root }: Masked,
  { references = false }: { readonly references?: boolean } = {},
): Record<string, unknown> {
  const copy = structuredClone(value) as Record<string, unknown>;
  for (const { path, value: secret } of secretPlaces(value, root)) {
    if (secret === "" || (references && REFERENCE.test(secret))) continue;
    let parent: unknown = copy;
    for (const segment of path.slice(0, -1)) parent = (parent as Record<string | number, unknown>)[segment];
    (parent as Record<string | number, unknown>)[path.at(-1) as string | number] = MASK;
  }
  return withoutPasswords(copy) as Record<string, unknown>;
}

/** Returns the credentials of a configuration before expansion, without their values. */
export function secretsIn(raw: unknown, { root }: Masked): readonly SecretSetting[] {
  return secretPlaces(raw, root).flatMap(({ path, value, known }) => {
    if (!known) return [];
    const reference = SINGLE.exec(value)?.[1];
    return [{ path: formatPath(path), set: value !== "", ...(reference === undefined ? {} : { reference }) }];
  });
}

/** Whether a text was masked by `maskSecrets`, so that writing it back would lose a credential. */
export const isMasked = (text: string): boolean => text === MASK || PASSWORD.exec(text)?.[0].endsWith(`:${MASK}`) === true;

function withoutPasswords(value: unknown): unknown {
  if (typeof value === "string") return value.replace(PASSWORD, `$1${MASK}`);
  if (typeof value === "object" && value !== null)
    for (const [key, inner] of Object.entries(value)) (value as Record<string, unknown>)[key] = withoutPasswords(inner);
  return value;
}
