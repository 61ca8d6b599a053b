import type { Schema, SectionProblem } from "@svc/sdk";
import { COLUMN_IDS, type ColumnId, type ColumnKind, columnsOf } from "./columns.ts";

/** A column in svc.json: omitted fields follow from its id. */
export interface ColumnSettings {
  readonly id: ColumnId;
  readonly title?: string;
  readonly kind?: ColumnKind;
  readonly mapsToLabel?: string;
}

/** One entry of `boards` (001:L222-238), defaults filled in. `reconciliation` is kept and has no effect (BRD-07). */
export interface BoardSettings {
  readonly id: string;
  readonly name: string;
  readonly source: { readonly type: string; readonly projects: readonly string[] };
  readonly primaryToolLabel?: string;
  readonly labels: readonly { readonly name: string; readonly color?: string; readonly description?: string }[];
  readonly columns?: readonly ColumnSettings[];
  readonly timeRangeDays: number;
  readonly closedWindowDays: number;
  readonly reconciliation?: object;
}

/** The source that comes with svc. */
const BUILT_IN = "forge_a";

const word = (description: string): Schema => ({ type: "string", minLength: 1, maxLength: 255, description });
const days = (description: string): Schema => ({ type: "number", minimum: 1, maximum: 365, default: 30, description });
const label = (description: string): Schema => ({ ...word(description), pattern: "^[^,]*[^,\\s][^,]*$" });

const COLUMN: Schema = {
  type: "object",
  additionalProperties: false,
  required: ["id"],
  properties: {
    id: { enum: COLUMN_IDS, description: "which of the six it is" },
    title: word("what people read above it; default that of its id"),
    kind: {
      enum: ["open-backlog", "scoped-label", "closed", "label"],
      description: "which cards are in it; default open-backlog for triage, closed for done, scoped-label for the others",
    },
    mapsToLabel: label("label that a card gets when it enters"),
  },
};

/** The section of svc.json. */
export const BOARDS: Schema = {
  type: "array",
  description: "boards: issues of a source as cards in six columns",
  items: {
    type: "object",
    additionalProperties: false,
    required: ["id", "name", "source"],
    properties: {
      id: { type: "string", pattern: "^[a-z0-9-]+$", maxLength: 64, description: "its name in addresses: lower-case letters, digits and -" },
      name: word("what people read"),
      source: {
        type: "object",
        description: "where the cards come from",
        additionalProperties: false,
        required: ["type", "projects"],
        properties: {
          type: { type: "string", pattern: "^[a-z0-9][a-z0-9_-]*$", description: "forge_a, or a source that a plugin brings" },
          projects: {
            type: "array",
            minItems: 1,
            maxItems: 100,
            uniqueItems: true,
            items: { ...word("path of a project, such as group/app"), pattern: "^[^#\\s]+$" },
            description: "paths of the projects; nothing else is written",
          },
        },
      },
      primaryToolLabel: label("only issues that have this label, too"),
      labels: {
        type: "array",
        default: [],
        description: "how labels are shown",
        items: {
          type: "object",
          additionalProperties: false,
          required: ["name"],
          properties: {
            name: word("the label"),
            color: { type: "string", pattern: "^#[0-9A-Fa-f]{6}$", description: "#RRGGBB" },
            description: { type: "string", maxLength: 1_000, description: "what it means" },
          },
        },
      },
      columns: { type: "array", minItems: 6, maxItems: 6, items: COLUMN, description: "all six, in the order in which they are shown" },
      timeRangeDays: days("open issues that were updated in these days"),
      closedWindowDays: days("closed issues that were closed in these days"),
      reconciliation: {
        type: "object",
        unread: true,
        description: "kept for cards that stay in Doing for long; nothing is computed yet",
        additionalProperties: false,
        properties: {
          enabled: { type: "boolean", default: true, description: "switch" },
          staleDoingMinutes: { type: "number", exclusiveMinimum: 0, default: 45, description: "minutes in Doing" },
          respectLunchBreak: { type: "boolean", default: true, description: "the lunch break does not count" },
          respectSchedule: { type: "boolean", default: true, description: "time outside the schedule does not count" },
          action: { enum: ["badge", "notify"], default: "badge", description: "what happens" },
        },
      },
    },
  },
};

/** Checks that the schema cannot express. */
export function checkBoards(section: readonly BoardSettings[]): readonly SectionProblem[] {
  return section.flatMap((board, at) => {
    const twice = section.slice(0, at).some(({ id }) => id === board.id);
    return [
      ...(twice ? [{ path: `[${at}].id`, message: `'${board.id}' is there twice; give each board an id of its own`, severity: "error" as const }] : []),
      ...(board.source.type === BUILT_IN
        ? []
        : [
            {
              path: `[${at}].source.type`,
              message: `is not built in (${BUILT_IN} is): the board can be read only while a plugin brings '${board.source.type}'`,
            },
          ]),
      ...columnProblems(board).map(({ path, ...problem }) => ({ ...problem, path: `[${at}].columns${path}` })),
    ];
  });
}

function columnProblems({ columns }: BoardSettings): SectionProblem[] {
  if (columns === undefined) return [];
  const all = columnsOf(columns);
  const problems: SectionProblem[] = [];
  const error = (path: string, message: string) => problems.push({ path, message, severity: "error" });
  all.forEach(({ id, kind, label: mapped }, at) => {
    const before = all.slice(0, at);
    if (before.some((one) => one.id === id)) error(`[${at}].id`, `'${id}' is there twice; each of ${COLUMN_IDS.join(", ")} is needed once`);
    if ((kind === "open-backlog" || kind === "closed") && before.some((one) => one.kind === kind))
      error(`[${at}].kind`, `'${kind}' is there twice; a card can be in one column only`);
    if (kind === "open-backlog" && mapped !== undefined)
      error(`[${at}].mapsToLabel`, "is set for an open-backlog column, which holds what has no label; take it out, or give the column another kind");
    if ((kind === "scoped-label" || kind === "label") && mapped === undefined)
      error(`[${at}].mapsToLabel`, `is missing; a ${kind} column needs the label that its cards have`);
    if (mapped === undefined) return;
    if (kind === "scoped-label" && !mapped.includes("::"))
      error(`[${at}].mapsToLabel`, `'${mapped}' has no scope, as status::doing has; name a scoped label, or give the column the kind "label"`);
    if (before.some((one) => one.label === mapped)) error(`[${at}].mapsToLabel`, `'${mapped}' is that of another column, too`);
  });
  const scopes = new Set(all.flatMap(({ kind, scope }) => (kind === "scoped-label" && scope !== undefined ? [scope] : [])));
  if (scopes.size > 1)
    problems.push({
      path: "",
      message: `have labels of several scopes (${[...scopes].join(", ")}): a move leaves those of other scopes, so a card can fit two columns`,
    });
  return problems;
}
