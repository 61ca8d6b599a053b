import type { HttpRoute } from "@svc/sdk";
import { fail } from "./errors.ts";

/** All below `/api/` that no other route has: 404, to those who may read the dashboard. */
export function nowhereRoutes(): HttpRoute[] {
  return (["GET", "POST", "PUT", "PATCH", "DELETE"] as const).map((method) => ({
    server: "dashboard",
    method,
    path: "/api/*",
    guard: "scope:dashboard:read",
    before({ path }) {
      throw fail("SVC_DASHBOARD_NOT_FOUND", { method, target: path });
    },
    handle: () => undefined,
  }));
}
