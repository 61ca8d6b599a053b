import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Schema } from "@svc/sdk";
import { beforeAll, expect, it } from "vitest";
import { type FormPath, isFields } from "../../plugins/features/dashboard/ui/forms/form-path.ts";
import { branchesOf, kindOf } from "../../plugins/features/dashboard/ui/forms/schema-kinds.ts";
import { placeOf, schemaAt, TABS } from "../../plugins/features/dashboard/ui/pages/admin/tab-items.ts";
import { startDashboard } from "./kit/dashboard.ts";

let schema: Schema;
beforeAll(async () => {
  const at = await startDashboard();
  schema = (await at.api<{ schema: Schema }>("GET", "/api/admin/schema")).schema;
});

/** Every leaf of the composed schema: maps by an entry `x`, lists by their first one. */
function leaves(at: Schema, path: FormPath = []): readonly FormPath[] {
  const kind = kindOf(at, String(path.at(-1) ?? ""));
  const inner =
    kind === "list" ? [[0, at.items ?? {}] as const] : kind === "map" && isFields(at.additionalProperties) ? [["x", at.additionalProperties] as const] : [];
  const named = kind === "object" ? Object.entries(at.properties ?? {}) : [];
  const chosen = kind === "union" ? branchesOf(at).flatMap(({ schema: one }) => Object.entries(one.properties ?? {})) : [];
  const below = [...inner, ...named, ...chosen];
  return below.length === 0 ? [path] : below.flatMap(([key, one]) => leaves(one as Schema, [...path, key]));
}

/** What `value-control.tsx` draws; `raw` is edited as JSON with a link to its line in the document. */
const CONTROLS: ReadonlySet<string> = new Set(["text", "long-text", "number", "boolean", "enum", "secret", "list", "map", "union", "object", "raw"]);

it("every key of the composed schema has a tab, and a control or the way to the text", () => {
  const all = leaves(schema);
  expect(all.length).toBeGreaterThan(300);
  for (const path of all) {
    const { tab } = placeOf(path, {}, schema);
    expect([path, TABS.includes(tab)]).toEqual([path, true]);
    const found = schemaAt(schema, path);
    expect([path, found === undefined]).toEqual([path, false]);
    expect([path, CONTROLS.has(kindOf(found ?? {}, String(path.at(-1))))]).toEqual([path, true]);
  }
});

/** Every key that an operator may write, a line each: `agents.<id>.name`, `boards[].id`. Another table of them by `SVC_CONTRACT_CONFIG`. */
const LIST = readFileSync(join(import.meta.dirname, "setting-keys.txt"), "utf8")
  .trim()
  .split("\n");
const CONTRACT = process.env.SVC_CONTRACT_CONFIG ?? "";
const lists = [LIST, ...(existsSync(CONTRACT) ? [(JSON.parse(readFileSync(CONTRACT, "utf8")) as { path: string }[]).map(({ path }) => path)] : [])];
it.each(lists.map((keys) => [keys.length, keys] as const))(
  "each of %i keys is one of the schema, lies in a part that is edited as text, or in a section that no plugin of this version reads",
  (_count, keys) => {
    expect(keys.length).toBeGreaterThan(400);
    const missing = keys.filter((key) => {
      const path = key.split(".").flatMap((part): FormPath => (part.endsWith("[]") ? [part.slice(0, -2), 0] : [part.replace(/^<.*>$|^\*$/, "x")]));
      for (let length = path.length; length > 0; length -= 1) {
        const found = schemaAt(schema, path.slice(0, length));
        if (found === undefined) continue;
        // Whatever lies below a value that is edited as text is edited with it.
        return length < path.length && kindOf(found, String(path[length - 1])) !== "raw" && found.additionalProperties === false;
      }
      // A section without a schema is kept, and edited as text where the file has it.
      return path[0] === "channels" && path.length < 2;
    });
    expect(missing).toEqual([]);
  },
);
