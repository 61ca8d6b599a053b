import type { ForgeChanges, ForgeList, ForgeNote, ForgeProject } from "@svc/sdk";
import { type Api, at, type Credential, inRepository, linkOf } from "./api.ts";
import { answeredStatus } from "./failure.ts";
import { type ApiComment, type ApiIssue, type ApiReview, commitNote, descriptionNote, issueNote, reviewBody, reviewNote } from "./notes.ts";

/** The lists by which missed notes are found, in the order in which they are asked. `deliveries` is of an App alone. */
export const LISTS: readonly ForgeList[] = [
  { name: "deliveries", of: "forge", quick: true },
  { name: "comments", of: "project", quick: true },
  { name: "review-comments", of: "project", quick: true },
  { name: "issues", of: "project", quick: false },
  { name: "commit-comments", of: "project", quick: false },
];

/** Dependencies of reading the lists. */
export interface BackfillDeps {
  readonly api: Api;
  /** For calls in a repository. */
  credential(project: ForgeProject): Credential;
  /** For calls of the App about itself, where there is one. */
  readonly app?: Credential;
}

const PAGE = 100;
const MOST_PAGES = 1_000;
const CLOCKS_MS = 120_000;

/** Lists changes at or after a time, oldest first. For the list of deliveries it requests failed ones again, and yields none. */
export async function* changedNotes(deps: BackfillDeps, { list, project, since }: ForgeChanges, signal: AbortSignal): AsyncGenerator<ForgeNote> {
  if (list === "deliveries") {
    await askAgain(deps, since, signal);
    return;
  }
  if (project === undefined) return;
  if (list === "comments")
    for await (const comment of updated<ApiComment>(deps, project, ["issues", "comments"], {}, since, signal)) yield issueNote(project, comment);
  else if (list === "review-comments")
    for await (const comment of updated<ApiComment>(deps, project, ["pulls", "comments"], {}, since, signal)) yield reviewNote(project, comment);
  else if (list === "issues") yield* issues(deps, project, since, signal);
  else if (list === "commit-comments") for (const comment of await lastCommitComments(deps, project, since, signal)) yield commitNote(project, comment);
}

interface Updated {
  readonly id: number;
  readonly updated_at: string;
}

/** A list in order of update: what changes while it is read moves to its end, so its first page is asked again from the last time that was seen. */
async function* updated<T extends Updated>(
  { api, credential }: BackfillDeps,
  project: ForgeProject,
  parts: readonly string[],
  query: Readonly<Record<string, string>>,
  since: number,
  signal: AbortSignal,
): AsyncGenerator<T> {
  let from = stampOf(since);
  let page = 1;
  const seen = new Set<string>();
  for (let pages = 0; pages < MOST_PAGES; pages += 1) {
    const { body } = await api.call({
      path: inRepository(project.path, ...parts),
      query: { ...query, since: from, sort: "updated", direction: "asc", per_page: PAGE, page },
      as: credential(project),
      signal,
    });
    const entries = body as readonly T[];
    for (const entry of entries) {
      const key = `${entry.id} ${entry.updated_at}`;
      if (seen.has(key)) continue;
      seen.add(key);
      yield entry;
    }
    if (entries.length < PAGE) return;
    const last = entries.at(-1)?.updated_at ?? from;
    if (last === from) page += 1;
    else {
      from = last;
      page = 1;
    }
  }
}

const stampOf = (ms: number): string => new Date(Math.max(0, ms)).toISOString().replace(/\.\d+Z$/, "Z");

async function* issues(deps: BackfillDeps, project: ForgeProject, since: number, signal: AbortSignal): AsyncGenerator<ForgeNote> {
  for await (const issue of updated<ApiIssue>(deps, project, ["issues"], { state: "all" }, since, signal)) {
    yield descriptionNote(project, issue);
    if (issue.pull_request === undefined) continue;
    const reviews = deps.api.pages({ path: inRepository(project.path, "pulls", issue.number, "reviews"), as: deps.credential(project), signal });
    for await (const page of reviews)
      for (const review of page as readonly ApiReview[]) {
        const note = reviewBody(project, review, issue);
        // One that is not sent yet has no time.
        if (note.createdAt >= since && note.text !== "") yield note;
      }
  }
}

/** That list has no time filter and is ordered by creation: reads its last pages, backwards. */
async function lastCommitComments(
  { api, credential }: BackfillDeps,
  project: ForgeProject,
  since: number,
  signal: AbortSignal,
): Promise<readonly ApiComment[]> {
  const path = inRepository(project.path, "comments");
  const as = credential(project);
  const read = (page: number) => api.call({ path, query: { per_page: PAGE, page }, as, signal });
  const first = await read(1);
  const last = Number(new URL(linkOf(first.headers.link, "last", api.origin) ?? `${api.origin}?page=1`).searchParams.get("page"));
  const found: ApiComment[] = [];
  for (let page = last; page >= 1; page -= 1) {
    const comments = (page === 1 ? first : await read(page)).body as readonly ApiComment[];
    const recent = comments.filter(({ updated_at }) => Date.parse(updated_at) >= since);
    found.unshift(...recent);
    if (recent.length < comments.length) break;
  }
  return found;
}

interface ApiDelivery {
  readonly id: number;
  readonly guid: string;
  readonly delivered_at: string;
}

/** Deliveries that failed are sent again under their own GUID; each once a look, however often it failed. */
async function askAgain({ api, app }: BackfillDeps, since: number, signal: AbortSignal): Promise<void> {
  if (app === undefined) return;
  const asked = new Set<string>();
  const pages = api.pages({ path: "/app/hook/deliveries", query: { status: "failure" }, as: app, signal });
  for await (const page of pages) {
    const deliveries = page as readonly ApiDelivery[];
    const recent = deliveries.filter(({ delivered_at }) => Date.parse(delivered_at) >= since - CLOCKS_MS);
    for (const { id, guid } of recent) {
      if (asked.has(guid)) continue;
      asked.add(guid);
      await api.call({ method: "POST", path: at("app", "hook", "deliveries", id, "attempts"), as: app, signal }).catch((error: unknown) => {
        // The delivery is too old to be sent again.
        if (![404, 422].includes(answeredStatus(error) ?? 0)) throw error;
      });
    }
    // Newest first.
    if (recent.length < deliveries.length) return;
  }
}
