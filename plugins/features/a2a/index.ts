import { definePlugin, type GuardedFetch, type HttpRoute } from "@svc/sdk";

const TIMEOUT_MS = 15_000;

/** The server itself is the command `svc a2a`, a client of the daemon. The daemon's part is to tell addresses that callers named, by its guarded fetch. */
export default definePlugin({
  kind: "feature",
  name: "a2a",
  version: "0.1.0",
  svc: "^0.1.0",
  capabilities: ["fetch", "routes"],
  answers: () => import("./answers.js"),
  scopes: [{ name: "a2a:call", summary: "call the agent that svc a2a serves" }],
  setup(ctx) {
    ctx.provide.route(notifyRoute(ctx.fetch));
  },
});

/**
 * `POST /a2a/notify` of the daemon, for `svc a2a`: tells a caller's webhook what became of its task. The address is a stranger's, so it goes
 * through the guarded fetch: public hosts alone, over https, and no redirect.
 */
function notifyRoute(fetch: GuardedFetch): HttpRoute {
  return {
    method: "POST",
    path: "/a2a/notify",
    guard: "loopback",
    maxBytes: 2_097_152,
    body: {
      type: "object",
      additionalProperties: false,
      required: ["url", "payload"],
      properties: {
        url: { type: "string", format: "url", pattern: "^https://", maxLength: 2_000 },
        token: { type: "string", maxLength: 1_000 },
        bearer: { type: "string", maxLength: 4_000 },
        payload: { type: "object" },
      },
    },
    async handle({ body, signal }) {
      const { url, token, bearer, payload } = body as { url: string; token?: string; bearer?: string; payload: object };
      const { status } = await fetch(url, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          ...(token === undefined ? {} : { "x-a2a-notification-token": token }),
          ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
        },
        body: JSON.stringify(payload),
        maxRedirects: 0,
        maxBytes: 10_000,
        timeoutMs: TIMEOUT_MS,
        signal,
      });
      return { status };
    },
  };
}
