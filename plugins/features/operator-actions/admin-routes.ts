import { type HttpRoute, type PluginContext, svcError } from "@svc/sdk";

/** Dependencies of the routes. */
export interface ActionState {
  /** Reads the folder of definitions again. */
  look(): Promise<void>;
  errors(): readonly { readonly file: string; readonly error: string }[];
  /** Whether the operator defined it. */
  own(name: string): boolean;
}

/** `GET /api/admin/actions`, and a try of one, for people in a browser. */
export function adminRoutes({ actions }: Pick<PluginContext, "actions">, { look, errors, own }: ActionState): readonly HttpRoute[] {
  const admin = { server: "dashboard", guard: "scope:dashboard:write" } as const;
  return [
    {
      ...admin,
      method: "GET",
      path: "/api/admin/actions",
      async handle() {
        await look();
        return { actions: actions.list().map((action) => ({ ...action, own: own(action.name) })), errors: errors() };
      },
    },
    {
      ...admin,
      method: "POST",
      path: "/api/admin/actions/:name/run",
      forPeople: true,
      body: { type: "object", additionalProperties: true },
      async handle({ params, body, signal }) {
        const name = params["name"] ?? "";
        if (!actions.list().some((action) => action.name === name)) throw svcError("SVC_ACTION_UNKNOWN", `There is no action '${name}'.`, { status: 404 });
        return actions.run(name, body ?? {}, { door: "http", signal });
      },
    },
  ];
}
