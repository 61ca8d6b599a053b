import type { ForgeComment, ForgePlace, ForgeServer } from "../forge-server.ts";
import type { Forge } from "./call.ts";
import { EVENTS } from "./comment-routes.ts";
import { giveReview, openIssue } from "./routes.ts";
import type { ForgeBServer } from "./server.ts";
import type { Comment, Issue } from "./world.ts";

type Control = Omit<ForgeServer, "url" | "upload" | "hooks" | "faults" | "requests" | "violations" | "close"> &
  Pick<ForgeBServer, "review" | "editReview" | "openFork" | "lock">;

/** What a test does at the forge, as people there would. */
export function createControl(forge: Forge): Control {
  const { world, now } = forge;

  /** Of comments on commits only new ones are told. */
  const changed: Forge["changed"] = (event, action, about, by) => {
    if (event !== EVENTS.commit || action === "created") forge.changed(event, action, about, by);
  };

  const issueAt = ({ project, id }: ForgePlace): Issue => world.issue(project, Number(id));

  function shown(comment: Comment): ForgeComment {
    const { id, issue, repository, sha, path, side } = comment;
    const line = comment.line ?? comment.position;
    return {
      id,
      place: {
        project: repository.path,
        kind: issue === undefined ? "commit" : issue.request === undefined ? "issue" : "request",
        id: issue?.number ?? (sha as string),
        ...(comment.kind === "review" ? { thread: String(comment.inReplyTo ?? id) } : {}),
      },
      by: comment.by.login,
      text: comment.text,
      createdAt: comment.createdAt,
      updatedAt: comment.updatedAt,
      internal: false,
      system: false,
      ...(path === undefined || line === undefined ? {} : { position: { path, line, side: side === "LEFT" ? "old" : "new" } }),
      reactions: comment.reactions.map(({ by, content }) => ({ by: by.login, emoji: content })),
    };
  }

  function open(by: string, project: string, what: Parameters<typeof openIssue>[3], request: boolean): ForgePlace {
    const repository = world.repository(project);
    const issue = openIssue(forge, repository, world.user(by), what);
    changed(request ? "pull_request" : "issues", "opened", { issue }, issue.by);
    return { project: repository.path, kind: request ? "request" : "issue", id: issue.number };
  }

  return {
    addUser(login, { bot = false, id = world.id() } = {}) {
      const user = { id, login, bot };
      world.users.set(login.toLowerCase(), user);
      return user;
    },
    addToken: (token, login) => void world.tokens.set(token, login),
    revokeToken: (token) => void world.tokens.delete(token),
    addProject(path, { private: closed = false, members = {}, labels = [] } = {}) {
      const repository = {
        id: world.id(),
        path,
        private: closed,
        members: new Map(Object.entries(members).map(([login, right]) => [login.toLowerCase(), right])),
        labels: [...labels],
        issues: new Map(),
        commits: new Set<string>(),
      };
      world.repositories.set(path.toLowerCase(), repository);
      return { id: repository.id, path };
    },
    grant: (project, login, right) => void world.repository(project).members.set(login.toLowerCase(), right),
    open: (by, project, kind, { title, text = "", labels, at }) =>
      open(
        by,
        project,
        {
          title,
          text,
          ...(labels && { labels }),
          ...(at && { at }),
          ...(kind === "request" ? { request: { head: `branch-${world.id()}`, base: "main" } } : {}),
        },
        kind === "request",
      ),
    openFork: (by, project, { title, text = "" }) => open(by, project, { title, text, request: { head: "patch-1", base: "main", fork: true } }, true),
    commit(project, sha) {
      world.repository(project).commits.add(sha);
      return { project, kind: "commit", id: sha };
    },
    comment(by, place, text, { position, at = now() } = {}) {
      const repository = world.repository(place.project);
      const root = place.thread === undefined ? undefined : world.comment(Number(place.thread));
      const issue = place.kind === "commit" ? undefined : issueAt(place);
      const line = position ?? (root?.path === undefined || root.line === undefined ? undefined : { path: root.path, line: root.line });
      const comment: Comment = {
        id: world.id(),
        kind: place.kind === "commit" ? "commit" : root !== undefined || position !== undefined ? "review" : "issue",
        repository,
        by: world.user(by),
        text,
        createdAt: at,
        updatedAt: at,
        reactions: [],
        ...(issue === undefined ? { sha: String(place.id) } : { issue }),
        ...(line === undefined
          ? {}
          : { path: line.path, line: line.line, ...(issue === undefined ? { position: line.line } : { side: position?.side === "old" ? "LEFT" : "RIGHT" }) }),
        ...(root === undefined ? {} : { inReplyTo: root.inReplyTo ?? root.id }),
      };
      world.comments.set(comment.id, comment);
      if (issue !== undefined) issue.updatedAt = Math.max(issue.updatedAt, at);
      changed(EVENTS[comment.kind], "created", { comment }, comment.by);
      return shown(comment);
    },
    edit(by, id, text) {
      const comment = world.comment(id);
      const before = comment.text;
      comment.text = text;
      comment.updatedAt = now();
      changed(EVENTS[comment.kind], "edited", { comment, before }, world.user(by));
      return shown(comment);
    },
    describe(by, place, text) {
      const issue = issueAt(place);
      const before = issue.text;
      issue.text = text;
      issue.updatedAt = now();
      changed(issue.request === undefined ? "issues" : "pull_request", "edited", { issue, before }, world.user(by));
    },
    remove(id) {
      const comment = world.comment(id);
      world.comments.delete(id);
      changed(EVENTS[comment.kind], "deleted", { comment }, comment.by);
    },
    comments: (place) =>
      [...world.comments.values()]
        .map(shown)
        .filter(
          ({ place: at }) => at.project === place.project && String(at.id) === String(place.id) && (place.thread === undefined || at.thread === place.thread),
        ),
    item(place) {
      const { labels, state } = issueAt(place);
      return { labels, state };
    },
    review(by, place, { text = "", event = "COMMENT", comments = [] }) {
      return giveReview(forge, issueAt(place), world.user(by), { event, text, comments });
    },
    editReview(by, id, text) {
      const found = world.review(id);
      if (found === undefined) throw new Error(`the far end of forge_b has no review ${id}`);
      const before = found.review.text;
      found.review.text = text;
      found.review.updatedAt = now();
      changed("pull_request_review", "edited", { ...found, before }, world.user(by));
    },
    lock: (place) => void (issueAt(place).locked = true),
  };
}
