import { Ajv, type ValidateFunction } from "ajv";

/** One call of the GitLab REST API (v4), as its published reference describes it: what may be asked for, and by which rights of a token. */
export interface Call {
  /** Its name in the far end. */
  readonly name: string;
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** Below `/api/v4`; `:name` is one part, percent-encoded. */
  readonly path: string;
  readonly query: ValidateFunction;
  readonly body: ValidateFunction;
  readonly pattern: RegExp;
  readonly names: readonly string[];
}

type Schemas = Readonly<Record<string, object>>;

const ajv = new Ajv({ strict: false, allErrors: true, coerceTypes: false });
const text = { type: "string" };
const filled = { type: "string", minLength: 1 };
/** Numbers in a query are text. */
const digits = { type: "string", pattern: "^\\d+$" };
const isoTime = { type: "string", pattern: "^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}(\\.\\d+)?(Z|[+-]\\d{2}:?\\d{2})$" };
const day = { type: "string", pattern: "^\\d{4}-\\d{2}-\\d{2}$" };
const flag = { type: "string", enum: ["true", "false"] };
const labels = { anyOf: [{ type: "string" }, { type: "array", items: text }] };
const paged: Schemas = { page: digits, per_page: { type: "string", pattern: "^([1-9]|[1-9]\\d|100)$" } };
const sorted: Schemas = { order_by: { enum: ["created_at", "updated_at"] }, sort: { enum: ["asc", "desc"] } };
const listed: Schemas = {
  ...paged,
  ...sorted,
  labels: text,
  updated_after: isoTime,
  updated_before: isoTime,
  created_after: isoTime,
  created_before: isoTime,
  search: text,
  with_labels_details: flag,
  scope: { enum: ["all", "created_by_me", "assigned_to_me"] },
};
const position = {
  type: "object",
  required: ["position_type", "base_sha", "head_sha", "start_sha"],
  additionalProperties: false,
  properties: {
    position_type: { enum: ["text", "image", "file"] },
    base_sha: filled,
    head_sha: filled,
    start_sha: filled,
    new_path: text,
    old_path: text,
    new_line: { type: "integer", minimum: 1 },
    old_line: { type: "integer", minimum: 1 },
  },
};

/** What a note can be about, as it stands in paths. */
const NOTEABLES = ["issues/:iid", "merge_requests/:iid", "repository/commits/:sha"];

const rows: readonly (readonly [name: string, method: Call["method"], path: string, query?: Schemas, body?: Schemas, required?: readonly string[]])[] = [
  ["me", "GET", "/user"],
  ["token", "GET", "/personal_access_tokens/self"],
  ["user", "GET", "/users/:user"],
  ["users", "GET", "/users", { username: filled, ...paged }],
  ["projects", "GET", "/projects", { ...paged, membership: flag, simple: flag, archived: flag }],
  ["project", "GET", "/projects/:id"],
  ["member", "GET", "/projects/:id/members/all/:user"],
  ["labels", "GET", "/projects/:id/labels", { ...paged, search: text, with_counts: flag, include_ancestor_groups: flag }],
  ["issues", "GET", "/projects/:id/issues", { ...listed, state: { enum: ["all", "opened", "closed"] } }],
  ["issue", "GET", "/projects/:id/issues/:iid"],
  [
    "changeIssue",
    "PUT",
    "/projects/:id/issues/:iid",
    {},
    { title: filled, description: text, labels, add_labels: labels, remove_labels: labels, state_event: { enum: ["close", "reopen"] } },
  ],
  ["requests", "GET", "/projects/:id/merge_requests", { ...listed, state: { enum: ["all", "opened", "closed", "locked", "merged"] }, source_branch: text }],
  ["request", "GET", "/projects/:id/merge_requests/:iid"],
  [
    "openRequest",
    "POST",
    "/projects/:id/merge_requests",
    {},
    {
      source_branch: filled,
      target_branch: filled,
      title: filled,
      description: text,
      labels,
      remove_source_branch: { type: "boolean" },
      squash: { type: "boolean" },
    },
    ["source_branch", "target_branch", "title"],
  ],
  [
    "changeRequest",
    "PUT",
    "/projects/:id/merge_requests/:iid",
    {},
    { title: filled, description: text, labels, add_labels: labels, remove_labels: labels, state_event: { enum: ["close", "reopen"] } },
  ],
  ["approve", "POST", "/projects/:id/merge_requests/:iid/approve", {}, { sha: filled }],
  ["approvals", "GET", "/projects/:id/merge_requests/:iid/approvals"],
  ["versions", "GET", "/projects/:id/merge_requests/:iid/versions", paged],
  [
    "todos",
    "GET",
    "/todos",
    { ...paged, action: { enum: ["assigned", "mentioned", "directly_addressed"] }, state: { enum: ["pending", "done"] }, type: text, project_id: digits },
  ],
  ["events", "GET", "/projects/:id/events", { ...paged, action: text, target_type: text, after: day, before: day, sort: { enum: ["asc", "desc"] } }],
  ["upload", "GET", "/projects/:id/uploads/:secret/:file"],
  ...NOTEABLES.flatMap((noteable): typeof rows => [
    ["discussions", "GET", `/projects/:id/${noteable}/discussions`, paged],
    ["discussion", "GET", `/projects/:id/${noteable}/discussions/:discussion`],
    ["discuss", "POST", `/projects/:id/${noteable}/discussions`, {}, { body: filled, created_at: isoTime, position, commit_id: text }, ["body"]],
    ["reply", "POST", `/projects/:id/${noteable}/discussions/:discussion/notes`, {}, { body: filled, created_at: isoTime }, ["body"]],
    ["editNote", "PUT", `/projects/:id/${noteable}/discussions/:discussion/notes/:note`, {}, { body: filled, resolved: { type: "boolean" } }],
    ["removeNote", "DELETE", `/projects/:id/${noteable}/discussions/:discussion/notes/:note`],
  ]),
  ...NOTEABLES.slice(0, 2).flatMap((noteable): typeof rows => [
    ["notes", "GET", `/projects/:id/${noteable}/notes`, { ...paged, ...sorted }],
    ["note", "GET", `/projects/:id/${noteable}/notes/:note`],
    ["editNote", "PUT", `/projects/:id/${noteable}/notes/:note`, {}, { body: filled }, ["body"]],
    ["addNote", "POST", `/projects/:id/${noteable}/notes`, {}, { body: filled, internal: { type: "boolean" }, created_at: isoTime }, ["body"]],
    ["awards", "GET", `/projects/:id/${noteable}/notes/:note/award_emoji`, paged],
    ["award", "POST", `/projects/:id/${noteable}/notes/:note/award_emoji`, {}, { name: { type: "string", pattern: "^[a-z0-9_+-]+$" } }, ["name"]],
    ["awardItem", "POST", `/projects/:id/${noteable}/award_emoji`, {}, { name: { type: "string", pattern: "^[a-z0-9_+-]+$" } }, ["name"]],
  ]),
];

/** The calls that this far end knows; anything else is against its API. */
export const CALLS: readonly Call[] = rows.map(([name, method, path, query = {}, body = {}, required = []]) => {
  const names: string[] = [];
  const source = path.replaceAll(/:(\w+)/g, (_, part: string) => {
    names.push(part);
    return "([^/]+)";
  });
  return {
    name,
    method,
    path,
    names,
    pattern: new RegExp(`^/api/v4${source}$`),
    query: ajv.compile({ type: "object", additionalProperties: false, properties: query }),
    body: ajv.compile({ type: "object", additionalProperties: false, properties: body, required }),
  };
});

/** The call that a request makes, with the parts of its path. */
export function callOf(method: string, path: string): { readonly call: Call; readonly parts: Readonly<Record<string, string>> } | undefined {
  for (const call of CALLS) {
    const match = call.method === method ? call.pattern.exec(path) : null;
    if (match === null) continue;
    const parts = Object.fromEntries(call.names.map((name, at) => [name, decodeURIComponent(match[at + 1] as string)]));
    return { call, parts };
  }
  return undefined;
}

/** What is wrong with a query or a body, in words; undefined when nothing is. */
export function findings(validate: ValidateFunction, value: unknown): string | undefined {
  return validate(value) ? undefined : ajv.errorsText(validate.errors, { dataVar: "it" }) + unknownOf(validate);
}

const unknownOf = (validate: ValidateFunction): string =>
  (validate.errors ?? []).flatMap(({ params }) => ("additionalProperty" in params ? [` (${String(params.additionalProperty)})`] : [])).join("");
