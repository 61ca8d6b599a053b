import { randomBytes } from "node:crypto";
import type { ForgePlace, ForgePosition } from "../forge-server.ts";

/** A user of the far end. */
export interface User {
  readonly id: number;
  readonly username: string;
  readonly bot: boolean;
}

/** A note, or the description of an item as its author wrote it. */
export interface Note {
  readonly id: number;
  readonly item: Item;
  discussion: string;
  /** No thread yet: nobody has answered it. */
  individual: boolean;
  readonly author: User;
  body: string;
  readonly createdAt: number;
  updatedAt: number;
  updatedBy?: User;
  readonly internal: boolean;
  readonly system: boolean;
  readonly position?: ForgePosition;
  readonly awards: { readonly id: number; readonly user: User; readonly name: string }[];
  /** It came by the API, not from a person at a page. */
  readonly byApi: boolean;
}

/** What notes are about: an issue, a merge request or a commit. */
export interface Item {
  readonly id: number;
  readonly project: Project;
  readonly kind: ForgePlace["kind"];
  /** The number in its project, or the hash of the commit. */
  readonly key: number | string;
  title: string;
  description: string;
  readonly author: User;
  readonly createdAt: number;
  updatedAt: number;
  updatedBy?: User;
  closedAt?: number;
  state: "opened" | "closed" | "merged";
  labels: string[];
  assignees?: readonly User[];
  readonly branches?: { readonly source: string; readonly target: string };
  readonly approvedBy: Set<User>;
  notes: Note[];
}

/** A project with who may do what, by access level. */
export interface Project {
  readonly id: number;
  readonly path: string;
  readonly private: boolean;
  readonly members: Map<User, number>;
  readonly labels: string[];
  readonly items: Map<string, Item>;
  readonly uploads: Map<string, { readonly data: Uint8Array; readonly login: boolean; readonly redirect?: string }>;
}

/** That somebody was named, until he does something there. */
export interface Todo {
  readonly id: number;
  readonly user: User;
  readonly action: "mentioned" | "directly_addressed";
  readonly item: Item;
  readonly note?: Note;
  readonly body: string;
  readonly createdAt: number;
  done: boolean;
}

/** All that the far end knows. */
export interface State {
  readonly users: Map<string, User>;
  readonly tokens: Map<string, { readonly user: User; readonly scopes: readonly string[] }>;
  readonly projects: Project[];
  readonly notes: Map<number, Note>;
  readonly todos: Todo[];
  readonly violations: string[];
  next(): number;
  now(): number;
}

export const GUEST = 10;
export const REPORTER = 20;
export const DEVELOPER = 30;

/** An empty far end. */
export function createState(now: () => number): State {
  let last = 100;
  return {
    users: new Map(),
    tokens: new Map(),
    projects: [],
    notes: new Map(),
    todos: [],
    violations: [],
    next: () => (last += 1),
    now,
  };
}

/** A project by its number or its whole path. */
export function projectOf(state: State, ref: string): Project | undefined {
  return state.projects.find(({ id, path }) => path === ref || String(id) === ref);
}

/** The name of an item within its project. */
export const itemKey = (kind: Item["kind"], key: number | string): string => `${kind}:${key}`;

/** The item at a place. Throws for one that is not there: a test that names it is wrong. */
export function itemAt(state: State, { project, kind, id }: ForgePlace): Item {
  const found = projectOf(state, project)?.items.get(itemKey(kind, id));
  if (found === undefined) throw new Error(`the far end has no ${kind} ${id} in ${project}`);
  return found;
}

/** Makes an item of a project. */
export function addItem(state: State, project: Project, made: Pick<Item, "kind" | "key" | "title" | "author"> & Partial<Item>): Item {
  const at = made.createdAt ?? state.now();
  const item: Item = {
    id: state.next(),
    project,
    description: "",
    createdAt: at,
    updatedAt: at,
    state: "opened",
    labels: [],
    approvedBy: new Set(),
    notes: [],
    ...made,
  };
  project.items.set(itemKey(item.kind, item.key), item);
  remind(state, item, item.author, item.description);
  return item;
}

/** The next number of an issue or a request. */
export function nextNumber(project: Project, kind: Item["kind"]): number {
  return 1 + Math.max(0, ...[...project.items.values()].filter((item) => item.kind === kind).map(({ key }) => Number(key)));
}

/** Puts a note there. With a discussion it joins it, and a single note becomes a thread. */
export function addNote(
  state: State,
  item: Item,
  author: User,
  body: string,
  facts: Partial<Pick<Note, "discussion" | "internal" | "system" | "position" | "createdAt" | "byApi">> & { readonly thread?: boolean } = {},
): Note {
  const {
    thread = false,
    discussion = randomBytes(20).toString("hex"),
    createdAt = state.now(),
    internal = false,
    system = false,
    byApi = false,
    position,
  } = facts;
  const siblings = item.notes.filter((note) => note.discussion === discussion);
  for (const note of siblings) note.individual = false;
  const root = siblings[0];
  const note: Note = {
    id: state.next(),
    item,
    discussion,
    individual: siblings.length === 0 && !thread,
    author,
    body,
    createdAt,
    updatedAt: createdAt,
    internal: root?.internal ?? internal,
    system,
    ...((position ?? root?.position) ? { position: (position ?? root?.position) as ForgePosition } : {}),
    awards: [],
    byApi,
  };
  item.notes.push(note);
  item.updatedAt = Math.max(item.updatedAt, createdAt);
  state.notes.set(note.id, note);
  settle(state, item, author);
  if (!system) remind(state, item, author, body, note);
  return note;
}

/** Whoever does something at an item has seen what waited for him there. */
export function settle(state: State, item: Item, user: User): void {
  for (const todo of state.todos) if (todo.item === item && todo.user === user) todo.done = true;
}

function remind(state: State, item: Item, author: User, body: string, note?: Note): void {
  for (const user of state.users.values()) {
    const named = new RegExp(`(^|[^\\w@/])@${user.username.replaceAll(/[.\\]/g, "\\$&")}(?![\\w-])`, "i");
    if (user === author || !named.test(body) || !mayRead(item.project, user)) continue;
    const direct = body.trimStart().toLowerCase().startsWith(`@${user.username.toLowerCase()}`);
    state.todos.push({
      id: state.next(),
      user,
      action: direct ? "directly_addressed" : "mentioned",
      item,
      ...(note === undefined ? {} : { note }),
      body,
      createdAt: note?.createdAt ?? item.createdAt,
      done: false,
    });
  }
}

/** The access level of a user, 0 for none. */
export const levelOf = (project: Project, user: User): number => project.members.get(user) ?? 0;

/** Whether a user sees the project at all. */
export const mayRead = (project: Project, user: User): boolean => !project.private || levelOf(project, user) >= GUEST;
