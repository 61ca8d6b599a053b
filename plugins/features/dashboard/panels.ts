import type { Guard, HttpRoute, Panel, PluginContext } from "@svc/sdk";

/** A panel as a page needs it: where it is shown, what it is called, and the module to import. */
export interface PanelView {
  readonly id: string;
  readonly title: string;
  readonly place: Panel["place"];
  readonly module: string;
  readonly guard: Guard;
}

/**
 * `GET /api/panels`: the panels of all plugins that run now and that the caller may see, by title. A page imports `module`, a path of this
 * server, when it shows the panel; the content policy lets it, and nothing from elsewhere.
 */
export function panelsRoute({ services }: Pick<PluginContext, "services">): HttpRoute {
  return {
    server: "dashboard",
    method: "GET",
    path: "/api/panels",
    guard: "scope:dashboard:read",
    handle(request) {
      const seen = services.list("panel").filter(({ guard }) => request.may?.(guard) === true);
      return { panels: seen.map(viewOf).sort((one, other) => one.title.localeCompare(other.title) || one.id.localeCompare(other.id)) };
    },
  };
}

const viewOf = ({ id, title, place, module, guard }: Panel): PanelView => ({ id, title, place, module, guard });
