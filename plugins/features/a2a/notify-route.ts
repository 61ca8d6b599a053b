import type { GuardedFetch, HttpRoute } from "@svc/sdk";

const TIMEOUT_MS = 15_000;

/**
 * `POST /a2a/notify` of the daemon, for `svc a2a`: tells a caller's webhook what became of its task. The address is a stranger's, so it goes
 * through the guarded fetch: public hosts alone, over https, and no redirect.
 */
export function notifyRoute(fetch: GuardedFetch): HttpRoute {
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
