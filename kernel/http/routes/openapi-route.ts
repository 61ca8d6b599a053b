import type { HttpRoute } from "@svc/sdk";
import type { Kernel } from "../../core/boot/kernel-api.ts";
import type { OwnedRoute } from "../router.ts";

/** `GET /openapi.json`: the current routes as an OpenAPI 3.1 document; `server` names another one than the daemon's own. Generated on request. */
export function openapiRoute(kernel: Pick<Kernel, "health">, routes: () => readonly OwnedRoute[]): HttpRoute {
  return {
    method: "GET",
    path: "/openapi.json",
    guard: "peer",
    summary: "This document: every route, who may call it, and what it takes",
    query: { type: "object", properties: { server: { type: "string", description: "daemon (default), or the name of a server that a plugin provides" } } },
    async handle({ query: { server = "daemon" } }) {
      const [{ apiDocument }, { readAnswers }] = await Promise.all([import("../api-document.js"), import("../api-answers.js")]);
      const served = routes().filter((route) => (route.server ?? "daemon") === server);
      return apiDocument(server, kernel.health().version, served, await readAnswers(served));
    },
  };
}
