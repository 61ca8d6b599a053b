import { type HttpRoute, type PluginContext, SDK_VERSION, type Settings } from "@svc/sdk";
import type { FarDashboard } from "./far-dashboard.ts";

/** The caller, and the features of this dashboard: data that a page needs before it renders anything. */
export interface MeView {
  readonly node: string;
  readonly version: string;
  readonly token?: { readonly name: string };
  readonly may: { readonly read: boolean; readonly write: boolean };
  readonly has: { readonly boards: boolean; readonly workflows: boolean; readonly editor: boolean; readonly presence: boolean };
  /** The others that can be shown here; requests for them go to `/api/via/<name>`. */
  readonly daemons: readonly { readonly name: string; readonly url: string }[];
}

/** Features that the current file enables. */
export interface Features {
  readonly boards: boolean;
  /** Workflows may be edited here. */
  readonly editor: boolean;
  /** Some agent has a colour and a letter. */
  readonly presence: boolean;
}

interface Document {
  readonly boards?: readonly unknown[];
  readonly workflows?: { readonly enabled?: boolean; readonly editor?: string };
  readonly agents?: Readonly<Record<string, { readonly presence?: unknown } | undefined>>;
}

/** Reads them as they are, without a restart. */
export function featuresOf(settings: Pick<Settings, "read">): () => Promise<Features> {
  return async () => {
    const { document } = await settings.read().catch(() => ({ document: {} }));
    const { boards, workflows, agents } = document as Document;
    return {
      boards: Array.isArray(boards) && boards.length > 0,
      editor: workflows?.enabled === true && (workflows.editor ?? "edit") === "edit",
      presence: typeof agents === "object" && Object.values(agents).some((agent) => agent?.presence !== undefined),
    };
  };
}

/** `GET /api/me`. */
export function meRoute(
  far: readonly FarDashboard[],
  { node, services }: Pick<PluginContext, "node" | "services">,
  features: () => Promise<Features>,
): HttpRoute {
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
        has: { ...(await features()), workflows: services.get("workflows") !== undefined },
        daemons: far.map(({ name, daemonUrl }) => ({ name, url: daemonUrl })),
      };
    },
  };
}
