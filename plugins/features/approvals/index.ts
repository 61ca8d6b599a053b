import { type ApprovalAnswerer, type Approvals, codeOf, definePlugin, type HttpRequest, type HttpRoute, type PluginContext } from "@svc/sdk";
import type { Opened } from "./opened.ts";
import { AGENT, APPROVALS, type ApprovalSettings, checkExpiry } from "./settings.ts";

type Open = () => Promise<Opened>;
type Hearers = Map<string, Parameters<Approvals["onDecided"]>[1]>;

/** The service; what it needs is loaded with its first use. */
function serviceOf(open: Open, hearers: Hearers, listens: () => void): Approvals {
  return {
    ask: async (question) => (await open()).ask(question),
    wait: async (id, signal) => (await open()).wait(id, signal),
    get: async (id) => (await open()).get(id),
    list: async (query) => (await open()).list(query),
    decide: async (...answer) => (await open()).decide(...answer),
    later: async (...answer) => (await open()).later(...answer),
    withdraw: async (...given) => (await open()).withdraw(...given),
    digest: async (action) => (await open()).digest(action),
    onDecided(kind, hear) {
      hearers.set(kind, hear);
      listens();
      return () => {
        if (hearers.get(kind) === hear) hearers.delete(kind);
      };
    },
  };
}

const BODY = {
  type: "object",
  additionalProperties: false,
  properties: {
    choice: { type: "string", minLength: 1 },
    hours: { type: "number", exclusiveMinimum: 0, maximum: 720 },
    by: { type: "string", minLength: 1, maxLength: 100 },
  },
} as const;
const HOUR_MS = 3_600_000;

/**
 * On the daemon for this machine's own programs, on the dashboard's server for people (OPS-06). A GET never decides anything: addresses
 * are opened by previews of links.
 */
function routesOf(open: Open): readonly HttpRoute[] {
  const routes = (
    place: Pick<HttpRoute, "server">,
    base: string,
    guards: { read: HttpRoute["guard"]; write: HttpRoute["guard"] },
    whoIs: (request: HttpRequest) => ApprovalAnswerer,
  ): HttpRoute[] => {
    const answer = (name: string, run: (id: string, request: HttpRequest) => Promise<unknown>): HttpRoute => ({
      ...place,
      method: "POST",
      path: `${base}/:id/${name}`,
      guard: guards.write,
      forPeople: true,
      body: BODY,
      handle: (request) => run(request.params.id ?? "", request),
    });
    return [
      {
        ...place,
        method: "GET",
        path: base,
        guard: guards.read,
        query: {
          type: "object",
          properties: {
            open: { enum: ["true", "false"] },
            limit: { type: "integer", minimum: 1, maximum: 1000 },
            order: { enum: ["newest", "oldest"], description: "default newest" },
            cursor: { type: "string", minLength: 1, maxLength: 200, description: "`next` of the page before" },
          },
        },
        async handle({ query: { open: only = "true", limit = "100", order, cursor } }) {
          return (await open()).page({
            limit: Number(limit),
            ...(only === "true" ? { open: true } : {}),
            ...(order === "oldest" ? { oldest: true } : {}),
            ...(cursor === undefined ? {} : { cursor }),
          });
        },
      },
      {
        ...place,
        method: "GET",
        path: `${base}/:id`,
        guard: guards.read,
        handle: async ({ params: { id = "" } }) => ({ approval: await (await open()).known(id) }),
      },
      answer("approve", async (id, request) => ({ decision: await (await open()).answer(id, true, bodyOf(request).choice, whoIs(request)) })),
      answer("reject", async (id, request) => ({ decision: await (await open()).answer(id, false, bodyOf(request).choice, whoIs(request)) })),
      answer("later", async (id, request) => {
        const { hours } = bodyOf(request);
        return { approval: await (await open()).later(id, hours === undefined ? undefined : hours * HOUR_MS, whoIs(request)) };
      }),
    ];
  };
  const here = routes({}, "/approvals", { read: "loopback", write: "loopback" }, (request) => ({
    by: bodyOf(request).by ?? "this machine",
    surface: "command line",
  }));
  const page = routes({ server: "dashboard" }, "/api/approvals", { read: "scope:dashboard:read", write: "scope:dashboard:write" }, ({ caller: { token } }) => ({
    by: token === undefined ? "this machine" : `the token ${token.name}`,
    surface: "page",
  }));
  return [...here, ...page];
}

const bodyOf = ({ body }: HttpRequest): { readonly choice?: string; readonly hours?: number; readonly by?: string } => body ?? {};

/** A route of a server that no plugin here knows is left out; the daemon's own are there. */
function provideRoute(ctx: PluginContext<ApprovalSettings>, route: HttpRoute): void {
  try {
    ctx.provide.route(route);
  } catch (error) {
    if (route.server === undefined || codeOf(error) !== "SVC_HTTP_ROUTE") throw error;
    ctx.log.debug({ path: route.path }, "no plugin has the dashboard's scopes: its routes for approvals are left out");
  }
}

export default definePlugin<ApprovalSettings>({
  kind: "feature",
  name: "approvals",
  version: "0.1.0",
  svc: "^0.1.0",
  config: { at: "approvals", schema: APPROVALS, check: checkExpiry },
  agentConfig: AGENT,
  capabilities: ["agents", "events", "jobs", "routes", "services", "store", "tasks", "withheld"],
  answers: () => import("./answers.js"),
  setup(ctx) {
    let settings = ctx.config;
    const hearers: Hearers = new Map();
    let opened: Promise<Opened> | undefined;
    const open: Open = () => {
      opened ??= import("./opened.js")
        .then(({ openApprovals }) => openApprovals(ctx, () => settings, hearers))
        .catch((error) => {
          opened = undefined;
          throw error;
        });
      return opened;
    };
    const inBackground = (work: Promise<unknown>) => void work.catch((error) => ctx.log.error({ err: error }, "the stored questions could not be opened"));
    ctx.provide.service(
      "approvals",
      serviceOf(open, hearers, () => {
        if (opened !== undefined) inBackground(opened.then((approvals) => approvals.listens()));
      }),
    );
    for (const route of routesOf(open)) provideRoute(ctx, route);
    ctx.provide.tool({
      name: "svc_approval_wait",
      description:
        "Waits up to 50 seconds for a person's decision about something you have asked for, and tells it or that it is still pending. Without id: your newest question.",
      input: { type: "object", additionalProperties: false, properties: { id: { type: "string", minLength: 1 } } },
      run: async ({ id }, { agent, signal }) => (await open()).waitForAgent({ id: id as string | undefined, agent, signal }),
    });
    ctx.hooks.inbound.tap((message) => (message.choice === undefined ? undefined : open().then((approvals) => approvals.chatAnswer(message))));

    return {
      async start() {
        for (const type of ["delivery:withheld", "delivery:released", "delivery:refused"])
          ctx.events.subscribe((envelope) => {
            if (settings.withheld) inBackground(open().then((approvals) => approvals.withheld(envelope)));
          }, type);
        const questions = ctx.store.collection("questions", { indexes: ["live", "due", "askedAt"] });
        const [live, [withheld]] = await Promise.all([questions.count({ where: { live: 1 } }), settings.withheld ? ctx.tasks.withheld({ limit: 1 }) : []]);
        if (live > 0 || withheld !== undefined) inBackground(open().then((approvals) => approvals.resume(withheld !== undefined)));
      },
      async reload(config) {
        settings = config;
        if (opened !== undefined) inBackground(opened.then((approvals) => approvals.planDigest()));
      },
    };
  },
});
