import { type Action, reasonOf } from "@svc/sdk";
import { fail } from "../base/errors.ts";
import { schemaCheck } from "../base/schema/schema-check.ts";

/**
 * Refuses a plugin whose actions have schemas that do not compile, before they are offered: the services of models refuse a whole request over one of
 * them. Throws `SVC_PLUGIN_PROVIDES`.
 */
export function requireActionSchemas(plugin: string, actions: readonly { readonly thing: Action }[]): void {
  for (const { thing: action } of actions)
    for (const way of ["input", "output"] as const)
      try {
        schemaCheck(action[way], "body").fits(null);
      } catch (error) {
        throw fail("SVC_PLUGIN_PROVIDES", {
          plugin,
          kind: `the action ${action.name}`,
          reason: `the schema of its ${way} does not compile: ${reasonOf(error)}`,
        });
      }
}
