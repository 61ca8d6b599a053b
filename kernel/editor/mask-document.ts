import { secretPlaces } from "../base/config-text/secrets.ts";
import type { Configuration } from "../core/config/configuration.ts";
import { maskText } from "./mask-text.ts";

/** A reference to a variable, which is not a credential. */
const REFERENCE = /\$\{[A-Za-z_][A-Za-z0-9_]*\}/;

/**
 * Masks the text of svc.json for display, line by line: credentials that `maskText` recognises by their form, and values of settings that the schema
 * marks as secret.
 */
export function maskDocument(text: string, { document, composed }: Pick<Configuration, "document" | "composed">): string {
  let masked = maskText(text);
  for (const { value } of secretPlaces(document.raw, composed.root)) {
    if (value === "" || REFERENCE.test(value)) continue;
    masked = masked.replaceAll(JSON.stringify(value), '"***"');
  }
  return masked;
}
