import type { ForgeChanges, ForgeList, ForgeNote, ForgeProject } from "@svc/sdk";
import { type Api, at } from "./client.ts";
import type { Identities } from "./identities.ts";
import { descriptionOf, type Fields, fieldsOf, type Listed, listedOf, noteOf, numberOf, pathOf, shaOf, textOf, timeOf } from "./shapes.ts";

/** Where missed notes are looked for: what waits for an agent costs two calls, the rest three a project and one for each that changed. */
export const LISTS: readonly ForgeList[] = [
  { name: "todos", of: "forge", quick: true },
  { name: "issues", of: "project", quick: false },
  { name: "requests", of: "project", quick: false },
  { name: "commits", of: "project", quick: false },
];

interface Source {
  readonly api: Api;
  readonly identities: Identities;
}

const PAGE = 100;
const DAY_MS = 86_400_000;

/** The notes of a list that changed since then, oldest first. */
export async function* changedNotes(source: Source, query: ForgeChanges, signal: AbortSignal): AsyncGenerator<ForgeNote> {
  const { list, project, since } = query;
  if (list === "todos") yield* sorted(waiting(source, since, signal));
  else if (project !== undefined && (list === "issues" || list === "requests"))
    yield* items(source, project, list === "issues" ? "issue" : "request", since, signal);
  else if (project !== undefined && list === "commits") yield* sorted(commits(source, project, since, signal));
}

async function* sorted(notes: AsyncIterable<ForgeNote>): AsyncGenerator<ForgeNote> {
  const all = new Map<string, ForgeNote>();
  for await (const note of notes) all.set(`${note.kind}:${note.id}`, note);
  yield* [...all.values()].sort((left, right) => left.updatedAt - right.updatedAt);
}

/** Lists pending mentions of an agent: the forge keeps that list itself, over all projects. */
async function* waiting({ api, identities }: Source, since: number, signal: AbortSignal): AsyncGenerator<ForgeNote> {
  for (const { token } of identities.owners()) {
    /** Targets that have been read, by their page. */
    const read = new Set<string>();
    for (const action of ["mentioned", "directly_addressed"])
      for await (const page of api.pages({ path: "/todos", query: { action }, token, signal }))
        for (const value of page) {
          const todo = fieldsOf(value);
          // Newest first: the rest is older than `since`.
          if ((timeOf(todo.updated_at) ?? timeOf(todo.created_at) ?? 0) < since) continue;
          const target = targetOf(todo);
          const key = target && pathOf(target.listed.place).join("/");
          if (target === undefined || key === undefined || read.has(key)) continue;
          read.add(key);
          yield* changedAt(api, target.listed, target.value, since, token, signal);
        }
  }
}

function targetOf(todo: Fields): { readonly listed: Listed; readonly value: unknown } | undefined {
  const project = projectOf(todo.project);
  const type = textOf(todo.target_type);
  if (project === undefined) return undefined;
  const value = todo.target;
  if (type === "Commit") {
    const id = shaOf(fieldsOf(value).id);
    return id === undefined ? undefined : { listed: { place: { project, kind: "commit", id } }, value };
  }
  const kind = type === "MergeRequest" ? "request" : type === "Issue" || type === "WorkItem" ? "issue" : undefined;
  const listed = kind && listedOf(value, project, kind);
  return listed && { listed, value };
}

function projectOf(value: unknown): ForgeProject | undefined {
  const { id, path_with_namespace: path, visibility } = fieldsOf(value);
  const number = numberOf(id);
  // A todo does not always say who sees the project: one that is not known to be public counts as private.
  return number === undefined || textOf(path) === "" ? undefined : { id: number, path: textOf(path), private: visibility !== "public" };
}

/** The description and the notes of a place that changed since then. One that went meanwhile has none. */
async function* changedAt(api: Api, listed: Listed, value: unknown, since: number, token: string, signal: AbortSignal): AsyncGenerator<ForgeNote> {
  const description = listed.place.kind === "commit" ? undefined : descriptionOf(value, listed, api.home);
  if (description !== undefined && description.updatedAt >= since) yield description;
  try {
    for await (const page of api.pages({ path: at(...pathOf(listed.place), "discussions"), token, signal }))
      for (const one of page) {
        const { id, notes } = fieldsOf(one);
        for (const each of Array.isArray(notes) ? notes : []) {
          const note = noteOf(each, listed, api.home, textOf(id));
          if (note !== undefined && note.updatedAt >= since) yield note;
        }
      }
  } catch (error) {
    if ((error as { status?: number }).status !== 404) throw error;
  }
}

/**
 * Issues or requests by the time of their last change. Instead of paging on, which skips what moves meanwhile, the first page is asked again
 * from the last time on; only where all of a page has one time, the next page is asked.
 */
async function* items(
  { api, identities }: Source,
  project: ForgeProject,
  kind: "issue" | "request",
  since: number,
  signal: AbortSignal,
): AsyncGenerator<ForgeNote> {
  const token = identities.anyToken();
  const read = new Set<string>();
  let [from, page] = [since, 1];
  for (;;) {
    const query = { updated_after: new Date(from).toISOString(), order_by: "updated_at", sort: "asc", state: "all", scope: "all", per_page: PAGE, page };
    const path = at("projects", project.id, kind === "issue" ? "issues" : "merge_requests");
    const { body } = await api.call({ path, query, token, signal });
    const values = Array.isArray(body) ? body : [];
    for (const value of values) {
      const listed = listedOf(value, project, kind);
      const key = `${numberOf(fieldsOf(value).id)}:${textOf(fieldsOf(value).updated_at)}`;
      if (listed === undefined || read.has(key)) continue;
      read.add(key);
      yield* changedAt(api, listed, value, since, token, signal);
    }
    if (values.length < PAGE) return;
    const last = timeOf(fieldsOf(values.at(-1)).updated_at) ?? from;
    if (last > from) [from, page] = [last, 1];
    else page += 1;
  }
}

/** Commits that were commented: the list of events names them, without answers in threads, which are read with their commit. */
async function* commits({ api, identities }: Source, project: ForgeProject, since: number, signal: AbortSignal): AsyncGenerator<ForgeNote> {
  const token = identities.anyToken();
  const read = new Set<string>();
  // `after` leaves out the day itself.
  const after = new Date(since - DAY_MS).toISOString().slice(0, 10);
  for await (const page of api.pages({ path: at("projects", project.id, "events"), query: { action: "commented", after }, token, signal }))
    for (const event of page) {
      const note = fieldsOf(fieldsOf(event).note);
      const id = note.noteable_type === "Commit" ? (shaOf(note.commit_id) ?? shaOf(note.noteable_id)) : undefined;
      if (id === undefined || read.has(id)) continue;
      read.add(id);
      yield* changedAt(api, { place: { project, kind: "commit", id } }, undefined, since, token, signal);
    }
}
