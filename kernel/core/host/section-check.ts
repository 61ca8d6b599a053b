import { reasonOf } from "@svc/sdk";
import type { Section } from "../config/compose.ts";

/** A plugin's section with the check of the plugin itself, which may not bring the others down. */
export function sectionBy(owner: string, { at, schema, check }: Omit<Section, "owner">): Section {
  if (check === undefined) return { at, schema, owner };
  return {
    at,
    schema,
    owner,
    check(section, known) {
      try {
        return check(section, known);
      } catch (error) {
        return [{ path: "", message: `could not be checked by its plugin: ${reasonOf(error)}`, severity: "error" }];
      }
    },
  };
}
