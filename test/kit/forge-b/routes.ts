import type { ForgeUser } from "../forge-server.ts";
import type { Installation, Permissions } from "./app.ts";
import { authorOf, type Call, issueOf, listed, mustHave, notFound, page, Refusal, type Route, repositoryOf, textOf } from "./call.ts";
import { COMMENT_ROUTES, react } from "./comment-routes.ts";
import { type Comment, type Issue, type Repository, type Review, roleOf, shaOf } from "./world.ts";

const R = "/repos/{owner}/{repo}";
const PULLS = { read: ["pull_requests:read"], write: ["pull_requests:write"] };

const ok = (body: unknown) => ({ status: 200, body });

/** With signed addresses of its pictures, where the caller asks for them. */
const full = ({ forge, request }: Call, rendered: object, text: string): object =>
  request.headers.accept === "application/vnd.github.full+json" ? { ...rendered, body_html: forge.rendering.html(text) } : rendered;

const IDENTITY: Record<string, Route> = {
  "GET /user": {
    run({ forge, caller }) {
      if (caller.user === undefined) throw new Refusal(403, "Resource not accessible by integration");
      return ok({ ...forge.rendering.user(caller.user), name: null });
    },
  },
  "GET /users/{username}": {
    run({ forge, values }) {
      const user = forge.world.users.get((values.username ?? "").toLowerCase());
      if (user === undefined) throw notFound();
      return ok(forge.rendering.user(user));
    },
  },
  "GET /app": {
    app: true,
    run: ({ forge: { app, rendering, world } }) =>
      ok({
        id: app.id,
        client_id: app.clientId,
        slug: app.slug,
        name: app.slug,
        node_id: "A_1",
        owner: rendering.user(world.user(`${app.slug}[bot]`)),
        permissions: {},
        events: [],
      }),
  },
  "GET /app/installations": { app: true, run: (call) => page(call, [...call.forge.app.installations.values()].map(installed)) },
  [`GET ${R}/installation`]: {
    app: true,
    run({ forge, values }) {
      const path = `${values.owner}/${values.repo}`.toLowerCase();
      const found = [...forge.app.installations.values()].find(({ repositories }) => [...repositories].some((one) => one.path.toLowerCase() === path));
      if (found === undefined) throw notFound();
      return ok(installed(found));
    },
  },
  "GET /installation/repositories": {
    run(call) {
      const { installation } = call.caller;
      if (installation === undefined)
        throw new Refusal(403, "You must authenticate with an installation access token in order to list repositories for an installation.");
      const { body, ...answer } = page(
        call,
        [...installation.repositories].map((one) => call.forge.rendering.repository(one)),
      );
      return { ...answer, body: { total_count: installation.repositories.size, repositories: body } };
    },
  },
  "POST /app/installations/{installation_id}/access_tokens": {
    app: true,
    run({ forge, values, body }) {
      const installation = forge.app.installations.get(Number(values.installation_id));
      if (installation === undefined) throw notFound();
      if (installation.suspended) throw new Refusal(403, "This installation has been suspended");
      const asked = new Set((body?.repository_ids ?? []) as number[]);
      const repositories = new Set([...installation.repositories].filter(({ id }) => asked.size === 0 || asked.has(id)));
      if (asked.size > 0 && repositories.size < asked.size)
        throw new Refusal(422, "There is at least one repository that does not exist or is not accessible to the parent installation.");
      const permissions = (body?.permissions ?? installation.permissions) as Permissions;
      for (const [name, level] of Object.entries(permissions))
        if (name !== "metadata" && !allows(installation.permissions, `${name}:${level}`))
          throw new Refusal(422, "The permissions requested are not granted to this installation.");
      const token = forge.app.issue(installation, repositories, permissions, forge.now() + forge.tokenMs);
      return { status: 201, body: { token: token.token, expires_at: new Date(token.expiresAt).toISOString(), permissions, repository_selection: "selected" } };
    },
  },
  "GET /app/hook/deliveries": {
    app: true,
    run: (call) => {
      const all = call.forge.deliveries.list(call.request.query.get("status") ?? undefined);
      const size = Math.min(Number(call.request.query.get("per_page") ?? 30), 100);
      const from = Number(call.request.query.get("cursor")?.slice(1) ?? 0);
      const query = new URLSearchParams(call.request.query);
      query.set("cursor", `v${from + size}`);
      const link = from + size < all.length ? { headers: { link: `<${call.forge.url}${call.request.path}?${query}>; rel="next"` } } : {};
      return { ...ok(all.slice(from, from + size)), ...link };
    },
  },
  "POST /app/hook/deliveries/{delivery_id}/attempts": {
    app: true,
    run({ forge, values }) {
      if (!forge.deliveries.again(Number(values.delivery_id))) throw notFound();
      return { status: 202, body: {} };
    },
  },
};

const installed = ({ id, permissions, suspended, repositories }: Installation) => ({
  id,
  permissions,
  suspended_at: suspended ? "2026-01-01T00:00:00Z" : null,
  repository_selection: "selected",
  account: { login: [...repositories][0]?.path.split("/")[0] },
});

/** `pull_requests:write` includes `pull_requests:read`. */
export function allows(permissions: Permissions, needed: string): boolean {
  const [name = "", level] = needed.split(":");
  return permissions[name] === "write" || permissions[name] === level;
}

const REPOSITORIES: Record<string, Route> = {
  [`GET ${R}`]: { run: (call) => ok(call.forge.rendering.repository(repositoryOf(call))) },
  [`GET ${R}/collaborators/{username}/permission`]: {
    needs: ["metadata:read"],
    run(call) {
      const repository = repositoryOf(call);
      if (call.caller.user !== undefined) mustHave(call, repository, "write");
      const user = call.forge.world.users.get((call.values.username ?? "").toLowerCase());
      if (user === undefined) throw notFound();
      const role = roleOf(repository, user);
      return ok({ permission: role === "triage" ? "read" : role, role_name: role, user: call.forge.rendering.user(user) });
    },
  },
  [`GET ${R}/labels`]: {
    needs: ["issues:read", "pull_requests:read"],
    run: (call) =>
      page(
        call,
        repositoryOf(call).labels.map((name, id) => ({ id, name, color: "ededed" })),
      ),
  },
};

const ISSUES: Record<string, Route> = {
  [`GET ${R}/issues`]: {
    needs: ["issues:read", "pull_requests:read"],
    run(call) {
      const state = call.request.query.get("state") ?? "open";
      const all = [...repositoryOf(call).issues.values()].filter((issue) => state === "all" || issue.state === state);
      return page(
        call,
        listed(call, all, { direction: "desc" }).map((issue) => call.forge.rendering.issue(issue)),
      );
    },
  },
  [`GET ${R}/issues/{issue_number}`]: {
    needs: ["issues:read", "pull_requests:read"],
    run: (call) => ok(full(call, call.forge.rendering.issue(issueOf(call)), issueOf(call).text)),
  },
  [`POST ${R}/issues/{issue_number}/reactions`]: { needs: ["issues:write", "pull_requests:write"], run: (call) => react(call, issueOf(call).reactions) },
  [`POST ${R}/issues/{issue_number}/labels`]: {
    needs: ["issues:write", "pull_requests:write"],
    run(call) {
      const issue = issueOf(call);
      mustHave(call, issue.repository, "triage");
      const names = (call.body.labels ?? call.body) as string[];
      // The forge makes those that are missing.
      for (const name of names) if (!issue.repository.labels.includes(name)) issue.repository.labels.push(name);
      issue.labels = [...new Set([...issue.labels, ...names])];
      return ok(call.forge.rendering.issue(issue).labels);
    },
  },
  [`DELETE ${R}/issues/{issue_number}/labels/{name}`]: {
    needs: ["issues:write", "pull_requests:write"],
    run(call) {
      const issue = issueOf(call);
      mustHave(call, issue.repository, "triage");
      if (!issue.labels.includes(call.values.name ?? "")) throw new Refusal(404, "Label does not exist");
      issue.labels = issue.labels.filter((name) => name !== call.values.name);
      return ok(call.forge.rendering.issue(issue).labels);
    },
  },
};

const REQUESTS: Record<string, Route> = {
  [`GET ${R}/pulls`]: {
    needs: PULLS.read,
    run(call) {
      const { query } = call.request;
      const head = query.get("head");
      const all = [...repositoryOf(call).issues.values()].filter(
        ({ request, state, repository }) =>
          request !== undefined &&
          (query.get("state") === "all" || state === (query.get("state") ?? "open")) &&
          (head === null || head === `${repository.path.split("/")[0]}:${request.head}`) &&
          (query.get("base") === null || query.get("base") === request.base),
      );
      return page(
        call,
        all.map((issue) => call.forge.rendering.request(issue)),
      );
    },
  },
  [`POST ${R}/pulls`]: {
    needs: PULLS.write,
    run(call) {
      const repository = repositoryOf(call);
      mustHave(call, repository, "write");
      const { title, head, base, body = "" } = call.body;
      for (const other of repository.issues.values())
        if (other.state === "open" && other.request?.head === head && other.request?.base === base)
          throw new Refusal(422, "Validation Failed", [{ resource: "PullRequest", code: "custom", message: `A pull request already exists for ${head}.` }]);
      const issue = openIssue(call.forge, repository, authorOf(call), { title, text: body ?? "", request: { head, base } });
      call.forge.changed("pull_request", "opened", { issue }, issue.by);
      return { status: 201, body: call.forge.rendering.request(issue) };
    },
  },
  [`GET ${R}/pulls/{pull_number}`]: { needs: PULLS.read, run: (call) => ok(call.forge.rendering.request(issueOf(call))) },
  [`GET ${R}/pulls/{pull_number}/reviews`]: {
    needs: PULLS.read,
    run: (call) =>
      page(
        call,
        (issueOf(call).request?.reviews ?? [])
          .filter(({ submittedAt }) => submittedAt <= call.forge.visible())
          .map((review) => call.forge.rendering.review(issueOf(call), review)),
      ),
  },
  [`GET ${R}/pulls/{pull_number}/reviews/{review_id}`]: {
    needs: PULLS.read,
    run(call) {
      const review = issueOf(call).request?.reviews.find(({ id }) => id === Number(call.values.review_id));
      if (review === undefined) throw notFound();
      return ok(full(call, call.forge.rendering.review(issueOf(call), review), review.text));
    },
  },
  [`POST ${R}/pulls/{pull_number}/reviews`]: {
    needs: PULLS.write,
    run(call) {
      const issue = issueOf(call);
      const { event = "COMMENT", body = "", comments = [] } = call.body;
      const by = authorOf(call);
      if (event !== "COMMENT" && issue.by === by)
        throw new Refusal(422, "Unprocessable Entity", [`Can not ${event === "APPROVE" ? "approve" : "request changes on"} your own pull request`]);
      if (event !== "APPROVE" && body === "" && comments.length === 0) throw new Refusal(422, "Unprocessable Entity", ["Body can't be blank"]);
      const review = giveReview(call.forge, issue, by, { event, text: body, comments });
      return ok(call.forge.rendering.review(issue, review));
    },
  },
};

/** All calls of the far end, by method and template of the published API. */
export const ROUTES: Readonly<Record<string, Route>> = { ...COMMENT_ROUTES, ...IDENTITY, ...REPOSITORIES, ...ISSUES, ...REQUESTS };

type Made = Pick<Call["forge"], "world" | "now">;

/** A new issue or request; the hooks are told by the caller. */
export function openIssue(
  { world, now }: Made,
  repository: Repository,
  by: ForgeUser,
  what: {
    readonly title: string;
    readonly text: string;
    readonly labels?: readonly string[];
    readonly at?: number;
    readonly request?: { readonly head: string; readonly base: string; readonly fork?: boolean };
  },
): Issue {
  const number = Math.max(0, ...repository.issues.keys()) + 1;
  const at = what.at ?? now();
  const { request } = what;
  const sha = shaOf(`${repository.path}#${number}`);
  const issue: Issue = {
    id: world.id(),
    number,
    repository,
    by,
    title: what.title,
    text: what.text,
    labels: [...(what.labels ?? [])],
    state: "open",
    locked: false,
    createdAt: at,
    updatedAt: at,
    reactions: [],
    ...(request === undefined ? {} : { request: { head: request.head, base: request.base, sha, fork: request.fork ?? false, reviews: [] } }),
  };
  if (request !== undefined) repository.commits.add(sha);
  repository.issues.set(number, issue);
  return issue;
}

const STATES = { APPROVE: "APPROVED", REQUEST_CHANGES: "CHANGES_REQUESTED", COMMENT: "COMMENTED" } as const;

/** A review with its comments; the hooks are told of each. */
export function giveReview(
  forge: Made & Pick<Call["forge"], "changed">,
  issue: Issue,
  by: ForgeUser,
  {
    event,
    text,
    comments,
  }: {
    readonly event: keyof typeof STATES;
    readonly text: string;
    readonly comments: readonly { readonly path: string; readonly line?: number; readonly side?: "LEFT" | "RIGHT"; readonly body: string }[];
  },
): Review {
  const at = forge.now();
  const review: Review = { id: forge.world.id(), by, text: text === "" ? "" : textOf(text), state: STATES[event], submittedAt: at, updatedAt: at };
  issue.request?.reviews.push(review);
  issue.updatedAt = at;
  const { repository } = issue;
  const made = comments.map(
    ({ body, ...place }): Comment => ({
      ...place,
      id: forge.world.id(),
      kind: "review",
      repository,
      issue,
      by,
      review,
      text: textOf(body),
      createdAt: at,
      updatedAt: at,
      reactions: [],
    }),
  );
  for (const comment of made) forge.world.comments.set(comment.id, comment);
  forge.changed("pull_request_review", "submitted", { issue, review }, by);
  for (const comment of made) forge.changed("pull_request_review_comment", "created", { comment }, by);
  return review;
}
