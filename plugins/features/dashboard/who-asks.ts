import { type HttpRoute, type PluginContext, SDK_VERSION } from "@svc/sdk";
import type { Daemons } from "./daemons.ts";

/** Who asks, and what this dashboard has: what a page needs to know before it draws anything. */
export interface MeView {
  readonly node: string;
  readonly version: string;
  readonly token?: { readonly name: string };
  readonly may: { readonly read: boolean; readonly write: boolean };
  readonly has: { readonly boards: boolean; readonly workflows: boolean; readonly editor: boolean; readonly store: boolean };
  readonly daemons: readonly { readonly name: string; readonly url: string }[];
}

/** `GET /api/me`. */
export function meRoute(daemons: Daemons, { node, services }: Pick<PluginContext, "node" | "services">, editing: () => Promise<boolean>): HttpRoute {
  return {
    server: "dashboard",
    method: "GET",
    path: "/api/me",
    guard: "scope:dashboard:read",
    async handle({ caller, may }): Promise<MeView> {
      const name = caller.token?.name;
      return {
        node: node.name,
        version: SDK_VERSION,
        ...(name === undefined ? {} : { token: { name } }),
        may: { read: true, write: may?.("scope:dashboard:write") === true },
        has: { boards: services.list("board").length > 0, workflows: services.get("workflows") !== undefined, editor: await editing(), store: true },
        daemons: daemons.all.map(({ name, url }) => ({ name, url })),
      };
    },
  };
}
