import { isRecord } from "../definition/json.ts";
import { expressionError } from "./expression-error.ts";

const ONE = "$secret";
const TEXT = "$text";

/** Placeholder for a secret in the journal. */
export const secretReference = (name: string) => ({ [ONE]: name });

/** A text of several parts; with secrets among them `{"$text": [...]}`, so that they are put in with `resolveSecrets`. */
export function secretText(parts: readonly unknown[]): unknown {
  return parts.every((part) => typeof part === "string") ? parts.join("") : { [TEXT]: [...parts] };
}

/**
 * Refuses data that looks like a reference: a payload of `{"$secret": "DATABASE_URL"}` from outside, handed on to an action, would otherwise
 * be sent the secret itself.
 */
export function withoutReferences(value: unknown): void {
  if (Array.isArray(value)) for (const entry of value) withoutReferences(entry);
  else if (isRecord(value))
    for (const [key, entry] of Object.entries(value)) {
      if (key === ONE || key === TEXT)
        throw expressionError("EXPR_SECRET", `The input of an action holds data with the key ${key}, which stands for a secret; it is not taken.`);
      withoutReferences(entry);
    }
}

/** The input of an action with its secrets in place of their references. Throws `EXPR_SECRET` for a name that `secretOf` does not know. */
export function resolveSecrets(value: unknown, secretOf: (name: string) => string | undefined): unknown {
  if (Array.isArray(value)) return value.map((entry) => resolveSecrets(entry, secretOf));
  if (!isRecord(value)) return value;
  const one = value[ONE];
  if (typeof one === "string") {
    const secret = secretOf(one);
    if (secret === undefined) throw expressionError("EXPR_SECRET", `The secret ${one} is not set; set the variable ${one} of the daemon.`);
    return secret;
  }
  const text = value[TEXT];
  if (Array.isArray(text)) return text.map((part) => String(resolveSecrets(part, secretOf))).join("");
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, resolveSecrets(entry, secretOf)]));
}
