import { channelError, type ForgeLink, type ForgePlace, type ForgeProject, type ForgeRequestDraft, type ForgeReviewDraft } from "@svc/sdk";
import { type Api, type Credential, inRepository } from "./api.ts";
import { answeredStatus } from "./failure.ts";

/** Adds and removes labels. Labels that the repository has not would be made by the forge: they are refused before anything is changed. */
export async function changeLabels(
  api: Api,
  { project, id }: ForgePlace,
  { add, remove }: { readonly add: readonly string[]; readonly remove: readonly string[] },
  as: Credential,
  signal: AbortSignal,
): Promise<void> {
  const known = new Map<string, string>();
  if (add.length > 0)
    for await (const page of api.pages({ path: inRepository(project.path, "labels"), as, signal }))
      for (const { name } of page as readonly { name: string }[]) known.set(name.toLowerCase(), name);
  const missing = add.filter((name) => !known.has(name.toLowerCase()));
  if (missing.length > 0) throw channelError("permanent", `${project.path} has no label ${missing.join(", ")}; make it there first`);
  const labels = add.map((name) => known.get(name.toLowerCase()) as string);
  if (labels.length > 0) await api.call({ method: "POST", path: inRepository(project.path, "issues", id, "labels"), body: { labels }, as, signal });
  // 404: it has none of that name.
  for (const name of remove) await api.call({ method: "DELETE", path: inRepository(project.path, "issues", id, "labels", name), as, signal }, [404]);
}

interface ApiRequest {
  readonly id: number;
  readonly number: number;
  readonly html_url: string;
}

/** Opens a request, or answers the open one of the same branches. */
export async function openRequest(
  api: Api,
  project: ForgeProject,
  { title, text, source, target, draft = false }: ForgeRequestDraft,
  as: Credential,
  signal: AbortSignal,
): Promise<ForgeLink & { readonly number: string }> {
  const base = target ?? ((await api.call({ path: inRepository(project.path), as, signal })).body as { default_branch: string }).default_branch;
  const [owner] = project.path.split("/");
  const open = async (): Promise<ApiRequest | undefined> => {
    const { body } = await api.call({ path: inRepository(project.path, "pulls"), query: { state: "open", head: `${owner}:${source}`, base }, as, signal });
    return (body as readonly ApiRequest[])[0];
  };
  const linked = ({ id, number, html_url }: ApiRequest) => ({ id: String(id), number: String(number), url: html_url });
  const there = await open();
  if (there !== undefined) return linked(there);
  try {
    const { body } = await api.call({
      method: "POST",
      path: inRepository(project.path, "pulls"),
      body: { title, body: text, head: source, base, ...(draft ? { draft } : {}) },
      as,
      signal,
    });
    return linked(body as ApiRequest);
  } catch (error) {
    // Somebody else was faster.
    const made = answeredStatus(error) === 422 ? await open() : undefined;
    if (made === undefined) throw error;
    return linked(made);
  }
}

const EVENTS = { comment: "COMMENT", approve: "APPROVE", request_changes: "REQUEST_CHANGES" } as const;

/** Gives a review with its comments in one call. */
export async function giveReview(
  api: Api,
  { project, id }: ForgePlace,
  { verdict, text, comments = [] }: ForgeReviewDraft,
  as: Credential,
  signal: AbortSignal,
): Promise<ForgeLink> {
  const { body } = await api.call({
    method: "POST",
    path: inRepository(project.path, "pulls", id, "reviews"),
    body: {
      event: EVENTS[verdict],
      body: text,
      comments: comments.map(({ path, line, side, text: words }) => ({ path, line, side: side === "old" ? "LEFT" : "RIGHT", body: words })),
    },
    as,
    signal,
  });
  const review = body as { id: number; html_url: string };
  return { id: String(review.id), url: review.html_url };
}
