import { createScopeTable, type HttpRoute, type ScopeTable, type Settings, svcError } from "@svc/sdk";
import { LONGEST_DAYS, makeToken, shown, type Token } from "./token.ts";
import type { TokenFile } from "./token-file.ts";

/**
 * Tokens for people in a browser: all of them without their secrets, a new one whose secret is in this one answer, and the end of one. It
 * counts at once: each request is judged by the file as it is then.
 */
export function adminRoutes(file: TokenFile, settings: Settings): readonly HttpRoute[] {
  const scopeTable = async (): Promise<ScopeTable> => createScopeTable((await settings.plugins()).map(({ manifest }) => manifest?.scopes ?? []));
  const admin = { server: "dashboard", guard: "scope:dashboard:write", forPeople: true } as const;
  return [
    { ...admin, method: "GET", path: "/api/admin/tokens", handle: async () => ({ tokens: file.read().map(shown), scopes: (await scopeTable()).declared }) },
    {
      ...admin,
      method: "POST",
      path: "/api/admin/tokens",
      body: {
        type: "object",
        additionalProperties: false,
        required: ["name", "scopes"],
        properties: {
          name: { type: "string", maxLength: 1_000 },
          scopes: { type: "array", maxItems: 100, items: { type: "string", minLength: 1, maxLength: 200 } },
          days: { type: "integer", minimum: 1, maximum: LONGEST_DAYS },
        },
      },
      async handle({ body }, reply) {
        const { name, scopes: wanted, days } = body as { name: string; scopes: readonly string[]; days?: number };
        const { parseName, parseScopes } = await import("./scopes.js");
        const { token, secret } = makeToken(parseName(name), parseScopes(wanted, await scopeTable()), days, Date.now());
        const damaged = await file.change((tokens) => [...tokens, token]);
        reply.status(201).header("cache-control", "no-store");
        return { ...shown(token), secret, ...(damaged === undefined ? {} : { damaged }) };
      },
    },
    {
      ...admin,
      method: "POST",
      path: "/api/admin/tokens/:id/revoke",
      async handle({ params }) {
        return shown(await revokeToken(file, params["id"] ?? ""));
      },
    },
  ];
}

/** Refuses a token from now on; its record stays. Throws `SVC_TOKEN_UNKNOWN`. */
export async function revokeToken(file: TokenFile, id: string): Promise<Token> {
  const revokedAt = new Date().toISOString();
  let found: Token | undefined;
  await file.change((tokens) => {
    found = tokens.find((token) => token.id === id);
    if (found === undefined || found.revokedAt !== undefined) return undefined;
    return tokens.map((token) => (token.id === id ? { ...token, revokedAt } : token));
  });
  if (found === undefined) throw svcError("SVC_TOKEN_UNKNOWN", `There is no token '${id}'; see svc token list.`, { status: 404 });
  return { ...found, revokedAt: found.revokedAt ?? revokedAt };
}
