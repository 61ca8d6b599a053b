import {
  channelError,
  type Forge,
  type ForgeCaller,
  type ForgeComment,
  type ForgeNote,
  type ForgePlace,
  type ForgeProject,
  type ForgeRight,
  type MentionGrammar,
  SIGNATURES,
} from "@svc/sdk";
import { changeLabels, giveReview, openRequest } from "./actions.ts";
import { type Api, at, type Credential, inRepository } from "./api.ts";
import type { Purpose } from "./app.ts";
import { changedNotes, LISTS } from "./backfill.ts";
import { answeredStatus } from "./failure.ts";
import { deliveryId, eventOf, INSTALLATIONS, readHook } from "./hook.ts";
import type { Identities } from "./identity.ts";
import { type ApiComment, type ApiIssue, type ApiRepository, type ApiReview, projectOf, requestOf, userOf } from "./notes.ts";
import { pictureOf, picturesIn } from "./pictures.ts";
import type { Settings } from "./settings.ts";

const GRAMMAR: MentionGrammar = {
  first: "A-Za-z0-9",
  rest: "A-Za-z0-9_\\-",
  last: "A-Za-z0-9_\\-",
  notBefore: "\\/",
  notAfter: "`@\\/",
  suffixes: [],
  dotted: true,
  fencedQuotes: false,
};
const BOT_MS = 24 * 3_600_000;
const REMEMBERED = 1_000;

/** The forge as the service `forges` wants it: its calls and shapes. */
export function createForge(settings: Settings, api: Api, identities: Identities): Forge {
  const { webhookSecret = "", routes = [] } = settings;
  const bots = new Map<string, { readonly bot: boolean; readonly until: number }>();

  const credential = ({ agent }: ForgeCaller, project: Pick<ForgeProject, "path" | "id">, purpose: Purpose = "notes"): Credential => {
    const identity = identities.of(agent);
    if (identity === undefined) throw channelError("permanent", `the agent '${agent}' has no token at forge_b; set its token, or channels.forge_b.token`);
    return identity.credential(project, purpose);
  };
  const forPlace = (place: ForgePlace, as: ForgeCaller) => credential(as, place.project, place.kind === "commit" ? "commits" : "notes");
  /** A credential that may read there: of an agent of the repository, else the first one. */
  const reader = (project: ForgeProject): Credential => {
    const [agent] = identities.agents(project);
    const identity = (agent && identities.of(agent.agent)) ?? identities.common ?? identities.all[0];
    if (identity === undefined) throw channelError("permanent", "forge_b has no token; set channels.forge_b.token");
    return identity.credential(project);
  };

  const { app } = identities.common ?? {};
  const commentAt = (place: ForgePlace, id: string) =>
    commentPath(place, place.kind === "commit" ? "commit-note" : place.thread === undefined ? "note" : "review-note", id);

  async function* written(place: ForgePlace, since: number, as: Credential, signal: AbortSignal): AsyncGenerator<ApiComment | ApiReview> {
    const { project, kind, id, thread } = place;
    const from = new Date(Math.max(0, since)).toISOString().replace(/\.\d+Z$/, "Z");
    const list = (parts: readonly string[], query = {}) => api.pages({ path: inRepository(project.path, ...parts), query, as, signal });
    if (kind === "commit") for await (const page of list(["commits", id, "comments"])) yield* page as readonly ApiComment[];
    else if (thread !== undefined) {
      for await (const page of list(["pulls", id, "comments"], { since: from }))
        yield* (page as readonly ApiComment[]).filter((comment) => String(comment.in_reply_to_id ?? comment.id) === thread);
    } else {
      for await (const page of list(["issues", id, "comments"], { since: from })) yield* page as readonly ApiComment[];
      if (kind === "request") for await (const page of list(["pulls", id, "reviews"])) yield* page as readonly ApiReview[];
    }
  }

  return {
    name: "forge_b",
    origin: new URL(api.home).origin,
    grammar: GRAMMAR,
    limits: { maxChars: 60_000, contentPerMinute: 80, contentPerHour: 500 },
    webhook: {
      schemes: [SIGNATURES.hub, { header: SIGNATURES.forge.header, prefix: SIGNATURES.forge.prefix }],
      secrets: () => (webhookSecret === "" ? [] : [webhookSecret]),
      setting: "channels.forge_b.webhookSecret",
      deliveryId,
    },
    lists: LISTS.filter(({ name }) => name !== "deliveries" || app !== undefined),

    read(headers, body) {
      if (INSTALLATIONS.has(eventOf(headers) ?? "")) app?.forget();
      return readHook(headers, body);
    },
    agents: (project) => identities.agents(project),
    async isBot({ id, login }, signal) {
      const known = bots.get(id);
      if (known !== undefined && known.until > Date.now()) return known.bot;
      const identity = identities.all.find(({ app: key }) => key === undefined);
      // An App may ask for users only where it is installed; its hooks tell who is a bot.
      if (identity === undefined) return login.endsWith("[bot]");
      const { status, body } = await api.call({ path: at("users", login), as: identity.credential(), signal }, [404]);
      const bot = status !== 404 && userOf(body).bot === true;
      if (bots.size >= REMEMBERED) bots.clear();
      bots.set(id, { bot, until: Date.now() + BOT_MS });
      return bot;
    },
    right: (project, user, as, signal) => rightOf(api, project, user.login, credential(as, project), signal),
    async complete(note, as, signal) {
      const { project, kind, id } = note.place;
      if (kind !== "request" || note.request !== undefined) return note;
      const { status, body } = await api.call({ path: inRepository(project.path, "pulls", id), as: credential(as, project), signal }, [404, 410]);
      if (status !== 200) return undefined;
      const request = requestOf(body as ApiIssue);
      return { ...note, title: (body as ApiIssue).title, ...(request === undefined ? {} : { request }) };
    },

    async post(place, text, as, _options, signal) {
      const { project, kind, id, thread, position } = place;
      const call = (parts: readonly string[], more = {}) =>
        api.call({
          method: "POST",
          path: inRepository(project.path, ...parts),
          body: { body: withLink(place, text), ...more },
          as: forPlace(place, as),
          signal,
        });
      const line = (position?.raw as { position?: number } | undefined)?.position;
      const { body } = await (kind === "commit"
        ? call(["commits", id, "comments"], position === undefined || line === undefined ? {} : { path: position.path, position: line })
        : thread !== undefined
          ? call(["pulls", id, "comments", thread, "replies"])
          : call(["issues", id, "comments"]));
      const comment = body as ApiComment;
      return { id: String(comment.id), url: comment.html_url };
    },
    async edit(place, id, text, as, signal) {
      await api.call({ method: "PATCH", path: commentAt(place, id), body: { body: withLink(place, text) }, as: forPlace(place, as), signal });
    },
    async comments(place, since, as, signal) {
      const found: ForgeComment[] = [];
      for await (const one of written(place, since, forPlace(place, as), signal)) {
        const createdAt = Date.parse("created_at" in one ? one.created_at : (one.submitted_at ?? ""));
        // The forge's times have no milliseconds.
        if (!(createdAt >= Math.floor(since / 1_000) * 1_000)) continue;
        found.push({ id: String(one.id), text: one.body ?? "", author: userOf(one.user), createdAt, url: one.html_url });
      }
      return found;
    },
    async eye(place, note, as, signal) {
      // The forge has none for the words of a review.
      if (note.kind === "review") return;
      const path = note.kind === "description" ? inRepository(place.project.path, "issues", place.id) : commentPath(place, note.kind, note.id);
      await api.call({ method: "POST", path: `${path}/reactions`, body: { content: "eyes" }, as: forPlace(place, as), signal });
    },

    media: (note) =>
      picturesIn(note, [
        ...new Set([new URL(api.home).origin, api.origin, "https://user-images.githubusercontent.com", "https://private-user-images.githubusercontent.com"]),
      ]),
    download: (handle, as, maxBytes, signal) => pictureOf(api, handle, (project) => credential(as, project), maxBytes, signal),

    projects: (signal) => namedProjects(api, identities, routes, signal),
    changed: (query, signal) => changedNotes({ api, credential: reader, ...(app === undefined ? {} : { app: app.itself }) }, query, signal),

    label: (place, change, as, signal) => changeLabels(api, place, change, credential(as, place.project), signal),
    openRequest: (project, draft, as, signal) => openRequest(api, project, draft, credential(as, project), signal),
    secrets: () => identities.secrets,
    review: (place, draft, as, signal) => giveReview(api, place, draft, credential(as, place.project), signal),
    url({ project, kind, id, thread }, commentId) {
      const page = `${api.home}/${project.path}/${kind === "commit" ? "commit" : kind === "request" ? "pull" : "issues"}/${id}`;
      if (commentId === undefined) return page;
      return `${page}#${kind === "commit" ? "commitcomment-" : thread === undefined ? "issuecomment-" : "discussion_r"}${commentId}`;
    },
  };
}

function commentPath({ project }: ForgePlace, kind: ForgeNote["kind"], id: string): string {
  if (kind === "commit-note") return inRepository(project.path, "comments", id);
  return inRepository(project.path, kind === "review-note" ? "pulls" : "issues", "comments", id);
}

/** Reviews have no thread: what answers one stands below the request, and its first line leads back. */
const withLink = ({ raw }: ForgePlace, text: string): string => {
  const review = (raw as { review?: string } | undefined)?.review;
  return review === undefined ? text : `In answer to [this review](${review}):\n\n${text}`;
};

async function rightOf(api: Api, project: ForgeProject, login: string, as: Credential, signal: AbortSignal): Promise<ForgeRight> {
  const { status, body } = await api.call({ path: inRepository(project.path, "collaborators", login, "permission"), as, signal }, [404]);
  if (status === 404) return "none";
  const { permission, role_name: role } = body as { permission?: string; role_name?: string };
  if (permission === "write" || permission === "admin") return "write";
  if (permission !== "read") return "none";
  // Anyone may read public projects.
  return role === "triage" || project.private ? "report" : "none";
}

/** Repositories of the routes; with an App those where it is installed. */
async function namedProjects(api: Api, { common }: Identities, routes: NonNullable<Settings["routes"]>, signal: AbortSignal): Promise<readonly ForgeProject[]> {
  const found = new Map<string, ForgeProject>();
  const add = (repository: ApiRepository) => found.set(String(repository.id), projectOf(repository));
  if (common?.app !== undefined && routes.some(({ repo }) => repo === "*"))
    for await (const page of api.pages({ path: "/app/installations", as: common.app.itself, signal }))
      for (const { id } of page as readonly { id: number }[])
        for await (const repositories of api.pages({ path: "/installation/repositories", as: common.app.anywhere(id), signal }))
          for (const repository of repositories as readonly ApiRepository[]) add(repository);
  for (const { repo } of routes) {
    if (repo === "*" || common === undefined) continue;
    try {
      const { body } = await api.call({ path: inRepository(repo), as: common.credential({ path: repo }), signal });
      add(body as ApiRepository);
    } catch (error) {
      // The repository does not exist, or the App is not installed there: go on with the others.
      if (![403, 404].includes(answeredStatus(error) ?? 0)) throw error;
    }
  }
  return [...found.values()];
}
