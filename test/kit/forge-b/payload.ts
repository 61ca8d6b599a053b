import type { ForgeUser } from "../forge-server.ts";
import type { JudgingApp } from "./app.ts";
import type { Rendering } from "./render.ts";
import type { Comment, Issue, Repository, Review } from "./world.ts";

/** What an event tells of, and the words that stood there before. */
export interface About {
  readonly comment?: Comment;
  readonly issue?: Issue;
  readonly review?: Review;
  readonly before?: string;
}

/** The body of a hook, as the forge writes it. */
export function payloadOf(rendering: Rendering, app: JudgingApp, action: string, { comment, issue: described, review, before }: About, by: ForgeUser): object {
  const issue = comment?.issue ?? described;
  const repository = (comment?.repository ?? issue?.repository) as Repository;
  const installation = [...app.installations.values()].find(({ repositories }) => repositories.has(repository));
  const asRequest = issue?.request !== undefined && comment?.kind !== "issue";
  return {
    action,
    ...(before === undefined ? {} : { changes: { body: { from: before } } }),
    ...(issue === undefined ? {} : asRequest ? { pull_request: rendering.request(issue) } : { issue: rendering.issue(issue) }),
    ...(asRequest && comment === undefined && review === undefined ? { number: issue?.number } : {}),
    ...(comment === undefined ? {} : { comment: rendering.comment(comment) }),
    ...(review === undefined || issue === undefined ? {} : { review: { ...rendering.review(issue, review), state: review.state.toLowerCase() } }),
    repository: rendering.repository(repository),
    sender: rendering.user(by),
    ...(installation === undefined ? {} : { installation: { id: installation.id, node_id: "I_1" } }),
  };
}

/** What a delivery is about, for the checker: `comment:17`. */
export const nameOf = ({ comment, review, issue }: About): string =>
  comment !== undefined
    ? `comment:${comment.id}`
    : review !== undefined
      ? `review:${review.id}`
      : `${issue?.request === undefined ? "issue" : "request"}:${issue?.number}`;
