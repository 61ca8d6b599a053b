import { codeOf, definePlugin, type HttpRequest, type HttpRoute, type PluginContext, reasonOf, requireMarker } from "@svc/sdk";
import type { Boards } from "./boards.ts";
import { BOARDS, type BoardSettings, checkBoards } from "./settings.ts";

type Open = () => Promise<Boards>;

const MOVE = {
  type: "object",
  additionalProperties: false,
  required: ["to"],
  properties: {
    from: { type: "string", minLength: 1, maxLength: 64, description: "column that the card is in, as the caller sees it" },
    to: { type: "string", minLength: 1, maxLength: 64, description: "column that it enters" },
    by: { type: "string", minLength: 1, maxLength: 100, description: "who moves it, on this machine" },
  },
} as const;

const LABELS = {
  type: "object",
  additionalProperties: false,
  required: ["source", "projects"],
  properties: {
    source: { type: "string", pattern: "^[a-z0-9][a-z0-9_-]*$", maxLength: 64, description: "whose labels: forge_a" },
    projects: { type: "string", pattern: "^\\S+( \\S+)*$", maxLength: 4_000, description: "paths of projects, a space between two of them" },
  },
} as const;

/** On the dashboard's server for people, on the daemon for programs of this machine. */
function routesOf(open: Open): readonly HttpRoute[] {
  const at = (place: Pick<HttpRoute, "server">, base: string, read: HttpRoute["guard"], write: HttpRoute["guard"]): HttpRoute[] => [
    { ...place, method: "GET", path: base, guard: read, handle: async () => ({ boards: (await open()).list() }) },
    { ...place, method: "GET", path: `${base}/:id/items`, guard: read, handle: async ({ params: { id = "" } }) => (await open()).items(id) },
    {
      ...place,
      method: "PATCH",
      path: `${base}/:id/items/:itemId/move`,
      guard: write,
      body: MOVE,
      async before(request) {
        // A form on another page cannot send it (AUTH-22).
        requireMarker(request, "x-requested-with", "svc-board");
        (await open()).requireCard(request.params.id ?? "", request.params.itemId ?? "");
      },
      async handle(request, reply) {
        const { from, to } = request.body as { readonly from?: string; readonly to: string };
        try {
          return await (await open()).move(request.params.id ?? "", request.params.itemId ?? "", { from, to, actor: actorOf(request) });
        } catch (error) {
          if (codeOf(error) !== "SVC_BOARD_MOVED") throw error;
          // With the card, so that a page can put it where it is.
          reply.status(409);
          return { error: reasonOf(error), code: "SVC_BOARD_MOVED", item: (error as { item?: unknown }).item };
        }
      },
    },
  ];
  // Asked with the right to write: it names projects that no board shows.
  const labels: HttpRoute = {
    server: "dashboard",
    method: "GET",
    path: "/api/board-labels",
    guard: "scope:dashboard:write",
    query: LABELS,
    handle: async ({ query: { source: type = "", projects = "" } }) => (await open()).labels({ type, projects: projects.split(" ").filter(Boolean) }),
  };
  return [labels, ...at({}, "/boards", "loopback", "loopback"), ...at({ server: "dashboard" }, "/api/boards", "scope:dashboard:read", "scope:dashboard:write")];
}

/** A token's name is known; what a program of this machine says about its user is only told on. */
function actorOf({ caller: { token }, body }: HttpRequest): string {
  if (token !== undefined) return `token ${token.name} (${token.id})`;
  const { by } = body as { readonly by?: string };
  return by === undefined ? "this machine" : `this machine (${by})`;
}

/** A route of a server that no plugin here knows is left out; the daemon's own are there. */
function provideRoute(ctx: PluginContext<readonly BoardSettings[]>, route: HttpRoute): void {
  try {
    ctx.provide.route(route);
  } catch (error) {
    if (route.server === undefined || codeOf(error) !== "SVC_HTTP_ROUTE") throw error;
    ctx.log.debug({ path: route.path }, "no plugin has the dashboard's scopes: its routes for boards are left out");
  }
}

/** Boards (001:L222-240): issues of a source as cards in six columns; a move is one change at the source. */
export default definePlugin<readonly BoardSettings[]>({
  kind: "feature",
  name: "boards",
  version: "0.1.0",
  svc: "^0.1.0",
  config: { at: "boards", schema: BOARDS, check: checkBoards },
  capabilities: ["data-folder", "files", "routes", "services", "store"],
  answers: () => import("./answers.js"),
  setup(ctx) {
    let settings = ctx.config;
    let opened: Promise<Boards> | undefined;
    const open: Open = () => {
      opened ??= import("./boards.js").then(({ Boards }) => new Boards(ctx, () => settings));
      return opened;
    };
    for (const route of routesOf(open)) provideRoute(ctx, route);
    return {
      async start() {
        if ((await ctx.store.collection("moves").count()) === 0) return;
        // Behind the start: the sources are other plugins', and may be far away.
        void open()
          .then((boards) => boards.settle())
          .catch((error) => ctx.log.error({ err: error }, "the moves that were under way at the last stop could not be looked at"));
      },
      async reload(next) {
        settings = next;
      },
    };
  },
});
