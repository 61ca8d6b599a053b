import type { ForgeNote, ForgePlace, ForgePosition, ForgeProject, ForgeUser } from "@svc/sdk";

/** A user as the API writes it; null where the account is gone. */
export interface ApiUser {
  readonly id: number;
  readonly login: string;
  readonly type?: string;
}

/** A repository as the API writes it. */
export interface ApiRepository {
  readonly id: number;
  readonly full_name: string;
  readonly private: boolean;
}

/** A comment of an issue, a request or a commit. */
export interface ApiComment {
  readonly id: number;
  readonly body: string | null;
  readonly user: ApiUser | null;
  readonly created_at: string;
  readonly updated_at: string;
  readonly html_url: string;
  readonly issue_url?: string;
  readonly pull_request_url?: string;
  readonly commit_id?: string;
  readonly path?: string | null;
  readonly line?: number | null;
  readonly original_line?: number | null;
  readonly side?: string | null;
  readonly position?: number | null;
  readonly in_reply_to_id?: number;
}

/** An issue, or a request where it has a `head` or says so. */
export interface ApiIssue {
  readonly id: number;
  readonly number: number;
  readonly title: string;
  readonly body: string | null;
  readonly user: ApiUser | null;
  readonly created_at: string;
  readonly updated_at: string;
  readonly html_url: string;
  readonly pull_request?: object;
  readonly head?: { readonly ref: string; readonly repo: ApiRepository | null };
  readonly base?: { readonly ref: string; readonly repo: ApiRepository };
}

/** The words of a review. */
export interface ApiReview {
  readonly id: number;
  readonly body: string | null;
  readonly user: ApiUser | null;
  readonly submitted_at?: string | null;
  readonly updated_at?: string | null;
  readonly html_url: string;
}

/** An account that was deleted is shown as this one. */
const GHOST: ForgeUser = { id: "10137", login: "ghost", bot: false };

/** A user, as far as the forge tells. */
export function userOf(user: unknown): ForgeUser {
  const { id, login, type } = (user ?? {}) as Partial<ApiUser>;
  if (typeof id !== "number" || typeof login !== "string") return GHOST;
  return { id: String(id), login, ...(type === undefined ? {} : { bot: type === "Bot" }) };
}

/** A repository. */
export const projectOf = ({ id, full_name, private: closed }: ApiRepository): ForgeProject => ({ id: String(id), path: full_name, private: closed });

const time = (text: string | null | undefined): number => {
  const ms = Date.parse(text ?? "");
  return Number.isNaN(ms) ? 0 : ms;
};

/** The texts of a forge are cut far above their limit: what comes in is stored. */
const LONGEST = 262_144;
const words = (text: string | null | undefined): string => (text ?? "").slice(0, LONGEST);
const edited = (createdAt: number, updatedAt: number): boolean => updatedAt > createdAt + 1_000;

function dated(comment: ApiComment): Pick<ForgeNote, "id" | "author" | "text" | "createdAt" | "updatedAt" | "edited" | "url"> {
  const createdAt = time(comment.created_at);
  const updatedAt = time(comment.updated_at);
  return {
    id: String(comment.id),
    author: userOf(comment.user),
    text: words(comment.body),
    createdAt,
    updatedAt,
    edited: edited(createdAt, updatedAt),
    url: comment.html_url,
  };
}

/** The branches of a request, where the forge told them. */
export function requestOf({ head, base }: ApiIssue): ForgeNote["request"] {
  if (head === undefined || base === undefined) return undefined;
  // A copy that was deleted is a copy too.
  return { source: head.ref, target: base.ref, ...(head.repo === null || head.repo.id !== base.repo.id ? { fork: true as const } : {}) };
}

const about = (issue: ApiIssue | undefined): Pick<ForgeNote, "title" | "request"> => {
  const request = issue && requestOf(issue);
  return { ...(issue === undefined ? {} : { title: issue.title }), ...(request === undefined ? {} : { request }) };
};

const numberIn = (url: string | undefined): string => /\/(\d+)$/.exec(url ?? "")?.[1] ?? "";

/** A comment of an issue or a request; lists do not give its issue. */
export function issueNote(project: ForgeProject, comment: ApiComment, issue?: ApiIssue): ForgeNote {
  const isRequest = issue === undefined ? /\/pull\/\d+(?:[#?]|$)/.test(comment.html_url) : issue.pull_request !== undefined || issue.head !== undefined;
  const id = issue === undefined ? numberIn(comment.issue_url) : String(issue.number);
  return { place: { project, kind: isRequest ? "request" : "issue", id }, kind: "note", ...dated(comment), ...about(issue) };
}

function positionOf({ path, line, original_line, side, commit_id, position }: ApiComment): ForgePosition | undefined {
  if (typeof path !== "string") return undefined;
  const at = line ?? original_line;
  return {
    path,
    ...(typeof at === "number" ? { line: at } : {}),
    ...(typeof side === "string" ? { side: side === "LEFT" ? ("old" as const) : ("new" as const) } : {}),
    ...(commit_id === undefined ? {} : { sha: commit_id }),
    ...(typeof position === "number" ? { raw: { position } } : {}),
  };
}

/** A comment on a line of a request. Its thread is named by its first comment. */
export function reviewNote(project: ForgeProject, comment: ApiComment, request?: ApiIssue): ForgeNote {
  const position = positionOf(comment);
  const place: ForgePlace = {
    project,
    kind: "request",
    id: request === undefined ? numberIn(comment.pull_request_url) : String(request.number),
    thread: String(comment.in_reply_to_id ?? comment.id),
    ...(position === undefined ? {} : { position }),
  };
  return { place, kind: "review-note", ...dated(comment), ...about(request) };
}

/** A comment on a commit. */
export function commitNote(project: ForgeProject, comment: ApiComment): ForgeNote {
  const position = positionOf(comment);
  const place: ForgePlace = { project, kind: "commit", id: comment.commit_id ?? "", ...(position === undefined ? {} : { position }) };
  return { place, kind: "commit-note", ...dated(comment) };
}

/** The words of a review, which say when they were sent and not when they were changed. */
export function reviewBody(project: ForgeProject, review: ApiReview, request: ApiIssue, changed = false): ForgeNote {
  const createdAt = time(review.submitted_at);
  const updatedAt = changed ? time(review.updated_at ?? request.updated_at) : createdAt;
  return {
    place: { project, kind: "request", id: String(request.number), raw: { review: review.html_url } },
    kind: "review",
    id: String(review.id),
    author: userOf(review.user),
    text: words(review.body),
    createdAt,
    updatedAt,
    edited: changed,
    url: review.html_url,
    ...about(request),
  };
}

/**
 * The description of an issue or a request. Its time of update moves with everything that happens there, so it counts only where `changed`
 * says that the words did.
 */
export function descriptionNote(project: ForgeProject, issue: ApiIssue, changed = false): ForgeNote {
  const createdAt = time(issue.created_at);
  return {
    place: { project, kind: issue.pull_request !== undefined || issue.head !== undefined ? "request" : "issue", id: String(issue.number) },
    kind: "description",
    id: String(issue.id),
    author: userOf(issue.user),
    text: words(issue.body),
    createdAt,
    updatedAt: changed ? time(issue.updated_at) : createdAt,
    edited: changed,
    url: issue.html_url,
    ...about(issue),
  };
}
