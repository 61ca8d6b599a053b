import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { PackageFacts, Subject } from "./subject.ts";

/** A plugin's sample of its block of svc.json, as text. */
export function sampleText(folder: string): string | undefined {
  const file = join(folder, "sample.json");
  return existsSync(file) ? readFileSync(file, "utf8").trim() : undefined;
}

/** Returns the plugin's own section of its sample, an object or a list; undefined if absent. */
export function sampleSection(folder: string, { svc }: Pick<PackageFacts, "svc">): unknown {
  const text = sampleText(folder);
  if (text === undefined || svc?.section === undefined) return undefined;
  return svc.section.split(".").reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], JSON.parse(text));
}

/** Returns a plugin's sample, empty if absent, with the plugin's own section of it. */
export function sampleOf({ folder, pkg }: Subject): { readonly whole: Readonly<Record<string, unknown>>; readonly section: unknown } {
  if (folder === undefined || pkg === undefined) return { whole: {}, section: undefined };
  return { whole: JSON.parse(sampleText(folder) ?? "{}") as Record<string, unknown>, section: sampleSection(folder, pkg) };
}

/** The module of its own contract suite: where `exports["./conformance"]` of its package.json leads. */
export function conformanceOf({ pkg }: Subject): string | undefined {
  const exported = (pkg?.exports as Record<string, unknown> | undefined)?.["./conformance"];
  return typeof exported === "string" ? exported : (exported as { default?: string } | undefined)?.default;
}
