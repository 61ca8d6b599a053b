import { type ForgeEvent, type ForgeNote, type ForgePlace, type ForgeProject, type ForgeUser, svcError } from "@svc/sdk";
import { branchesOf, type Fields, fieldsOf, isRecord, numberOf, positionOf, shaOf, stampOf, textOf, webAddress } from "./shapes.ts";

/** An edit shows a later time; the two stamps of a new note can differ by less. */
const SAME_TIME_MS = 1_000;

/** Parses a webhook. The header names the event less exactly than the body: confidential notes have another one there. */
export function readHook(body: unknown, home: string, now = Date.now()): ForgeEvent {
  if (!isRecord(body)) throw unreadable("it is no JSON object");
  const kind = textOf(body.object_kind) || textOf(body.event_name) || textOf(body.event_type);
  if (kind === "") throw unreadable("it names no object_kind");
  if (kind === "note") return noteEvent(body, home, now);
  if (kind === "issue" || kind === "work_item" || kind === "merge_request") return itemEvent(body, kind === "merge_request" ? "request" : "issue", home, now);
  return { kind: "ignored", reason: `kind ${kind.slice(0, 40)}` };
}

const unreadable = (reason: string) => svcError("SVC_FORGE_PAYLOAD", `This is no webhook of the forge: ${reason}.`, { status: 400 });

function noteEvent(body: Fields, home: string, now: number): ForgeEvent {
  const given = fieldsOf(body.object_attributes);
  const id = numberOf(given.id);
  if (id === undefined) throw unreadable("its note has no id");
  const about = placeOf(body, given);
  if (about === undefined) return { kind: "ignored", reason: `kind note on ${textOf(given.noteable_type).slice(0, 40) || "nothing"}` };
  const { place, subject } = about;
  const author = authorOf(given.author_id, body.user);
  if (author === undefined) throw unreadable("its note has no author");
  const createdAt = stampOf(given.created_at) ?? stampOf(given.updated_at) ?? now;
  const updatedAt = stampOf(given.updated_at) ?? createdAt;
  const action = textOf(given.action);
  if (action !== "" && action !== "create" && action !== "update") return { kind: "ignored", reason: `action ${action.slice(0, 40)}` };
  const editor = editorOf(given.updated_by_id, author, body.user);
  const request = place.kind === "request" ? branchesOf(subject) : undefined;
  const note: ForgeNote = {
    place,
    kind: place.kind === "commit" ? "commit-note" : place.position === undefined ? "note" : "review-note",
    id,
    author,
    ...(editor === undefined ? {} : { editor }),
    text: textOf(given.note) || textOf(given.description),
    createdAt,
    updatedAt,
    // Forges before 16.11 name no action.
    edited: action === "update" || (action === "" && updatedAt > createdAt + SAME_TIME_MS),
    ...(given.system === true ? { system: true as const } : {}),
    url: webAddress(home, place, id),
    ...titled(subject),
    ...(request === undefined ? {} : { request }),
  };
  return { kind: "notes", notes: [note] };
}

const titled = ({ title }: Fields) => (textOf(title) === "" ? {} : { title: textOf(title) });

/** Where a note stands. Undefined for what cannot be answered, such as a snippet. */
function placeOf(body: Fields, given: Fields): { readonly place: ForgePlace; readonly subject: Fields } | undefined {
  const project = projectOf(body);
  const type = textOf(given.noteable_type);
  const thread = /^[0-9a-f]{6,64}$/.test(textOf(given.discussion_id)) ? textOf(given.discussion_id) : undefined;
  const internal = given.internal === true || given.confidential === true || textOf(body.event_type) === "confidential_note";
  const position = (textOf(given.type) === "DiffNote" ? positionOf(given.position) : undefined) ?? (type === "Commit" ? lineOf(given) : undefined);
  const more = {
    ...(thread === undefined ? {} : { thread }),
    ...(internal ? { internal: true as const } : {}),
    ...(position === undefined ? {} : { position }),
  };
  if (type === "Issue" || type === "WorkItem" || type === "MergeRequest") {
    const subject = fieldsOf(type === "MergeRequest" ? body.merge_request : (body.issue ?? body.work_item));
    const id = numberOf(subject.iid);
    if (id === undefined) throw unreadable(`its ${type} has no number`);
    return { place: { project, kind: type === "MergeRequest" ? "request" : "issue", id, ...more }, subject };
  }
  if (type !== "Commit") return undefined;
  const subject = fieldsOf(body.commit);
  const id = shaOf(subject.id) ?? shaOf(given.commit_id);
  if (id === undefined) throw unreadable("its commit has no hash");
  return { place: { project, kind: "commit", id, ...more }, subject };
}

/** The line of a note on a commit: its code ends with the line before and after. */
function lineOf({ line_code, st_diff }: Fields) {
  const { new_path, old_path } = fieldsOf(st_diff);
  const path = textOf(new_path) || textOf(old_path);
  const [, before, after] = /_(\d{1,9})_(\d{1,9})$/.exec(textOf(line_code)) ?? [];
  if (path === "") return undefined;
  const line = Number(after) || Number(before) || undefined;
  return { path, ...(line === undefined ? {} : { line, side: Number(after) > 0 ? ("new" as const) : ("old" as const) }) };
}

function projectOf(body: Fields): ForgeProject {
  const { id, path_with_namespace: path, visibility_level: level } = fieldsOf(body.project);
  const number = numberOf(id) ?? numberOf(body.project_id);
  if (number === undefined || textOf(path) === "") throw unreadable("it names no project");
  // 0 private, 10 for users of the forge, 20 public.
  return { id: number, path: textOf(path), private: level !== 20 };
}

/** `user` is who caused it, or on an edit the author: his name only where the id says so. The name is then looked up. */
function authorOf(id: unknown, user: unknown): ForgeUser | undefined {
  const number = numberOf(id) ?? numberOf(fieldsOf(user).id);
  if (number === undefined) return undefined;
  const { id: other, username } = fieldsOf(user);
  return { id: number, login: numberOf(other) === number ? textOf(username) : "" };
}

function editorOf(id: unknown, author: ForgeUser, user: unknown): ForgeUser | undefined {
  const number = numberOf(id);
  return number === undefined || number === author.id ? undefined : authorOf(id, user);
}

/** Issues and requests: their descriptions are notes too. */
function itemEvent(body: Fields, kind: "issue" | "request", home: string, now: number): ForgeEvent {
  const given = fieldsOf(body.object_attributes);
  const action = textOf(given.action);
  const change = fieldsOf(fieldsOf(body.changes).description);
  const edited = action === "update" && isRecord(fieldsOf(body.changes).description);
  if (action !== "open" && !edited)
    return { kind: "ignored", reason: action === "update" ? "action update of something else than the text" : `action ${action.slice(0, 40) || "none"}` };
  const [id, iid] = [numberOf(given.id), numberOf(given.iid)];
  if (id === undefined || iid === undefined) throw unreadable(`its ${kind} has no number`);
  const place: ForgePlace = { project: projectOf(body), kind, id: iid };
  const author = authorOf(given.author_id, body.user);
  if (author === undefined) throw unreadable(`its ${kind} has no author`);
  const createdAt = stampOf(given.created_at) ?? now;
  const updatedAt = stampOf(given.updated_at) ?? createdAt;
  // Of issues and requests `user` is who changed it.
  const editor = edited ? editorOf(given.updated_by_id ?? fieldsOf(body.user).id, author, body.user) : undefined;
  const request = kind === "request" ? branchesOf(given) : undefined;
  const note: ForgeNote = {
    place,
    kind: "description",
    id,
    author,
    ...(editor === undefined ? {} : { editor }),
    text: textOf(given.description),
    createdAt,
    updatedAt: edited ? updatedAt : createdAt,
    edited,
    ...(edited ? { previousText: textOf(change.previous) } : {}),
    url: webAddress(home, place),
    ...titled(given),
    ...(request === undefined ? {} : { request }),
  };
  return { kind: "notes", notes: [note] };
}
