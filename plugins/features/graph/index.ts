import { definePlugin } from "@svc/sdk";
import { provideGraphPanel } from "./graph-panel.ts";
import { graphRoutes } from "./graph-routes.ts";
import type { Opened } from "./opened.ts";
import { checkGraph, GRAPH, type GraphSettings } from "./settings.ts";

const LIMIT_MS = 3_000;
/** The plugin that asks people may be started anew. */
const LISTEN_MS = 60_000;

/** The intent graph (001:L248): what work is for, told to agents where it fits, changed by drafts that a rule, an agent or a person approves. */
export default definePlugin<GraphSettings>({
  kind: "feature",
  name: "graph",
  version: "0.1.0",
  svc: "^0.1.0",
  config: { at: "graph", schema: GRAPH, check: checkGraph },
  capabilities: ["agents", "data-folder", "events", "files", "jobs", "routes", "services", "tasks", "traces"],
  answers: () => import("./answers.js"),
  setup(ctx) {
    let settings = ctx.config;
    let opened: Promise<Opened> | undefined;
    const open = () => {
      opened ??= import("./opened.js").then(({ openGraph }) => openGraph(ctx, () => settings));
      return opened;
    };
    ctx.hooks.assembleContext.tap(
      // An agent that drafts or judges a change is told the graph by the question itself.
      async (context, turn) => (turn.messages[0].entry === "graph" ? context : (await open()).withIntent(context, turn)),
      { phase: "layers", timeoutMs: LIMIT_MS },
    );
    const routes = graphRoutes(open);
    for (const route of routes) ctx.provide.route(route);
    provideGraphPanel(ctx, routes);
    return {
      async start() {
        const { listen } = await open();
        listen();
        ctx.jobs.every(LISTEN_MS, listen);
      },
      async reload(next) {
        settings = next;
      },
    };
  },
});
