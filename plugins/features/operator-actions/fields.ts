import type { Input } from "./inputs.ts";
import { namesOf, type Part } from "./template.ts";

/** Throws `SVC_OPERATOR_ACTION_INVALID` for a field of the file being read. */
export type Refuse = (field: string, reason: string) => never;

/** Every `{{name}}` must be an input. */
export function checkDeclared(templates: readonly (readonly [field: string, parts: readonly Part[]])[], inputs: readonly Input[], refuse: Refuse): void {
  for (const [field, parts] of templates) {
    const unknown = namesOf(parts, "input").find((name) => !inputs.some((input) => input.name === name));
    if (unknown !== undefined) refuse(field, `uses {{${unknown}}}, which is not among the inputs`);
  }
}
