import { codeOf, definePlugin, type HttpRoute, type PluginContext, type Workflows } from "@svc/sdk";
import { draftRoutes } from "./authoring/draft-routes.ts";
import { editorRoutes } from "./authoring/editor-routes.ts";
import { definitionRoutes } from "./definition/definition-routes.ts";
import type { Opened } from "./opened.ts";
import { PLACES, runRoutes } from "./runs/run-routes.ts";
import { WORKFLOWS, type WorkflowsSettings } from "./settings.ts";
import { taskRoutes } from "./tasks/task-routes.ts";
import { TASK_INDEXES } from "./tasks/task-row.ts";
import { workflowTools } from "./triggers/workflow-tools.ts";

type Open = () => Promise<Opened>;

/** The service; what it needs is loaded with its first use. */
function serviceOf(open: Open): Workflows {
  return {
    list: async () => (await open()).service.list(),
    start: async (...given) => (await open()).service.start(...given),
    run: async (...given) => (await open()).service.run(...given),
    signal: async (...given) => (await open()).service.signal(...given),
    wait: async (...given) => (await open()).service.wait(...given),
    change: async (...given) => (await open()).service.change(...given),
  };
}

/** A route of a server that no plugin here knows is left out; the daemon's own are there. */
function provideRoute(ctx: PluginContext<WorkflowsSettings>, route: HttpRoute): void {
  try {
    ctx.provide.route(route);
  } catch (error) {
    if (route.server === undefined || codeOf(error) !== "SVC_HTTP_ROUTE") throw error;
    ctx.log.debug({ path: route.path }, "no plugin has the dashboard's scopes: its routes for workflows are left out");
  }
}

/** Rows by which a start sees that there is something to take up: indexes and names as `roomsOf` and `WAKES` have them. */
async function isLeft({ store }: PluginContext<WorkflowsSettings>): Promise<boolean> {
  const counts = [
    store.collection("runs", { indexes: ["status", "workflow", "hash", "root", "parent", "createdAt", "endedAt", "busy"] }).count({ where: { busy: 1 } }),
    store.collection("wakes", { indexes: ["due"] }).count(),
    store.collection("untold").count(),
    store.collection("tasks", { indexes: [...TASK_INDEXES] }).count({ where: { state: "open" } }),
  ];
  return (await Promise.all(counts)).some((count) => count > 0);
}

/** Workflows (001:L186-188): processes with agents, actions and people that survive a restart. */
export default definePlugin<WorkflowsSettings>({
  kind: "feature",
  name: "workflows",
  version: "0.1.0",
  svc: "^0.1.0",
  config: { at: "workflows", schema: WORKFLOWS },
  capabilities: [
    "actions",
    "agents",
    "all-settings",
    "data-folder",
    "env:*",
    "events",
    "fetch",
    "files",
    "health",
    "jobs",
    "routes",
    "services",
    "settings",
    "store",
    "tasks",
    "traces",
  ],
  answers: () => import("./answers.js"),
  setup(ctx) {
    let settings = ctx.config;
    let opened: Promise<Opened> | undefined;
    const open: Open = () => {
      opened ??= import("./opened.js")
        .then(({ openWorkflows }) => openWorkflows(ctx, () => settings))
        .catch((error) => {
          opened = undefined;
          throw error;
        });
      return opened;
    };
    for (const place of PLACES)
      for (const route of [
        ...runRoutes(place, open),
        ...taskRoutes(place, open),
        ...definitionRoutes(place, open, () => settings.editor),
        ...draftRoutes(place, open, () => settings.editor),
        ...editorRoutes(place, ctx, open, () => settings.editor),
      ])
        provideRoute(ctx, route);
    const service = serviceOf(open);
    ctx.provide.service("workflows", service);
    for (const tool of workflowTools(service, () => ctx.traces)) ctx.provide.tool(tool);
    ctx.hooks.dispatch.tap((turn) =>
      settings.matching.enabled
        ? import("./triggers/matching.js").then(({ matchTurn }) => matchTurn(turn, { workflows: service, settings: () => settings.matching, log: ctx.log }))
        : undefined,
    );
    // The agent of a step that is written `id@node` lives there.
    ctx.hooks.route.tap((message) =>
      message.entry === "workflow" && message.facts?.["node"] !== undefined
        ? import("./runs/node-route.js").then(({ routeOf }) => routeOf(message))
        : undefined,
    );
    return {
      async start() {
        // Definitions of the other daemons are taken from the start on.
        if (ctx.store.shared === true || (await isLeft(ctx))) await open();
      },
      // In place: a plugin that is started anew ends the actions that are at work.
      async reload(next) {
        settings = next;
      },
      async stop() {
        await (await opened?.catch(() => undefined))?.stop();
      },
    };
  },
});
