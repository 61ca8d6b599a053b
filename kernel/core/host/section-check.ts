import { dirname, join } from "node:path";
import { type ObjectSchema, type Plugin, reasonOf, type SectionProblem } from "@svc/sdk";
import { preparedIn } from "../../base/schema/schema-check.ts";
import type { Source } from "../../sources/source.ts";
import type { Parts, Section } from "../config/compose.ts";
import type { HostedPlugin } from "./hosted-plugin.ts";
import type { Scope } from "./scope.ts";
import { isStore } from "./store-plugin.ts";

/** Returns the section of a loaded plugin, with the plugin's own check, guarded so that it cannot break other plugins; empty where it owns none. */
export function sectionsOf({ id, plugin, source }: HostedPlugin): Section[] {
  const { at, schema, check } = (plugin?.config ?? {}) as Partial<NonNullable<Plugin["config"]>>;
  if (at === undefined || schema === undefined) return [];
  // The state does not change its place under a running daemon.
  const section = { at, schema: isStore({ id }) ? { ...schema, restart: true } : schema, owner: id, ...preparedBy(source) };
  if (check === undefined) return [section];
  return [{ ...section, check: guarded(check as NonNullable<Section["check"]>) }];
}

/** A check of a plugin that throws is one more problem, and disturbs no other. */
const guarded =
  <A extends unknown[]>(check: (...given: A) => readonly SectionProblem[]) =>
  (...given: A): readonly SectionProblem[] => {
    try {
      return check(...given);
    } catch (error) {
      return [{ path: "", message: `could not be checked by its plugin: ${reasonOf(error)}`, severity: "error" }];
    }
  };

/** The keys of agents that belong to a plugin. While it is not loaded nothing can check them, and nothing takes them for a mistake. */
export function agentKeysOf({ id, plugin, source }: HostedPlugin): Parts["agentKeys"] {
  const schema = plugin === undefined ? anyValue(source.manifest?.agentKeys) : plugin.agentConfig;
  if (schema === undefined) return [];
  const checkAgent = plugin?.checkAgent;
  if (checkAgent === undefined) return [{ schema, owner: id, ...preparedBy(source) }];
  return [{ schema, owner: id, ...preparedBy(source), check: guarded(checkAgent) }];
}

/** Makes the actions and routes of a plugin that was set up use the checks that its build compiled. */
export function usePrepared({ things }: Scope, source: Source): void {
  const { prepared } = preparedBy(source);
  if (prepared === undefined) return;
  const schemas = [...things.action.flatMap(({ thing }) => [thing.input, thing.output]), ...things.route.flatMap(({ thing }) => [thing.body, thing.query])];
  for (const schema of schemas) if (schema !== undefined) preparedIn(schema, prepared);
}

/** Of a first-party package: its code is trusted as the kernel's own, and its build has written this file beside its entry. */
function preparedBy({ from, entry, isolated }: Source): { readonly prepared?: string } {
  return from !== "first-party" || entry === undefined || isolated === true ? {} : { prepared: join(dirname(entry), "schema-checks.js") };
}

const anyValue = (keys: readonly string[] | undefined): ObjectSchema | undefined =>
  keys === undefined || keys.length === 0 ? undefined : { type: "object", properties: Object.fromEntries(keys.map((key) => [key, {}])) };
