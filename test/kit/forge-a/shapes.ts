import type { Item, Note, Project, Todo, User } from "./state.ts";

const iso = (at: number) => new Date(at).toISOString();

/** A user as others see it. */
export const userShape = ({ id, username, bot }: User, url: string) => ({
  id,
  username,
  name: username,
  state: "active",
  bot,
  web_url: `${url}/${username}`,
});

/** A project, short. */
export const projectShape = (project: Project, url: string) => ({
  id: project.id,
  name: project.path.split("/").at(-1),
  path_with_namespace: project.path,
  visibility: project.private ? "private" : "public",
  default_branch: "main",
  web_url: `${url}/${project.path}`,
});

/** The address of the page of an item. */
export const pageOf = (item: Item, url: string) =>
  `${url}/${item.project.path}/-/${item.kind === "commit" ? "commit" : item.kind === "issue" ? "issues" : "merge_requests"}/${item.key}`;

/** An issue or a merge request. */
export function itemShape(item: Item, url: string) {
  const request = item.kind === "request";
  return {
    id: item.id,
    iid: item.key,
    project_id: item.project.id,
    title: item.title,
    description: item.description,
    state: item.state,
    labels: item.labels,
    author: userShape(item.author, url),
    assignees: (item.assignees ?? []).map((user) => userShape(user, url)),
    created_at: iso(item.createdAt),
    updated_at: iso(item.updatedAt),
    closed_at: item.closedAt === undefined || item.state === "opened" ? null : iso(item.closedAt),
    web_url: pageOf(item, url),
    ...(request
      ? {
          source_branch: item.branches?.source ?? "topic",
          target_branch: item.branches?.target ?? "main",
          source_project_id: item.project.id,
          target_project_id: item.project.id,
          sha: SHA,
          diff_refs: { base_sha: SHA, head_sha: SHA, start_sha: SHA },
        }
      : { confidential: false }),
  };
}

/** The only commit that requests have here. */
export const SHA = "6104942438c14ec7bd21c6cd5bd995272b3faff6";

/** What the API calls the kind of thing that a note is about. */
export const NOTEABLE = { issue: "Issue", request: "MergeRequest", commit: "Commit" } as const;

/** The position of a diff note. */
export const positionShape = ({ position }: Note) =>
  position && {
    base_sha: SHA,
    start_sha: SHA,
    head_sha: position.sha ?? SHA,
    position_type: "text",
    old_path: position.path,
    new_path: position.path,
    old_line: position.side === "old" ? position.line : null,
    new_line: position.side === "old" ? null : position.line,
  };

/** A note. */
export const noteShape = (note: Note, url: string) => ({
  id: note.id,
  type: note.position === undefined ? (note.individual ? null : "DiscussionNote") : "DiffNote",
  body: note.body,
  author: userShape(note.author, url),
  created_at: iso(note.createdAt),
  updated_at: iso(note.updatedAt),
  system: note.system,
  noteable_id: note.item.kind === "commit" ? null : note.item.id,
  noteable_type: NOTEABLE[note.item.kind],
  project_id: note.item.project.id,
  ...(note.item.kind === "commit" ? { commit_id: note.item.key } : { noteable_iid: note.item.key }),
  resolvable: !note.individual,
  internal: note.internal,
  confidential: note.internal,
  ...(note.position === undefined ? {} : { position: positionShape(note) }),
});

/** Discussions of notes that somebody may see, oldest first. */
export function discussionShapes(notes: readonly Note[], url: string) {
  const ids = [...new Set(notes.map(({ discussion }) => discussion))];
  return ids.map((id) => {
    const own = notes.filter(({ discussion }) => discussion === id);
    return { id, individual_note: own[0]?.individual ?? true, notes: own.map((note) => noteShape(note, url)) };
  });
}

/** What waits for a user. */
export const todoShape = (todo: Todo, url: string) => ({
  id: todo.id,
  project: projectShape(todo.item.project, url),
  author: userShape(todo.note?.author ?? todo.item.author, url),
  action_name: todo.action,
  target_type: NOTEABLE[todo.item.kind],
  target: todo.item.kind === "commit" ? { id: todo.item.key, title: todo.item.title } : itemShape(todo.item, url),
  target_url: pageOf(todo.item, url) + (todo.note === undefined ? "" : `#note_${todo.note.id}`),
  body: todo.body,
  state: todo.done ? "done" : "pending",
  created_at: iso(todo.createdAt),
  updated_at: iso(todo.createdAt),
});
