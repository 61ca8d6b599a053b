import type { ForgeAnswer, ForgePosition } from "../forge-server.ts";
import { execute, extract } from "./quick-actions.ts";
import { discussionShapes, itemShape, NOTEABLE, noteShape, projectShape, SHA, todoShape, userShape } from "./shapes.ts";
import {
  addItem,
  addNote,
  DEVELOPER,
  GUEST,
  type Item,
  itemKey,
  levelOf,
  mayRead,
  type Note,
  nextNumber,
  type Project,
  projectOf,
  REPORTER,
  type State,
  settle,
  type User,
} from "./state.ts";

/** A call that has passed its schemas and its token. */
export interface Asked {
  readonly state: State;
  readonly url: string;
  readonly user: User;
  /** What the token may. */
  readonly scopes: readonly string[];
  readonly name: string;
  readonly path: string;
  readonly parts: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly body: Readonly<Record<string, unknown>>;
  /** Lists leave out notes that came by the API after this time. */
  readonly visibleUntil: number;
  /** Told of what hooks are sent for. */
  noted(note: Note, action: "create" | "update"): void;
  changed(item: Item, action: "open" | "update" | "close" | "reopen", previous?: string): void;
}

/** A refusal in the words of the API. */
export const refusal = (status: number, message: string): ForgeAnswer => ({ status, body: { message } });

const LARGEST_NOTE = 1_000_000;
const missing = (what: string) => refusal(404, `404 ${what} Not Found`);

/** As the platform counts: a sign outside of the basic plane is one. */
const charactersIn = (text: string): number => text.length - (text.match(/[\uD800-\uDBFF][\uDC00-\uDFFF]/g)?.length ?? 0);

/** Answers a call as the platform would. */
export function answer(asked: Asked): ForgeAnswer {
  const { state, url, user, parts, query, name } = asked;
  if (name === "me") return { status: 200, body: { ...userShape(user, url), email: `${user.username}@forge.test` } };
  if (name === "token") return { status: 200, body: { id: 1, name: "token", user_id: user.id, active: true, revoked: false, scopes: asked.scopes } };
  if (name === "user") {
    const found = [...state.users.values()].find(({ id }) => String(id) === parts.user);
    return found === undefined ? missing("User") : { status: 200, body: userShape(found, url) };
  }
  if (name === "users")
    return listed(
      asked,
      [...state.users.values()].filter(({ username }) => username.toLowerCase() === query.get("username")?.toLowerCase()).map((one) => userShape(one, url)),
    );
  if (name === "todos") {
    const wanted = state.todos.filter(
      (todo) =>
        todo.user === user &&
        todo.done === (query.get("state") === "done") &&
        (query.get("action") ?? todo.action) === todo.action &&
        mayRead(todo.item.project, user),
    );
    return listed(
      asked,
      wanted.toReversed().map((todo) => todoShape(todo, url)),
    );
  }
  if (name === "projects") {
    const own = state.projects.filter((one) => (query.get("membership") === "true" ? levelOf(one, user) > 0 : mayRead(one, user)));
    return listed(
      asked,
      own.map((one) => projectShape(one, url)),
    );
  }
  const project = projectOf(state, parts.id ?? "");
  if (project === undefined || !mayRead(project, user)) return missing("Project");
  return inProject(asked, project);
}

function inProject(asked: Asked, project: Project): ForgeAnswer {
  const { url, user, parts, query, name, state } = asked;
  if (name === "project") return { status: 200, body: projectShape(project, url) };
  if (name === "labels")
    return listed(
      asked,
      project.labels.map((label, at) => ({ id: at + 1, name: label, color: "#428BCA", is_project_label: true })),
    );
  if (name === "member") {
    const member = [...project.members].find(([{ id }]) => String(id) === parts.user);
    if (member === undefined || member[1] === 0) return missing("");
    return { status: 200, body: { ...userShape(member[0], url), access_level: member[1], expires_at: null } };
  }
  if (name === "upload") {
    const file = project.uploads.get(`${parts.secret}/${parts.file}`);
    if (file === undefined) return missing("Upload");
    if (file.login) return { status: 302, headers: { location: `${url}/users/sign_in` } };
    return file.redirect === undefined ? { status: 200, body: file.data } : { status: 302, headers: { location: file.redirect } };
  }
  if (name === "events") {
    const notes = [...state.notes.values()].filter(
      ({ item, system, createdAt }) => item.project === project && !system && sameOrLater(query.get("after"), createdAt),
    );
    return listed(
      asked,
      // As measured: answers in threads are missing in this list.
      notes
        .filter((note) => note.item.notes.find(({ discussion }) => discussion === note.discussion) === note)
        .map((note) => ({
          action_name: "commented on",
          author_id: note.author.id,
          target_type: note.position ? "DiffNote" : "Note",
          target_iid: note.id,
          created_at: new Date(note.createdAt).toISOString(),
          note: noteShape(note, url),
        })),
    );
  }
  if (name === "issues" || name === "requests") return listed(asked, itemsOf(asked, project, name === "issues" ? "issue" : "request"));
  if (name === "openRequest") return opened(asked, project);
  const key = parts.iid ?? parts.sha ?? "";
  const item = project.items.get(itemKey(asked.path.includes("/merge_requests/") ? "request" : parts.sha === undefined ? "issue" : "commit", key));
  if (item === undefined) return missing(parts.sha === undefined ? "" : "Commit");
  if (name === "issue" || name === "request") return { status: 200, body: itemShape(item, url) };
  if (name === "changeIssue" || name === "changeRequest") return levelOf(project, user) < REPORTER ? refusal(403, "403 Forbidden") : changedItem(asked, item);
  if (name === "versions") return listed(asked, [{ id: 1, head_commit_sha: SHA, base_commit_sha: SHA, start_commit_sha: SHA }]);
  if (name === "approve") {
    if (levelOf(project, user) < DEVELOPER || item.author === user || item.approvedBy.has(user)) return refusal(401, "401 Unauthorized");
    item.approvedBy.add(user);
    return { status: 201, body: { ...itemShape(item, url), approved_by: [...item.approvedBy].map((one) => ({ user: userShape(one, url) })) } };
  }
  if (name === "approvals") return { status: 200, body: { iid: item.key, user_has_approved: item.approvedBy.has(user), approved: item.approvedBy.size > 0 } };
  return atItem(asked, item);
}

/** A day counts from its end. */
const sameOrLater = (after: string | null, at: number) => after === null || at >= Date.parse(`${after}T00:00:00Z`) + 86_400_000;

function itemsOf({ query, url }: Asked, project: Project, kind: Item["kind"]) {
  const state = query.get("state") ?? "all";
  const names = (query.get("labels") ?? "").split(",").filter(Boolean);
  const order = query.get("order_by") === "updated_at" ? "updatedAt" : "createdAt";
  const found = [...project.items.values()].filter(
    (item) =>
      item.kind === kind &&
      (state === "all" || item.state === state) &&
      item.updatedAt >= Date.parse(query.get("updated_after") ?? "1970-01-01T00:00:00Z") &&
      names.every((name) => item.labels.includes(name)),
  );
  found.sort((left, right) => left[order] - right[order] || left.id - right.id);
  return (query.get("sort") === "asc" ? found : found.reverse()).map((item) => itemShape(item, url));
}

function opened(asked: Asked, project: Project): ForgeAnswer {
  const { state, user, url, body } = asked;
  if (levelOf(project, user) < DEVELOPER) return refusal(403, "403 Forbidden");
  const branches = { source: String(body.source_branch), target: String(body.target_branch) };
  const twin = [...project.items.values()].find(
    (item) => item.state === "opened" && item.branches?.source === branches.source && item.branches.target === branches.target,
  );
  if (twin !== undefined) return { status: 409, body: { message: [`Another open merge request already exists for this source branch: !${twin.key}`] } };
  const description = ran(asked, undefined, String(body.description ?? ""));
  const item = addItem(state, project, {
    kind: "request",
    key: nextNumber(project, "request"),
    title: String(body.title),
    description,
    author: user,
    branches,
    labels: namesOf(body.labels),
  });
  asked.changed(item, "open");
  return { status: 201, body: itemShape(item, url) };
}

const namesOf = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : String(value ?? "").split(",")).filter((name) => name !== "");

function changedItem(asked: Asked, item: Item): ForgeAnswer {
  const { state, user, url, body } = asked;
  const added = [...namesOf(body.add_labels), ...namesOf(body.labels)];
  for (const name of added) {
    if (item.project.labels.includes(name)) continue;
    // As the platform does, and what nobody here may ever cause.
    item.project.labels.push(name);
    state.violations.push(`a call made the label ${name} in ${item.project.path}`);
  }
  if (body.labels !== undefined) item.labels = namesOf(body.labels);
  item.labels = [...new Set([...item.labels.filter((name) => !namesOf(body.remove_labels).includes(name)), ...namesOf(body.add_labels)])];
  if (body.title !== undefined) item.title = String(body.title);
  const previous = item.description;
  if (body.description !== undefined) item.description = ran(asked, item, String(body.description));
  const { state_event: event } = body;
  if (event === "close" && item.state === "opened") item.state = "closed";
  if (event === "reopen" && item.state === "closed") item.state = "opened";
  item.updatedAt = Math.max(state.now(), item.updatedAt + 1);
  if (event === "close") item.closedAt = item.updatedAt;
  item.updatedBy = user;
  asked.changed(item, event === "close" || event === "reopen" ? event : "update", body.description === undefined ? undefined : previous);
  return { status: 200, body: itemShape(item, url) };
}

/** The notes of an item that the caller may see now. */
function seen({ user, visibleUntil }: Asked, item: Item): Note[] {
  const internal = levelOf(item.project, user) >= REPORTER;
  return item.notes.filter((note) => (internal || !note.internal) && (!note.byApi || note.createdAt <= visibleUntil));
}

function atItem(asked: Asked, item: Item): ForgeAnswer {
  const { url, user, parts, body, name } = asked;
  const notes = seen(asked, item);
  if (name === "discussions") return listed(asked, discussionShapes(notes, url));
  if (name === "notes")
    return listed(
      asked,
      notes.map((note) => noteShape(note, url)),
    );
  if (name === "awardItem") return { status: 201, body: { id: 1, name: body.name, user: userShape(user, url), awardable_type: NOTEABLE[item.kind] } };
  if (parts.discussion !== undefined && !notes.some(({ discussion }) => discussion === parts.discussion)) return missing("Discussion");
  if (name === "discussion")
    return {
      status: 200,
      body: discussionShapes(
        notes.filter(({ discussion }) => discussion === parts.discussion),
        url,
      )[0],
    };
  if (name === "discuss" || name === "reply" || name === "addNote") return written(asked, item);
  const note = notes.find(({ id }) => String(id) === parts.note);
  if (note === undefined || (parts.discussion !== undefined && note.discussion !== parts.discussion)) return missing("Note");
  if (name === "note") return { status: 200, body: noteShape(note, url) };
  if (name === "awards")
    return listed(
      asked,
      note.awards.map((award) => awardShape(note, award.id, award.user, award.name, url)),
    );
  if (name === "award") return awarded(asked, note);
  // Only who wrote a note changes it.
  if (note.author !== user) return refusal(403, "403 Forbidden");
  if (name === "editNote") return edited(asked, note);
  item.notes = item.notes.filter((one) => one !== note);
  asked.state.notes.delete(note.id);
  return { status: 204 };
}

const awardShape = (note: Note, id: number, user: User, name: string, url: string) => ({
  id,
  name,
  user: userShape(user, url),
  awardable_id: note.id,
  awardable_type: "Note",
});

function awarded({ state, user, url, body }: Asked, note: Note): ForgeAnswer {
  const name = String(body.name);
  if (note.awards.some((award) => award.user === user && award.name === name))
    return { status: 404, body: { message: "404 Award Emoji Name has already been taken Not Found" } };
  const award = { id: state.next(), user, name };
  note.awards.push(award);
  settle(state, note.item, user);
  return { status: 201, body: awardShape(note, award.id, user, name, url) };
}

function written(asked: Asked, item: Item): ForgeAnswer {
  const { state, user, url, body, parts, name } = asked;
  if (item.project.private && levelOf(item.project, user) < GUEST) return refusal(403, "403 Forbidden");
  const text = String(body.body);
  if (charactersIn(text) > LARGEST_NOTE) return { status: 400, body: { message: { note: [`is too long (maximum is ${LARGEST_NOTE} characters)`] } } };
  const internal = body.internal === true;
  if (internal && levelOf(item.project, user) < REPORTER) return refusal(403, "403 Forbidden");
  const words = ran(asked, item, text);
  if (words === "") return { status: 202, body: { commands_changes: {}, summary: ["Applied commands."] } };
  const position = positionOf(body.position);
  const note = addNote(state, item, user, words, {
    ...(parts.discussion === undefined ? {} : { discussion: parts.discussion }),
    ...(position === undefined ? {} : { position }),
    ...(typeof body.created_at === "string" ? { createdAt: Date.parse(body.created_at) } : {}),
    thread: name === "discuss",
    internal,
    byApi: true,
  });
  asked.noted(note, "create");
  return { status: 201, body: name === "discuss" ? discussionShapes([note], url)[0] : noteShape(note, url) };
}

function edited(asked: Asked, note: Note): ForgeAnswer {
  const { state, user, url, body } = asked;
  if (body.body !== undefined) {
    const words = ran(asked, note.item, String(body.body));
    if (charactersIn(words) > LARGEST_NOTE) return { status: 400, body: { message: { note: ["is too long"] } } };
    if (words !== note.body) {
      note.body = words;
      note.updatedAt = Math.max(state.now(), note.updatedAt + 1);
      note.updatedBy = user;
      asked.noted(note, "update");
    }
  }
  return { status: 200, body: noteShape(note, url) };
}

/** Runs the commands in a text that came by the API, as the platform does; no answer of an agent may hold one. */
function ran({ state, user }: Asked, item: Item | undefined, text: string): string {
  const { words, commands } = extract(text);
  for (const line of commands) {
    state.violations.push(`a text by ${user.username} ran the command ${line}`);
    if (item !== undefined) execute(item, user, line, state.now());
  }
  return words;
}

function positionOf(value: unknown): ForgePosition | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { new_path, old_path, new_line, old_line, head_sha } = value as Record<string, string | number | undefined>;
  const old = new_line === undefined;
  return { path: String(old ? old_path : new_path), line: Number(old ? old_line : new_line), side: old ? "old" : "new", sha: String(head_sha) };
}

/** One page of a list, with the address of the next one. */
function listed({ query, url, path }: Asked, all: readonly unknown[]): ForgeAnswer {
  const size = Number(query.get("per_page") ?? 20);
  const page = Number(query.get("page") ?? 1);
  const more = all.length > page * size;
  const next = new URLSearchParams(query);
  next.set("page", String(page + 1));
  next.set("per_page", String(size));
  return {
    status: 200,
    body: all.slice((page - 1) * size, page * size),
    headers: {
      "x-page": String(page),
      "x-per-page": String(size),
      "x-total": String(all.length),
      "x-next-page": more ? String(page + 1) : "",
      ...(more ? { link: `<${url}${path}?${next}>; rel="next"` } : {}),
    },
  };
}
