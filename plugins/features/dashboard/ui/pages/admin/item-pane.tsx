import { type ReactNode, useMemo, useState } from "react";
import { navigate } from "../../data/router.tsx";
import { type FormPath, overlap, pathText, readPath, same, valueAt } from "../../forms/form-path.ts";
import { SchemaForm } from "../../forms/schema-form.tsx";
import { emptyOf, kindOf, labelOf } from "../../forms/schema-kinds.ts";
import { ConfirmDialog } from "../../kit/dialog.tsx";
import { SearchBox } from "../../kit/field.tsx";
import { Menu } from "../../kit/menu.tsx";
import { Pane } from "../../kit/pane.tsx";
import { Segmented } from "../../kit/tabs.tsx";
import { Mono } from "../../kit/values.tsx";
import { ADMIN } from "../../words/admin.ts";
import { useBoardLabels, useLabelReferences } from "./board-labels.ts";
import type { Draft } from "./draft.ts";
import { useReferences } from "./references.ts";
import { useSecrets } from "./secret-dialog.tsx";
import { countBelow, type Item } from "./tab-items.ts";

type Filter = "all" | "set" | "changed";

/** One entry of a tab: its special parts above, its settings below. */
export function ItemPane({ item, draft, above, onRemoved }: { readonly item: Item; readonly draft: Draft; readonly above?: ReactNode; onRemoved(): void }) {
  const { path, schema } = item;
  const [filter, setFilter] = useState<Filter>("all");
  const [search, setSearch] = useState("");
  const [kept, setKept] = useState<ReadonlySet<string>>(new Set());
  const [removing, setRemoving] = useState(false);
  const value = valueAt(draft.document, path);
  const fields = useMemo(() => fieldsOf(schema, path, value), [schema, path, value]);
  const isSet = (one: Field) => valueAt(draft.document, one.path) !== undefined && !same(valueAt(draft.document, one.path), one.usual);
  const changed = draft.changes.map((change) => pathText(change.path));
  const isChanged = (one: FormPath) => changed.some((text) => overlap(readPath(text), one));
  // Fields shown by a filter stay until the filter changes, even when they are reset.
  const choose = (next: Filter) => {
    const fits = fields.filter((one) => (next === "set" ? isSet(one) : isChanged(one.path)));
    setKept(new Set(fits.map((one) => pathText(one.path))));
    setFilter(next);
  };
  const wanted = search.trim().toLowerCase();
  const shows = (at: FormPath, one: { readonly description?: string }) => {
    const text = pathText(at);
    if (item.without !== undefined && overlap([...path, item.without], at)) return false;
    if (wanted !== "" && !`${text} ${labelOf(String(at.at(-1)))} ${one.description ?? ""}`.toLowerCase().includes(wanted)) return false;
    return filter === "all" || kept.has(text) || (filter === "changed" && isChanged(at));
  };
  const references = useLabelReferences(useBoardLabels(draft.document, path)?.labels, useReferences(draft.document));
  const { secrets, dialog } = useSecrets(draft);
  const saved = useMemo(() => ({ value: draft.base.document }), [draft.base]);
  const choices = [
    { id: "all" as const, label: ADMIN.all, mark: String(fields.length) },
    { id: "set" as const, label: ADMIN.set, mark: String(fields.filter(isSet).length) },
    { id: "changed" as const, label: ADMIN.changed, mark: String(countBelow(path, changed)) },
  ];
  const title = (
    <span className="admin-item-title">
      <bdi className="cut" title={item.label}>
        {item.label}
      </bdi>{" "}
      <Mono value={pathText(path)}>{pathText(path)}</Mono>
    </span>
  );
  const actions = (
    <>
      <Segmented<Filter> choices={choices} selected={filter} onSelect={choose} label={ADMIN.which} />
      <SearchBox value={search} onChange={setSearch} label={ADMIN.find} />
      <Menu
        label={ADMIN.more}
        trigger="..."
        items={[
          { id: "raw", label: ADMIN.openRaw, onSelect: () => navigate(rawAddress(path)) },
          ...(item.removable ? [{ id: "remove", label: ADMIN.remove, danger: true, onSelect: () => setRemoving(true) }] : []),
        ]}
      />
    </>
  );
  const whole = kindOf(schema) === "object";
  const key = String(path.at(-1));
  return (
    <Pane className="admin-item" title={title} actions={actions} label={item.label}>
      {above}
      <SchemaForm
        key={item.id}
        schema={whole ? schema : { type: "object", additionalProperties: false, properties: { [key]: schema } }}
        value={whole ? value : { [key]: value }}
        at={whole ? path : path.slice(0, -1)}
        onChange={(next) => draft.put(path, whole ? (next ?? emptyOf(schema)) : valueAt(next, [key]))}
        errors={draft.errors}
        saved={saved}
        paths
        shows={shows}
        references={references}
        secrets={secrets}
        onRaw={(at) => navigate(rawAddress(at))}
        label={item.label}
      />
      {dialog}
      <ConfirmDialog
        title={ADMIN.removeTitle(item.label)}
        action={ADMIN.remove}
        danger
        open={removing}
        onClose={() => setRemoving(false)}
        onConfirm={() => {
          setRemoving(false);
          draft.put(path, undefined);
          onRemoved();
        }}
      >
        <p>{ADMIN.removeText(pathText(path))}</p>
      </ConfirmDialog>
    </Pane>
  );
}

/** Where Advanced shows the line of a path. */
export const rawAddress = (path: FormPath): string => `#advanced/document/${encodeURIComponent(pathText(path))}`;

interface Field {
  readonly path: FormPath;
  readonly usual: unknown;
}

/** The fields of a schema, each object taken apart; those of a map by its entries. */
function fieldsOf(schema: Item["schema"], path: FormPath, value: unknown): readonly Field[] {
  const kind = kindOf(schema, String(path.at(-1) ?? ""));
  if (kind !== "object") return [{ path, usual: schema.default }];
  return Object.entries(schema.properties ?? {}).flatMap(([key, inner]) => fieldsOf(inner, [...path, key], valueAt(value, [key])));
}
