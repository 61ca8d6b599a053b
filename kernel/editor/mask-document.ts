import { secretPlaces } from "../base/config-text/secrets.ts";
import type { Configuration } from "../core/config/configuration.ts";
import { maskText } from "./mask-text.ts";

/** A reference is no credential. */
const REFERENCE = /\$\{[A-Za-z_][A-Za-z0-9_]*\}/;

/**
 * The text of svc.json fit for a screen, line by line as it is: what `maskText` finds by its looks, and the values at the places that the
 * schema calls secret.
 */
export function maskDocument(text: string, { document, composed }: Pick<Configuration, "document" | "composed">): string {
  let masked = maskText(text);
  for (const { value } of secretPlaces(document.raw, composed.root)) {
    if (value === "" || REFERENCE.test(value)) continue;
    masked = masked.replaceAll(JSON.stringify(value), '"***"');
  }
  return masked;
}
