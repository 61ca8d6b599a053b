import { NOTEABLE, pageOf, positionShape, SHA } from "./shapes.ts";
import type { Item, Note, User } from "./state.ts";

/** Hooks write times without a `T` where the API has one. */
const hookTime = (at: number) => `${new Date(at).toISOString().slice(0, 19).replace("T", " ")} UTC`;

const userOf = ({ id, username }: User) => ({ id, name: username, username, avatar_url: null, email: "[REDACTED]" });

const projectOf = ({ project }: Item, url: string) => ({
  id: project.id,
  name: project.path.split("/").at(-1),
  description: "",
  web_url: `${url}/${project.path}`,
  namespace: project.path.split("/").slice(0, -1).join("/"),
  visibility_level: project.private ? 0 : 20,
  path_with_namespace: project.path,
  default_branch: "main",
});

const itemOf = (item: Item, url: string) => ({
  id: item.id,
  iid: item.key,
  author_id: item.author.id,
  title: item.title,
  description: item.description,
  state: item.state,
  created_at: hookTime(item.createdAt),
  updated_at: hookTime(item.updatedAt),
  updated_by_id: item.updatedBy?.id ?? null,
  project_id: item.project.id,
  url: pageOf(item, url),
  labels: item.labels.map((title, at) => ({ id: at + 1, title })),
  ...(item.kind === "request"
    ? {
        source_branch: item.branches?.source ?? "topic",
        target_branch: item.branches?.target ?? "main",
        source_project_id: item.project.id,
        target_project_id: item.project.id,
        last_commit: { id: SHA },
      }
    : {}),
});

/** What a hook says of a note. An edit names the author of the note in `user`, not who edited it. */
export function notePayload(note: Note, action: "create" | "update", url: string): object {
  const { item } = note;
  const kind = { issue: "issue", request: "merge_request", commit: "commit" }[item.kind];
  return {
    object_kind: "note",
    event_type: note.internal ? "confidential_note" : "note",
    user: userOf(note.author),
    project_id: item.project.id,
    project: projectOf(item, url),
    repository: { name: item.project.path.split("/").at(-1), url: `${url}/${item.project.path}.git` },
    object_attributes: {
      id: note.id,
      note: note.body,
      description: note.body,
      noteable_type: NOTEABLE[item.kind],
      noteable_id: item.kind === "commit" ? null : item.id,
      author_id: note.author.id,
      created_at: hookTime(note.createdAt),
      updated_at: hookTime(note.updatedAt),
      updated_by_id: note.updatedBy?.id ?? null,
      project_id: item.project.id,
      attachment: null,
      commit_id: item.kind === "commit" ? item.key : "",
      line_code: note.position === undefined ? null : "a1b2_0_1",
      discussion_id: note.discussion,
      internal: note.internal,
      system: note.system,
      type: note.position === undefined ? (note.individual ? null : "DiscussionNote") : "DiffNote",
      position: positionShape(note) ?? null,
      action,
      url: `${pageOf(item, url)}#note_${note.id}`,
    },
    [kind]: item.kind === "commit" ? { id: item.key, title: item.title, message: item.title, url: pageOf(item, url) } : itemOf(item, url),
  };
}

/** What a hook says of an issue or a merge request. */
export function itemPayload(item: Item, by: User, action: "open" | "update" | "close" | "reopen", url: string, previous?: string): object {
  const kind = item.kind === "issue" ? "issue" : "merge_request";
  return {
    object_kind: kind,
    event_type: kind,
    user: userOf(by),
    project: projectOf(item, url),
    repository: { name: item.project.path.split("/").at(-1) },
    object_attributes: { ...itemOf(item, url), action },
    labels: item.labels.map((title, at) => ({ id: at + 1, title })),
    changes: previous === undefined ? {} : { description: { previous, current: item.description } },
  };
}
