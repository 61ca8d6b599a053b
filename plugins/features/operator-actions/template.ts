/** A stretch of a template: text as the author wrote it, an input `{{name}}`, or a variable `${NAME}`. `at` is where it starts. */
export type Part =
  | { readonly kind: "text"; readonly text: string; readonly at: number }
  | { readonly kind: "input"; readonly name: string; readonly at: number }
  | { readonly kind: "variable"; readonly name: string; readonly at: number };

const MARKS = /\{\{\s*([A-Za-z_][A-Za-z0-9_-]*)\s*\}\}|\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g;

/**
 * Takes a template apart, once, when it is loaded. Values are put between the parts later and never looked at again, so a value that
 * reads `{{other}}` or `${SECRET}` stays what it is.
 */
export function parseTemplate(template: string): readonly Part[] {
  const parts: Part[] = [];
  let end = 0;
  for (const match of template.matchAll(MARKS)) {
    if (match.index > end) parts.push({ kind: "text", text: template.slice(end, match.index), at: end });
    const [whole, input, variable] = match;
    parts.push(input === undefined ? { kind: "variable", name: variable ?? "", at: match.index } : { kind: "input", name: input, at: match.index });
    end = match.index + whole.length;
  }
  if (end < template.length) parts.push({ kind: "text", text: template.slice(end), at: end });
  return parts;
}

/** Puts the parts together, each through `value`. */
export function render(parts: readonly Part[], value: (part: Exclude<Part, { kind: "text" }>) => string): string {
  return parts.map((part) => (part.kind === "text" ? part.text : value(part))).join("");
}

/** The names of one kind in a template. */
export const namesOf = (parts: readonly Part[], kind: "input" | "variable"): string[] => parts.flatMap((part) => (part.kind === kind ? [part.name] : []));
