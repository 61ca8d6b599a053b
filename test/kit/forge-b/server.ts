import { createHmac, randomUUID } from "node:crypto";
import { createHooks } from "../forge-deliveries.ts";
import { type ForgeAnswer, type ForgePlace, type ForgeRequest, type ForgeServer, startForgeHttp } from "../forge-server.ts";
import { type App, createApp, type Installation, type Permissions } from "./app.ts";
import { type Call, type Caller, type Forge, Refusal } from "./call.ts";
import { createControl } from "./control.ts";
import { type About, nameOf, payloadOf } from "./payload.ts";
import { publishedApi } from "./published-api.ts";
import { createRendering } from "./render.ts";
import { allows, ROUTES } from "./routes.ts";
import { createWorld } from "./world.ts";

/** What only this forge has. */
export interface ForgeBServer extends ForgeServer {
  /** The App that may be installed; hooks name its installation. */
  readonly app: App;
  /** With `permissions` as the owner granted them. */
  install(projects: readonly string[], permissions?: Permissions): Installation;
  /** Somebody reviews a request; hooks tell of the review and of each comment. */
  review(
    by: string,
    place: ForgePlace,
    what: {
      readonly text?: string;
      readonly event?: "COMMENT" | "APPROVE" | "REQUEST_CHANGES";
      readonly comments?: readonly { readonly path: string; readonly line: number; readonly body: string }[];
    },
  ): { readonly id: number };
  editReview(by: string, id: number, text: string): void;
  /** The request's branch is in a copy of the repository. */
  openFork(by: string, project: string, what: { readonly title: string; readonly text?: string }): ForgePlace;
  lock(place: ForgePlace): void;
  /** Its clock is ahead of ours by so much, in milliseconds. */
  skew: number;
}

/** What differs from the usual forge. */
export interface ForgeBOptions {
  /** How long tokens of an installation are good, in milliseconds; default an hour. */
  readonly tokenMs?: number;
  /** Signed addresses of pictures lie on another origin than the API. */
  readonly foreignPictures?: boolean;
}

const PERMISSIONS: Permissions = { metadata: "read", contents: "write", issues: "write", pull_requests: "write" };

/** The far end of forge_b: the GitHub API, as strict as its vendor's own description of it. Any client can drive it. */
export async function startForgeB({ tokenMs = 3_600_000, foreignPictures = false }: ForgeBOptions = {}): Promise<ForgeBServer> {
  const api = publishedApi();
  const world = createWorld();
  const app = createApp(world.id(), "svc-app");
  const violations: string[] = [];
  let skew = 0;
  const now = () => Date.now() + skew;

  const hooks = createHooks({
    timeoutMs: 10_000,
    now,
    headers: ({ id, event, secret, body, signature }) => ({
      "user-agent": "GitHub-Hookshot/far-end",
      "x-github-event": event,
      "x-github-delivery": id,
      "x-github-hook-id": "1",
      ...(secret === "" ? {} : { "x-hub-signature-256": `sha256=${createHmac("sha256", secret).update(body).digest("hex")}` }),
      // The old one besides, which proves nothing any more.
      ...(signature ? { "x-hub-signature": `sha1=${createHmac("sha1", secret).update(body).digest("hex")}` } : {}),
    }),
  });

  const tokenOf = (headers: ForgeRequest["headers"]) => /^(?:bearer|token) (.+)$/i.exec(headers.authorization ?? "")?.[1];
  const http = await startForgeHttp((request) => answer(request), tokenOf);
  const pictures = foreignPictures ? await startForgeHttp(picture, tokenOf) : undefined;
  const signed = (id: string) => `${pictures?.url ?? http.url}/signed-images/${id}.png?jwt=${createHmac("sha256", "pictures").update(id).digest("hex")}`;
  const rendering = createRendering(http.url, signed);

  const forge: Forge = {
    url: http.url,
    world,
    app,
    rendering,
    tokenMs,
    now,
    visible: () => now() - http.faults.lag,
    changed: (event, action, about: About, by) => hooks.tell(event, nameOf(about), payloadOf(rendering, app, action, about, by)),
    deliveries: {
      list: (status) =>
        hooks.deliveries
          .map(({ id, headers, body, status: code }, index) => ({
            id: index + 1,
            guid: id,
            event: headers["x-github-event"],
            action: (JSON.parse(body) as { action?: string }).action ?? null,
            status_code: code ?? 0,
            status: code !== undefined && code >= 200 && code < 300 ? "OK" : "failed",
            delivered_at: new Date().toISOString(),
            redelivery: false,
            duration: 0.1,
            installation_id: null,
            repository_id: null,
          }))
          .filter(({ status: word }) => status === undefined || (status === "success") === (word === "OK"))
          .reverse(),
      again(id) {
        const delivery = hooks.deliveries[id - 1];
        if (delivery === undefined) return false;
        void hooks.redeliver(delivery);
        return true;
      },
    },
  };

  /** The address alone opens it; who sends a token here gives it away. */
  function picture(request: ForgeRequest): ForgeAnswer {
    if (request.headers.authorization !== undefined) violations.push(`a token was sent to the signed address ${request.path}`);
    const id = /^\/signed-images\/([\w-]+)\.png$/.exec(request.path)?.[1];
    const upload = id === undefined ? undefined : world.uploads.get(id);
    if (upload === undefined || !signed(upload.id).endsWith(`?${request.query}`)) return { status: 404, body: { message: "Not Found" } };
    if (upload.redirect !== undefined) return { status: 302, headers: { location: upload.redirect } };
    if (upload.login) return { status: 200, body: Buffer.from("<!doctype html><title>Sign in</title>"), headers: { "content-type": "text/html" } };
    return { status: 200, body: upload.data, headers: { "content-type": "image/png" } };
  }

  function answer(request: ForgeRequest): ForgeAnswer {
    const headers = {
      date: new Date(now()).toUTCString(),
      "x-ratelimit-limit": "5000",
      "x-ratelimit-remaining": "4999",
      "x-ratelimit-reset": String(Math.floor(now() / 1000) + 3600),
    };
    const given = request.path.startsWith("/signed-images/") ? picture(request) : asked(request);
    return { ...given, headers: { ...headers, ...given.headers } };
  }

  function asked(request: ForgeRequest): ForgeAnswer {
    const { method, path, query } = request;
    try {
      if (request.headers["user-agent"] === undefined)
        throw new Refusal(403, "Request forbidden by administrative rules. Please make sure your request has a User-Agent header.");
      if ([...query.keys()].some((name) => /token|secret|jwt/.test(name))) violations.push(`${method} ${path}: a credential in the address`);
      const body = bodyOf(request);
      const { template, values, problems } = api.judge({ method, path, query, body });
      if (problems.length > 0) {
        violations.push(...problems.map((problem) => `${method} ${path}: ${problem}`));
        throw template === undefined ? new Refusal(404, "Not Found") : new Refusal(422, `Validation Failed: ${problems.join("; ")}`);
      }
      const route = ROUTES[`${method} ${template}`];
      if (route === undefined) throw new Refusal(501, `The far end does not serve ${method} ${template}`);
      const caller = callerOf(request, route.app === true);
      const call: Call = { forge, caller, request, values, body };
      const { installation } = caller;
      if (
        installation !== undefined &&
        !(route.needs ?? ["metadata:read"]).some((needed) => needed === "metadata:read" || allows(installation.permissions, needed))
      )
        throw new Refusal(403, "Resource not accessible by integration");
      return route.run(call);
    } catch (error) {
      if (error instanceof Refusal) return error.answer;
      throw error;
    }
  }

  function callerOf({ token }: ForgeRequest, asApp: boolean): Caller {
    if (token === undefined) throw new Refusal(401, "Requires authentication");
    if (asApp) {
      const refusal = app.refusal(token, now());
      if (refusal !== undefined) throw new Refusal(401, refusal);
      return { app: true };
    }
    const login = world.tokens.get(token);
    if (login !== undefined) return { user: world.user(login) };
    const installation = app.tokens.get(token);
    if (installation === undefined || installation.expiresAt <= now() || installation.installation.suspended) throw new Refusal(401, "Bad credentials");
    return { installation };
  }

  const control = createControl(forge);
  control.addUser("svc-app[bot]", { bot: true });
  return {
    ...control,
    url: http.url,
    app,
    hooks,
    faults: http.faults,
    requests: http.requests,
    violations,
    install(projects, permissions = PERMISSIONS) {
      const installation: Installation = {
        id: world.id(),
        repositories: new Set(projects.map((path) => world.repository(path))),
        permissions,
        suspended: false,
      };
      app.installations.set(installation.id, installation);
      return installation;
    },
    upload(_project, _name, data, { login = false, redirect } = {}) {
      const id = randomUUID();
      world.uploads.set(id, { id, data, login, ...(redirect === undefined ? {} : { redirect }) });
      return `![picture](${http.url}/user-attachments/assets/${id})`;
    },
    get skew() {
      return skew;
    },
    set skew(ms) {
      skew = ms;
    },
    async close() {
      await hooks.close();
      await Promise.all([http.close(), pictures?.close()]);
    },
  };
}

function bodyOf({ body, headers }: ForgeRequest): unknown {
  if (body.length === 0) return undefined;
  if (!/^application\/json\b/.test(headers["content-type"] ?? "")) throw new Refusal(415, "Unsupported Media Type");
  try {
    return JSON.parse(Buffer.from(body).toString());
  } catch {
    throw new Refusal(400, "Problems parsing JSON");
  }
}
