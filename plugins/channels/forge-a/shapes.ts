import type { ForgeNote, ForgePlace, ForgePosition, ForgeProject, ForgeUser } from "@svc/sdk";

/** Whatever came, read with care: nothing of it is believed to be there. */
export type Fields = Readonly<Record<string, unknown>>;

/** An object with named fields. */
export const isRecord = (value: unknown): value is Fields => typeof value === "object" && value !== null && !Array.isArray(value);

/** The fields of something that may not be there. */
export const fieldsOf = (value: unknown): Fields => (isRecord(value) ? value : {});

/** A text; empty for anything else. */
export const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

/** A number of the forge as text; undefined for anything else. */
export const numberOf = (value: unknown): string | undefined =>
  typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? String(value) : undefined;

/** A time as the forge writes it, in lists (ISO) or hooks (`2015-05-17 17:06:40 UTC`), in Unix milliseconds; undefined for anything else. */
export function timeOf(value: unknown): number | undefined {
  const [, day, clock, zone = "Z"] = /^(\d{4}-\d{2}-\d{2})[ T](\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?) ?(Z|UTC|[+-]\d{2}:?\d{2})?$/.exec(textOf(value)) ?? [];
  if (day === undefined || clock === undefined) return undefined;
  const offset = zone === "UTC" ? "Z" : zone.replace(/^([+-]\d{2}):?(\d{2})$/, "$1:$2");
  const ms = Date.parse(`${day}T${clock}${offset}`);
  return Number.isNaN(ms) ? undefined : ms;
}

/** As `timeOf`, to the second: hooks tell no more of a note, and the same time must not be an earlier one for having come in a list. */
export function stampOf(value: unknown): number | undefined {
  const ms = timeOf(value);
  return ms === undefined ? undefined : ms - (ms % 1_000);
}

/** A user; undefined without an id and a name. */
export function userOf(value: unknown): ForgeUser | undefined {
  const { id, username, name, bot } = fieldsOf(value);
  const number = numberOf(id);
  if (number === undefined || textOf(username) === "") return undefined;
  return { id: number, login: textOf(username), ...(textOf(name) === "" ? {} : { name: textOf(name) }), ...(typeof bot === "boolean" ? { bot } : {}) };
}

/** Accounts of access tokens have such names, also on forges too old to say that they are bots. */
export const namesBot = (login: string): boolean => /^(?:project|group)_\d+_bot(?:_?[0-9a-f]*)$/.test(login);

/** The parts of the API's path that name a place. */
export function pathOf({ project, kind, id }: ForgePlace): readonly string[] {
  const noteable = { issue: ["issues"], request: ["merge_requests"], commit: ["repository", "commits"] }[kind];
  return ["projects", project.id, ...noteable, id];
}

/** Where people read it. */
export function webAddress(home: string, { project, kind, id }: ForgePlace, note?: string): string {
  const page = { issue: "issues", request: "merge_requests", commit: "commit" }[kind];
  const path = project.path.split("/").map(encodeURIComponent).join("/");
  return `${home}/${path}/-/${page}/${encodeURIComponent(id)}${note === undefined ? "" : `#note_${encodeURIComponent(note)}`}`;
}

/** The line that a note is about. */
export function positionOf(value: unknown): ForgePosition | undefined {
  if (!isRecord(value)) return undefined;
  const { new_path, old_path, new_line, old_line, head_sha } = value;
  const old = numberOf(new_line) === undefined && numberOf(old_line) !== undefined;
  const path = textOf(old ? old_path : new_path) || textOf(old_path);
  const line = numberOf(old ? old_line : new_line);
  if (path === "") return undefined;
  return {
    path,
    ...(line === undefined ? {} : { line: Number(line), side: old ? "old" : "new" }),
    ...(textOf(head_sha) === "" ? {} : { sha: textOf(head_sha) }),
    raw: value,
  };
}

/** The hash of a commit. */
export const shaOf = (value: unknown): string | undefined => (/^[0-9a-f]{7,64}$/.test(textOf(value)) ? textOf(value) : undefined);

/** A listed place: its project, its title, and the branches of a request. */
export interface Listed {
  readonly place: ForgePlace;
  readonly title?: string;
  readonly request?: NonNullable<ForgeNote["request"]>;
}

/** An issue or a request as the API lists it; undefined for something else. */
export function listedOf(value: unknown, project: ForgeProject, kind: "issue" | "request"): Listed | undefined {
  const { iid, title } = fieldsOf(value);
  const id = numberOf(iid);
  if (id === undefined) return undefined;
  const request = kind === "request" ? branchesOf(value) : undefined;
  return { place: { project, kind, id }, ...(textOf(title) === "" ? {} : { title: textOf(title) }), ...(request === undefined ? {} : { request }) };
}

/** The branches of a request, of a hook or of a list. */
export function branchesOf(value: unknown): NonNullable<ForgeNote["request"]> | undefined {
  const { source_branch: source, target_branch: target, source_project_id: from, target_project_id: to } = fieldsOf(value);
  if (textOf(source) === "" || textOf(target) === "") return undefined;
  // Without a source project, assume a fork.
  return { source: textOf(source), target: textOf(target), ...(numberOf(from) !== undefined && from === to ? {} : { fork: true as const }) };
}

/** A note as the API lists it, of a discussion of a place; undefined for something else. */
export function noteOf(value: unknown, { place, title, request }: Listed, home: string, thread: string | undefined): ForgeNote | undefined {
  const fields = fieldsOf(value);
  const [id, author] = [numberOf(fields.id), userOf(fields.author)];
  const [createdAt, updatedAt] = [stampOf(fields.created_at), stampOf(fields.updated_at)];
  if (id === undefined || author === undefined || createdAt === undefined) return undefined;
  const position = positionOf(fields.position);
  const internal = fields.internal === true || fields.confidential === true;
  return {
    place: {
      ...place,
      ...(thread === undefined ? {} : { thread }),
      ...(internal ? { internal: true as const } : {}),
      ...(position === undefined ? {} : { position }),
    },
    kind: place.kind === "commit" ? "commit-note" : position === undefined ? "note" : "review-note",
    id,
    author,
    text: textOf(fields.body),
    createdAt,
    updatedAt: updatedAt ?? createdAt,
    edited: (updatedAt ?? createdAt) > createdAt + 1_000,
    ...(fields.system === true ? { system: true as const } : {}),
    url: webAddress(home, place, id),
    ...(title === undefined ? {} : { title }),
    ...(request === undefined ? {} : { request }),
  };
}

/** The description of an issue or a request as the API lists it, as a note of its own. */
export function descriptionOf(value: unknown, listed: Listed, home: string): ForgeNote | undefined {
  const fields = fieldsOf(value);
  const [id, author, createdAt] = [numberOf(fields.id), userOf(fields.author), stampOf(fields.created_at)];
  if (id === undefined || author === undefined || createdAt === undefined) return undefined;
  const { place, title, request } = listed;
  return {
    place,
    kind: "description",
    id,
    author,
    text: textOf(fields.description),
    createdAt,
    // Other changes update its timestamp as well: the time of the text's change is unknown.
    updatedAt: createdAt,
    edited: false,
    url: webAddress(home, place),
    ...(title === undefined ? {} : { title }),
    ...(request === undefined ? {} : { request }),
  };
}
