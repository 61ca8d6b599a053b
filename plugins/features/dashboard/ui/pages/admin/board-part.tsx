import { type FormPath, isFields, valueAt } from "../../forms/form-path.ts";
import { Button } from "../../kit/button.tsx";
import { Combobox } from "../../kit/combobox.tsx";
import { Glyph } from "../../kit/glyph.tsx";
import { BOARD_PART } from "../../words/board-part.ts";
import type { Column } from "../boards/board-types.ts";
import { type SourceLabel, useBoardLabels } from "./board-labels.ts";
import type { Draft } from "./draft.ts";

/** The six columns of a board with their labels, chosen from those of the source; typed text counts as well. */
export function BoardPart({ path, draft }: { readonly path: FormPath; readonly draft: Draft }) {
  const known = useBoardLabels(draft.document, path);
  if (known === undefined) return <p className="admin-facts meta">{BOARD_PART.noProject}</p>;
  const { labels, columns: usual, error, loading, source, reload } = known;
  const written = valueAt(draft.document, [...path, "columns"]);
  const rows = columnsIn(written, usual);
  const put = (id: string, label: string | undefined) =>
    draft.put(
      [...path, "columns"],
      rows.map((row) => {
        const { mapsToLabel, ...rest } = row;
        const next = row.id === id ? label : mapsToLabel;
        return { ...rest, ...(next === undefined ? {} : { mapsToLabel: next }) };
      }),
    );
  return (
    <div className="admin-part">
      <h3>{BOARD_PART.title}</h3>
      <div className="admin-facts" role="status">
        {loading && labels === undefined && <Glyph state="running" word label={BOARD_PART.reading(source)} />}
        {error !== undefined && <span className="form-error">{BOARD_PART.unread(source, error.message)}</span>}
        {error === undefined && labels !== undefined && <span>{labels.length === 0 ? BOARD_PART.none(source) : BOARD_PART.read(source, labels.length)}</span>}
        {(error !== undefined || labels !== undefined) && (
          <Button busy={loading} onClick={reload}>
            {BOARD_PART.again}
          </Button>
        )}
      </div>
      {rows.length > 0 && (
        <div className="admin-columns">
          {rows.map((row) => (
            <div key={row.id} className="admin-column">
              <span className="admin-column-title">
                <bdi className="cut">{row.title}</bdi>
                <span className="meta">{BOARD_PART.kinds[row.kind]}</span>
              </span>
              {row.kind === "open-backlog" ? (
                <span className="meta">{BOARD_PART.noLabel}</span>
              ) : (
                <ColumnLabel row={row} labels={labels} onChange={(label) => put(row.id, label)} />
              )}
            </div>
          ))}
        </div>
      )}
    </div>
  );
}

function ColumnLabel({ row, labels, onChange }: { readonly row: Column; readonly labels: readonly SourceLabel[] | undefined; onChange(label?: string): void }) {
  const { mapsToLabel } = row;
  const found = labels?.find(({ name }) => name === mapsToLabel);
  return (
    <>
      <Combobox
        label={BOARD_PART.labelOf(row.title)}
        options={(labels ?? []).map(({ name, description }) => ({
          id: name,
          label: name,
          ...(description === undefined ? {} : { note: description.slice(0, 60) }),
        }))}
        value={mapsToLabel}
        free
        placeholder={row.kind === "closed" ? BOARD_PART.optional : undefined}
        onChange={(next) => onChange(next === "" ? undefined : next)}
      />
      {found?.color !== undefined && (
        <svg className="admin-column-colour" width="12" height="12" role="img" aria-label={found.color}>
          <rect width="12" height="12" rx="2" fill={found.color} />
        </svg>
      )}
      {labels !== undefined && mapsToLabel !== undefined && found === undefined && (
        <span className="admin-column-missing">
          <Glyph state="waiting" />
          {BOARD_PART.missing}
        </span>
      )}
    </>
  );
}

/** Returns the columns of the document, completed; the usual ones without any. */
function columnsIn(written: unknown, usual: readonly Column[] | undefined): readonly Column[] {
  if (!Array.isArray(written)) return usual ?? [];
  return written.filter(isFields).map((column) => {
    const known = usual?.find(({ id }) => id === column["id"]);
    const { mapsToLabel: _, ...rest } = known ?? { id: String(column["id"]), title: String(column["id"]), kind: "scoped-label" as const };
    return { ...rest, ...column } as Column;
  });
}
