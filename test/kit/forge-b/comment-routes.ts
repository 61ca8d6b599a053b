import type { ForgeAnswer } from "../forge-server.ts";
import { authorOf, type Call, issueOf, listed, mustHave, notFound, page, Refusal, type Route, repositoryOf, textOf } from "./call.ts";
import type { Comment, Issue, Reaction, Repository } from "./world.ts";

const R = "/repos/{owner}/{repo}";
const WRITE = ["issues:write", "pull_requests:write"];
const READ = ["issues:read", "pull_requests:read"];

/** Makes a comment and tells the hooks of it. */
export function write(call: Call, fields: Pick<Comment, "kind" | "repository"> & Partial<Comment>): ForgeAnswer {
  const { forge } = call;
  if (fields.issue?.locked) throw new Refusal(403, "Unable to create comment because issue is locked.");
  const at = forge.now();
  const comment: Comment = { ...fields, id: forge.world.id(), by: authorOf(call), text: textOf(call.body.body), createdAt: at, updatedAt: at, reactions: [] };
  forge.world.comments.set(comment.id, comment);
  if (fields.issue !== undefined) fields.issue.updatedAt = at;
  forge.changed(EVENTS[comment.kind], "created", { comment }, comment.by);
  return { status: 201, body: forge.rendering.comment(comment) };
}

/** The events of hooks that tell of comments. */
export const EVENTS = { issue: "issue_comment", review: "pull_request_review_comment", commit: "commit_comment" } as const;

const ofKind = (call: Call, kind: Comment["kind"], repository: Repository, of?: { issue?: Issue; sha?: string }): Comment[] =>
  [...call.forge.world.comments.values()].filter(
    (comment) =>
      comment.kind === kind &&
      comment.repository === repository &&
      (of?.issue === undefined || comment.issue === of.issue) &&
      (of?.sha === undefined || comment.sha === of.sha),
  );

const commentOf = (call: Call, kind: Comment["kind"]): Comment => {
  const found = call.forge.world.comments.get(Number(call.values.comment_id));
  if (found?.kind !== kind || found.repository !== repositoryOf(call)) throw notFound();
  return found;
};

const list = (call: Call, comments: readonly Comment[], usual?: Parameters<typeof listed>[2]): ForgeAnswer =>
  page(
    call,
    listed(call, comments, usual).map((comment) => full(call, comment)),
  );

/** With signed addresses of its pictures, where the caller asks for them. */
function full(call: Call, comment: Comment): object {
  const { rendering } = call.forge;
  const more = call.request.headers.accept === "application/vnd.github.full+json" ? { body_html: rendering.html(comment.text), body_text: comment.text } : {};
  return { ...rendering.comment(comment), ...more };
}

const change = (call: Call, kind: Comment["kind"]): ForgeAnswer => {
  const { forge } = call;
  const comment = commentOf(call, kind);
  if (comment.by !== authorOf(call)) mustHave(call, comment.repository, "write");
  const before = comment.text;
  comment.text = textOf(call.body.body);
  comment.updatedAt = forge.now();
  forge.changed(EVENTS[kind], "edited", { comment, before }, authorOf(call));
  return { status: 200, body: forge.rendering.comment(comment) };
};

/** 201 for a new reaction, 200 for one that was there. */
export function react(call: Call, reactions: Reaction[]): ForgeAnswer {
  const { forge, body } = call;
  const by = authorOf(call);
  const found = reactions.find((reaction) => reaction.by === by && reaction.content === body.content);
  const reaction = found ?? { id: forge.world.id(), by, content: body.content };
  if (found === undefined) reactions.push(reaction);
  return { status: found === undefined ? 201 : 200, body: forge.rendering.reaction(reaction) };
}

/** Calls about one comment, alike for the three kinds. */
const single = (base: string, kind: Comment["kind"], read: readonly string[], write: readonly string[]): Record<string, Route> => ({
  [`GET ${base}`]: { needs: read, run: (call) => ({ status: 200, body: full(call, commentOf(call, kind)) }) },
  [`PATCH ${base}`]: { needs: write, run: (call) => change(call, kind) },
  [`POST ${base}/reactions`]: { needs: write, run: (call) => react(call, commentOf(call, kind).reactions) },
});

/** Calls about comments of issues, requests and commits. */
export const COMMENT_ROUTES: Readonly<Record<string, Route>> = {
  ...single(`${R}/issues/comments/{comment_id}`, "issue", READ, WRITE),
  ...single(`${R}/pulls/comments/{comment_id}`, "review", ["pull_requests:read"], ["pull_requests:write"]),
  ...single(`${R}/comments/{comment_id}`, "commit", ["metadata:read"], ["contents:write"]),
  [`GET ${R}/issues/comments`]: { needs: READ, run: (call) => list(call, ofKind(call, "issue", repositoryOf(call)), { direction: "asc" }) },
  [`GET ${R}/pulls/comments`]: { needs: ["pull_requests:read"], run: (call) => list(call, ofKind(call, "review", repositoryOf(call)), { direction: "asc" }) },
  [`GET ${R}/comments`]: { needs: ["metadata:read"], run: (call) => list(call, ofKind(call, "commit", repositoryOf(call))) },
  [`GET ${R}/issues/{issue_number}/comments`]: { needs: READ, run: (call) => list(call, ofKind(call, "issue", repositoryOf(call), { issue: issueOf(call) })) },
  [`POST ${R}/issues/{issue_number}/comments`]: {
    needs: WRITE,
    run: (call) => write(call, { kind: "issue", repository: repositoryOf(call), issue: issueOf(call) }),
  },
  [`GET ${R}/pulls/{pull_number}/comments`]: {
    needs: ["pull_requests:read"],
    run: (call) => list(call, ofKind(call, "review", repositoryOf(call), { issue: issueOf(call) })),
  },
  [`POST ${R}/pulls/{pull_number}/comments/{comment_id}/replies`]: {
    needs: ["pull_requests:write"],
    run(call) {
      const root = commentOf(call, "review");
      // The forge answers only to the comment that began a thread.
      if (root.inReplyTo !== undefined || root.issue !== issueOf(call)) throw notFound();
      const { repository, issue, path, line, side } = root;
      return write(call, {
        kind: "review",
        repository,
        inReplyTo: root.id,
        ...(issue && { issue }),
        ...(path && { path }),
        ...(line && { line }),
        ...(side && { side }),
      });
    },
  },
  [`GET ${R}/commits/{commit_sha}/comments`]: {
    needs: ["metadata:read"],
    run: (call) => list(call, ofKind(call, "commit", repositoryOf(call), { sha: commitOf(call) })),
  },
  [`POST ${R}/commits/{commit_sha}/comments`]: {
    needs: ["contents:write"],
    run(call) {
      const { path, position, line } = call.body;
      return write(call, {
        kind: "commit",
        repository: repositoryOf(call),
        sha: commitOf(call),
        ...(path && { path }),
        ...(position && { position }),
        ...(line && { line }),
      });
    },
  },
};

function commitOf(call: Call): string {
  const sha = call.values.commit_sha ?? "";
  if (!repositoryOf(call).commits.has(sha)) throw new Refusal(422, `No commit found for SHA: ${sha}`);
  return sha;
}
