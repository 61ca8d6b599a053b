import { useMemo } from "react";
import type { ApiError } from "../../data/api-error.ts";
import { useResource } from "../../data/resource.ts";
import type { FormSurroundings, Reference } from "../../forms/form-context.ts";
import { type FormPath, isFields, valueAt } from "../../forms/form-path.ts";
import type { Column } from "../boards/board-types.ts";

/** A label that the source of a board has. */
export interface SourceLabel {
  readonly name: string;
  readonly color?: string;
  readonly description?: string;
}

/** Labels that the source of the edited board reports. */
export interface BoardLabels {
  readonly source: string;
  readonly labels?: readonly SourceLabel[];
  /** The six columns of a board that names none. */
  readonly columns?: readonly Column[];
  readonly error?: ApiError;
  readonly loading: boolean;
  reload(): void;
}

/** Reads the labels of the source that the board at `path` names in the document as it is edited; undefined for anything else and while it names no project. */
export function useBoardLabels(document: unknown, path: FormPath): BoardLabels | undefined {
  const source = path[0] === "boards" ? valueAt(document, [...path.slice(0, 2), "source"]) : undefined;
  const { type = "", projects = [] } = isFields(source) ? (source as { type?: unknown; projects?: unknown }) : {};
  const named = (Array.isArray(projects) ? projects : []).filter((one) => typeof one === "string" && one !== "");
  const asked = typeof type === "string" && type !== "" && named.length > 0;
  const query = new URLSearchParams({ source: String(type), projects: named.join(" ") });
  const { data, error, loading, reload } = useResource<Pick<BoardLabels, "labels" | "columns">>(asked ? `/api/board-labels?${query}` : undefined);
  if (!asked) return undefined;
  return { source: type, ...data, ...(error === undefined ? {} : { error }), loading, reload };
}

/** Targets of references: labels of the source for those of a board (columns, decorations, the one that all cards have), else `others`. */
export function useLabelReferences(
  labels: readonly SourceLabel[] | undefined,
  others: NonNullable<FormSurroundings["references"]>,
): NonNullable<FormSurroundings["references"]> {
  return useMemo(() => {
    if (labels === undefined) return others;
    const options: readonly Reference[] = labels.map(({ name, description }) => ({
      id: name,
      ...(description === undefined ? {} : { note: description.slice(0, 60) }),
    }));
    return (path, schema) => {
      const key = path.at(-1);
      const isLabel = path[0] === "boards" && (key === "mapsToLabel" || key === "primaryToolLabel" || (key === "name" && path[2] === "labels"));
      return isLabel ? options : others(path, schema);
    };
  }, [labels, others]);
}
