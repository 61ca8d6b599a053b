import type { Lifecycle } from "@svc/sdk";
import { fail } from "../base/errors.ts";

/** What a plugin's `setup` returned, as a lifecycle. Throws `SVC_PLUGIN_LIFECYCLE` for what is none. */
export function lifecycleOf(plugin: string, answer: unknown): Lifecycle<never> {
  if (answer === undefined || answer === null) return {};
  if (typeof answer !== "object" || Array.isArray(answer))
    throw fail("SVC_PLUGIN_LIFECYCLE", { plugin, what: Array.isArray(answer) ? "a list" : `a ${typeof answer}` });
  for (const name of ["start", "reload", "stop"] as const) {
    const member = (answer as Partial<Record<string, unknown>>)[name];
    if (member !== undefined && typeof member !== "function") throw fail("SVC_PLUGIN_LIFECYCLE", { plugin, what: `a ${typeof member} as ${name}` });
  }
  return answer as Lifecycle<never>;
}
