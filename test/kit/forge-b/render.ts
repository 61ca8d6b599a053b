import type { ForgeUser } from "../forge-server.ts";
import type { Comment, Issue, Reaction, Repository, Review } from "./world.ts";

/** Times have no milliseconds there. */
export const stamp = (at: number): string => new Date(Math.floor(at / 1000) * 1000).toISOString().replace(".000Z", "Z");

type Json = Readonly<Record<string, unknown>>;

/** How the forge writes what it keeps, in answers and in hooks. */
export interface Rendering {
  user(user: ForgeUser): Json;
  repository(repository: Repository): Json;
  issue(issue: Issue): Json;
  request(issue: Issue): Json;
  comment(comment: Comment): Json;
  review(issue: Issue, review: Review): Json;
  reaction(reaction: Reaction): Json;
  /** Where pictures of a text lie, signed: what `application/vnd.github.full+json` adds. */
  html(text: string): string;
}

/** `pictures` turns the address of an upload into one that works without a token. */
export function createRendering(url: string, pictures: (id: string) => string): Rendering {
  const api = (repository: Repository) => `${url}/repos/${repository.path}`;
  const association = ({ members }: Repository, { login }: ForgeUser) => (members.has(login.toLowerCase()) ? "COLLABORATOR" : "NONE");

  const rendering: Rendering = {
    user: ({ id, login, bot }) => ({
      login,
      id,
      node_id: `U_${id}`,
      url: `${url}/users/${encodeURIComponent(login)}`,
      html_url: `${url}/${login}`,
      type: bot ? "Bot" : "User",
      site_admin: false,
    }),
    repository(repository) {
      const [owner = "", name = ""] = repository.path.split("/");
      return {
        id: repository.id,
        node_id: `R_${repository.id}`,
        name,
        full_name: repository.path,
        private: repository.private,
        visibility: repository.private ? "private" : "public",
        owner: { login: owner, id: 1, type: "Organization" },
        html_url: `${url}/${repository.path}`,
        url: api(repository),
        default_branch: "main",
        fork: false,
      };
    },
    issue: (issue) => ({
      id: issue.id,
      number: issue.number,
      title: issue.title,
      body: issue.text === "" ? null : issue.text,
      user: rendering.user(issue.by),
      labels: issue.labels.map((name, index) => ({ id: index + 1, name, color: "ededed", default: false })),
      state: issue.state,
      locked: issue.locked,
      comments: 0,
      created_at: stamp(issue.createdAt),
      updated_at: stamp(issue.updatedAt),
      author_association: association(issue.repository, issue.by),
      url: `${api(issue.repository)}/issues/${issue.number}`,
      html_url: `${url}/${issue.repository.path}/${issue.request === undefined ? "issues" : "pull"}/${issue.number}`,
      repository_url: api(issue.repository),
      ...(issue.request === undefined ? {} : { pull_request: { url: `${api(issue.repository)}/pulls/${issue.number}` } }),
    }),
    request: (issue) => ({
      ...rendering.issue(issue),
      pull_request: undefined,
      url: `${api(issue.repository)}/pulls/${issue.number}`,
      merged: false,
      draft: false,
      head: {
        ref: issue.request?.head,
        sha: issue.request?.sha,
        repo: issue.request?.fork ? { ...rendering.repository(issue.repository), id: 1, fork: true } : rendering.repository(issue.repository),
      },
      base: { ref: issue.request?.base, sha: "0".repeat(40), repo: rendering.repository(issue.repository) },
    }),
    comment(comment) {
      const { id, repository, issue, sha, kind } = comment;
      const shared = {
        id,
        node_id: `C_${id}`,
        body: comment.text,
        user: rendering.user(comment.by),
        created_at: stamp(comment.createdAt),
        updated_at: stamp(comment.updatedAt),
        author_association: association(repository, comment.by),
      };
      if (kind === "commit")
        return {
          ...shared,
          commit_id: sha,
          path: comment.path ?? null,
          line: comment.line ?? null,
          position: comment.position ?? null,
          url: `${api(repository)}/comments/${id}`,
          html_url: `${url}/${repository.path}/commit/${sha}#commitcomment-${id}`,
        };
      if (kind === "issue")
        return {
          ...shared,
          url: `${api(repository)}/issues/comments/${id}`,
          issue_url: `${api(repository)}/issues/${issue?.number}`,
          html_url: `${rendering.issue(issue as Issue).html_url}#issuecomment-${id}`,
        };
      return {
        ...shared,
        url: `${api(repository)}/pulls/comments/${id}`,
        pull_request_review_id: comment.review?.id ?? null,
        pull_request_url: `${api(repository)}/pulls/${issue?.number}`,
        html_url: `${url}/${repository.path}/pull/${issue?.number}#discussion_r${id}`,
        diff_hunk: "@@ -1,3 +1,3 @@",
        path: comment.path,
        line: comment.line ?? null,
        side: comment.side ?? "RIGHT",
        position: comment.line ?? null,
        commit_id: issue?.request?.sha,
        original_commit_id: issue?.request?.sha,
        ...(comment.inReplyTo === undefined ? {} : { in_reply_to_id: comment.inReplyTo }),
      };
    },
    review: (issue, review) => ({
      id: review.id,
      node_id: `PRR_${review.id}`,
      user: rendering.user(review.by),
      body: review.text,
      state: review.state,
      submitted_at: stamp(review.submittedAt),
      commit_id: issue.request?.sha,
      author_association: association(issue.repository, review.by),
      html_url: `${url}/${issue.repository.path}/pull/${issue.number}#pullrequestreview-${review.id}`,
      pull_request_url: `${api(issue.repository)}/pulls/${issue.number}`,
    }),
    reaction: ({ id, by, content }) => ({ id, node_id: `RE_${id}`, user: rendering.user(by), content, created_at: stamp(Date.now()) }),
    html: (text) =>
      text
        .replaceAll("&", "&amp;")
        .replaceAll("<", "&lt;")
        .replace(/!\[([^\]]*)\]\(([^)\s]+)\)/g, (_all, alt: string, address: string) => {
          const id = /\/user-attachments\/assets\/([\w-]+)$/.exec(address)?.[1];
          const source = id === undefined ? address : pictures(id).replaceAll("&", "&amp;");
          return `<a href="${source}"><img src="${source}" alt="${alt}" style="max-width: 100%;"></a>`;
        }),
  };
  return rendering;
}
