import type { Value } from "./inputs.ts";
import type { Part } from "./template.ts";

/** A JSON text with placeholders; `quoted` tells which parts stand inside a string. */
export interface JsonBody {
  readonly parts: readonly Part[];
  readonly quoted: readonly boolean[];
}

/** Notes for each part whether it stands inside a JSON string. */
export function parseJsonBody(parts: readonly Part[]): JsonBody {
  let inString = false;
  const quoted = parts.map((part) => {
    const before = inString;
    if (part.kind === "text") inString = endsInString(part.text, inString);
    return before;
  });
  return { parts, quoted };
}

function endsInString(text: string, before: boolean): boolean {
  let inString = before;
  for (let at = 0; at < text.length; at++) {
    if (inString && text.charAt(at) === "\\") at += 1;
    else if (text.charAt(at) === '"') inString = !inString;
  }
  return inString;
}

/**
 * Fills the placeholders: inside a string the value is escaped for it; elsewhere it becomes a JSON value of its own, an input left out
 * `null`. A variable outside of a string is put in as it is.
 */
export function renderJsonBody({ parts, quoted }: JsonBody, values: ReadonlyMap<string, Value>, variable: (name: string) => string): string {
  return parts
    .map((part, index) => {
      if (part.kind === "text") return part.text;
      if (quoted[index]) return JSON.stringify(String(part.kind === "input" ? (values.get(part.name) ?? "") : variable(part.name))).slice(1, -1);
      return part.kind === "input" ? JSON.stringify(values.get(part.name) ?? null) : variable(part.name);
    })
    .join("");
}

/** Whether the template is JSON once filled. */
export function jsonFits(body: JsonBody): boolean {
  try {
    JSON.parse(renderJsonBody(body, new Map(), () => "0"));
    return true;
  } catch {
    return false;
  }
}
