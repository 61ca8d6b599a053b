import { createHmac, randomBytes, randomUUID } from "node:crypto";
import { createHooks } from "../forge-deliveries.ts";
import {
  type CommentOptions,
  type ForgeAnswer,
  type ForgeComment,
  type ForgePlace,
  type ForgeRequest,
  type ForgeRight,
  type ForgeServer,
  startForgeHttp,
} from "../forge-server.ts";
import { type Asked, answer, refusal } from "./api.ts";
import { callOf, findings } from "./calls.ts";
import { itemPayload, notePayload } from "./payloads.ts";
import { execute, extract } from "./quick-actions.ts";
import {
  addItem,
  addNote,
  createState,
  DEVELOPER,
  type Item,
  itemAt,
  levelOf,
  type Note,
  nextNumber,
  type Project,
  projectOf,
  REPORTER,
  type State,
  type User,
} from "./state.ts";

/** The far end of forge_a, with what only it has. */
export interface ForgeA extends ForgeServer {
  readonly state: State;
  /** Somebody publishes a review: its notes come as several deliveries that share one event id. */
  review(by: string, place: ForgePlace, texts: readonly string[]): readonly ForgeComment[];
  /** Sets an access level as the platform numbers them: 10 guest, 20 reporter, 30 developer, 40 maintainer, 50 owner. */
  setLevel(project: string, login: string, level: number): void;
}

const LEVELS: Readonly<Record<ForgeRight, number>> = { write: DEVELOPER, report: REPORTER, none: 0 };
const MINUTE = 60_000;

/** Starts the far end of forge_a, a strict one of the GitLab API. `now`: another clock than the machine's. */
export async function startForgeA({ now = Date.now }: { readonly now?: () => number } = {}): Promise<ForgeA> {
  const state = createState(now);
  /** Shared by all hooks that one request causes. */
  let eventId = randomUUID();
  const hookId = randomUUID();
  const hooks = createHooks({
    now,
    timeoutMs: 10_000,
    headers({ id, event, secret, signature, body, at }) {
      const stamp = String(Math.floor(at / 1000));
      const key = secret.startsWith("whsec_") ? Buffer.from(secret.slice(6), "base64") : secret;
      return {
        "user-agent": "GitLab/17.5.0",
        "x-gitlab-event": event,
        "x-gitlab-webhook-uuid": hookId,
        "x-gitlab-event-uuid": eventId,
        "x-gitlab-instance": http.url,
        "idempotency-key": id,
        ...(signature
          ? {
              "webhook-id": id,
              "webhook-timestamp": stamp,
              "webhook-signature": `v1,${createHmac("sha256", key).update(`${id}.${stamp}.${body}`).digest("base64")}`,
            }
          : { "x-gitlab-token": secret }),
      };
    },
    offFor: (failures) => (failures >= 40 ? Number.POSITIVE_INFINITY : failures < 4 ? undefined : Math.min(24 * 60 * MINUTE, MINUTE * 2 ** (failures - 4))),
  });

  const http = await startForgeHttp(serve, (headers) => headers["private-token"] ?? /^Bearer (.+)$/.exec(headers.authorization ?? "")?.[1]);

  const noted = (note: Note, action: "create" | "update") =>
    hooks.tell(note.internal ? "Confidential Note Hook" : "Note Hook", `comment:${note.id}`, notePayload(note, action, http.url));
  const changed = (item: Item, by: User, action: "open" | "update" | "close" | "reopen", previous?: string) =>
    hooks.tell(item.kind === "issue" ? "Issue Hook" : "Merge Request Hook", `${item.kind}:${item.key}`, itemPayload(item, by, action, http.url, previous));

  function serve(request: ForgeRequest): ForgeAnswer {
    const { method, path, query, token } = request;
    if (!path.startsWith("/api/")) return page(request);
    const found = callOf(method, path);
    const against = (finding: string, status: number): ForgeAnswer => {
      state.violations.push(`${method} ${path}: ${finding}`);
      return refusal(status, finding);
    };
    if (found === undefined) return against("no such call", 404);
    const { call, parts } = found;
    let body: Record<string, unknown> = {};
    if (request.body.length > 0) {
      if (!(request.headers["content-type"] ?? "").startsWith("application/json")) return against("the body is not declared as JSON", 415);
      try {
        body = JSON.parse(new TextDecoder().decode(request.body)) as Record<string, unknown>;
      } catch {
        return against("the body is not JSON", 400);
      }
    }
    const finding = findings(call.query, Object.fromEntries(query)) ?? findings(call.body, body);
    if (finding !== undefined) return against(finding, 400);
    const holder = token === undefined ? undefined : state.tokens.get(token);
    if (holder === undefined) return refusal(401, "401 Unauthorized");
    const needed = method === "GET" ? ["api", "read_api"] : ["api"];
    if (!needed.some((scope) => holder.scopes.includes(scope)))
      return {
        status: 403,
        body: {
          error: "insufficient_scope",
          error_description: "The request requires higher privileges than provided by the access token.",
          scope: needed.join(" "),
        },
      };
    eventId = randomUUID();
    const asked: Asked = {
      state,
      url: http.url,
      user: holder.user,
      scopes: holder.scopes,
      name: call.name,
      path,
      parts,
      query,
      body,
      visibleUntil: now() - http.faults.lag,
      noted,
      changed: (item, action, previous) => changed(item, holder.user, action, previous),
    };
    return answer(asked);
  }

  /** Pages for people, who sign in with a cookie: a token is nothing to them. */
  function page({ path }: ForgeRequest): ForgeAnswer {
    if (path !== "/users/sign_in") return { status: 302, headers: { location: `${http.url}/users/sign_in` } };
    return {
      status: 200,
      body: new TextEncoder().encode("<!DOCTYPE html><html><body>Sign in</body></html>"),
      headers: { "content-type": "text/html; charset=utf-8" },
    };
  }

  const userOf = (login: string): User => {
    const user = state.users.get(login.toLowerCase());
    if (user === undefined) throw new Error(`the far end has no user ${login}`);
    return user;
  };
  const projectAt = (path: string): Project => {
    const project = projectOf(state, path);
    if (project === undefined) throw new Error(`the far end has no project ${path}`);
    return project;
  };
  const noteAt = (id: number): Note => {
    const note = state.notes.get(id);
    if (note === undefined) throw new Error(`the far end has no note ${id}`);
    return note;
  };

  function commentBy(by: string, place: ForgePlace, text: string, { internal, system, position, at }: CommentOptions = {}): ForgeComment {
    const item = itemAt(state, place);
    const author = userOf(by);
    const { words, commands } = extract(text);
    for (const line of commands) execute(item, author, line, now());
    const note = addNote(state, item, author, words, {
      ...(place.thread === undefined ? {} : { discussion: place.thread }),
      ...(internal === undefined ? {} : { internal }),
      ...(system === undefined ? {} : { system }),
      ...(position === undefined ? {} : { position, thread: true }),
      ...(at === undefined ? {} : { createdAt: at }),
    });
    noted(note, "create");
    return commentOf(note);
  }

  return {
    state,
    url: http.url,
    hooks,
    faults: http.faults,
    requests: http.requests,
    violations: state.violations,
    addUser(login, { bot = false, id = state.next() } = {}) {
      const user = { id, username: login, bot };
      state.users.set(login.toLowerCase(), user);
      return { id, login, bot };
    },
    addToken: (token, login, { scopes = ["api"] } = {}) => void state.tokens.set(token, { user: userOf(login), scopes }),
    revokeToken: (token) => void state.tokens.delete(token),
    addProject(path, { private: hidden = false, members = {}, labels = [] } = {}) {
      const project: Project = { id: state.next(), path, private: hidden, members: new Map(), labels: [...labels], items: new Map(), uploads: new Map() };
      state.projects.push(project);
      for (const [login, right] of Object.entries(members)) project.members.set(userOf(login), LEVELS[right]);
      return { id: project.id, path };
    },
    grant: (project, login, right) => void projectAt(project).members.set(userOf(login), LEVELS[right]),
    setLevel: (project, login, level) => void projectAt(project).members.set(userOf(login), level),
    open(by, path, kind, { title, text = "", labels = [], at }) {
      const project = projectAt(path);
      const made = { kind, key: nextNumber(project, kind), title, description: text, labels: [...labels], author: userOf(by) };
      const item = addItem(state, project, { ...made, ...(at === undefined ? {} : { createdAt: at }) });
      eventId = randomUUID();
      changed(item, item.author, "open");
      return { project: path, kind, id: item.key };
    },
    commit(path, sha) {
      const owner = [...state.users.values()][0];
      if (owner === undefined) throw new Error("the far end has no user yet");
      addItem(state, projectAt(path), { kind: "commit", key: sha, title: `commit ${sha.slice(0, 8)}`, author: owner });
      return { project: path, kind: "commit", id: sha };
    },
    comment(by, place, text, options) {
      eventId = randomUUID();
      return commentBy(by, place, text, options);
    },
    review(by, place, texts) {
      eventId = randomUUID();
      return texts.map((text) => commentBy(by, place, text));
    },
    edit(by, id, text) {
      const note = noteAt(id);
      const editor = userOf(by);
      if (editor !== note.author && levelOf(note.item.project, editor) < 40) throw new Error(`${by} may not edit note ${id}`);
      Object.assign(note, { body: text, updatedBy: editor, updatedAt: Math.max(now(), note.updatedAt + 2_000) });
      eventId = randomUUID();
      noted(note, "update");
      return commentOf(note);
    },
    describe(by, place, text) {
      const item = itemAt(state, place);
      const previous = item.description;
      Object.assign(item, { description: text, updatedBy: userOf(by), updatedAt: Math.max(now(), item.updatedAt + 2_000) });
      eventId = randomUUID();
      changed(item, userOf(by), "update", previous);
    },
    remove(id) {
      const { item } = noteAt(id);
      item.notes = item.notes.filter((note) => note.id !== id);
      state.notes.delete(id);
    },
    comments: (place) =>
      itemAt(state, place)
        .notes.filter(({ discussion }) => place.thread === undefined || place.thread === discussion)
        .map(commentOf),
    item(place) {
      const { labels, state: is } = itemAt(state, place);
      return { labels, state: is === "opened" ? "open" : is };
    },
    upload(path, name, data, { login, redirect } = {}) {
      const secret = randomBytes(16).toString("hex");
      projectAt(path).uploads.set(`${secret}/${name}`, { data, login: login === true, ...(redirect === undefined ? {} : { redirect }) });
      return `![${name}](/uploads/${secret}/${name})`;
    },
    async close() {
      await hooks.close();
      await http.close();
    },
  };
}

function commentOf(note: Note): ForgeComment {
  return {
    id: note.id,
    place: { project: note.item.project.path, kind: note.item.kind, id: note.item.key, thread: note.discussion },
    by: note.author.username,
    text: note.body,
    createdAt: note.createdAt,
    updatedAt: note.updatedAt,
    internal: note.internal,
    system: note.system,
    ...(note.position === undefined ? {} : { position: note.position }),
    reactions: note.awards.map(({ user, name }) => ({ by: user.username, emoji: name })),
  };
}
