import { createScopeTable } from "@svc/sdk/host";
import { createFakeContext, createMemoryFiles } from "@svc/sdk/testing";
import { describe, expect, it } from "vitest";
import plugin from "./index.ts";
import { parseScopes } from "./scopes.ts";
import { isSecret, makeToken, statusOf } from "./token.ts";

/** As the manifests of the dashboard and the mesh declare them. */
const SCOPES = createScopeTable([
  [
    { name: "dashboard:read" },
    { name: "dashboard:write", includes: ["dashboard:read"] },
    { name: "agent:<id>" },
    { name: "agent:*", includes: ["agent:<id>"] },
  ],
  [{ name: "mesh:peer" }],
]);

describe("scopes", () => {
  it("AUTH-20 takes the five that exist, given one by one or with commas, each once", () => {
    expect(parseScopes(["dashboard:read,agent:a", "agent:*", " mesh:peer ", "agent:a", ""], SCOPES)).toEqual([
      "dashboard:read",
      "agent:a",
      "agent:*",
      "mesh:peer",
    ]);
    expect(parseScopes(["dashboard:write"], SCOPES)).toEqual(["dashboard:write"]);
  });

  it.each(["dashboard:admin", "task:write", "dashboard", "dashboard:", "agent:A", "agent:a:b", "agent:**", "mesh", "*"])(
    "AUTH-20 refuses '%s' and names the valid ones",
    (scope) => {
      expect(() => parseScopes([scope], SCOPES)).toThrow(expect.objectContaining({ code: "SVC_TOKEN_SCOPE", message: expect.stringContaining("agent:<id>") }));
    },
  );

  it("refuses a token without any", () => {
    for (const given of [[], [""], [","]]) expect(() => parseScopes(given, SCOPES)).toThrow(expect.objectContaining({ code: "SVC_TOKEN_SCOPE" }));
  });
});

describe("a token", () => {
  it("has a secret of 32 random bytes that is not in it", () => {
    const made = Array.from({ length: 50 }, () => makeToken("a", ["agent:*"], undefined, 0));
    expect(new Set(made.map(({ secret }) => secret)).size).toBe(50);
    for (const { token, secret } of made) {
      expect(isSecret(secret)).toBe(true);
      expect(JSON.stringify(token)).not.toContain(secret.slice(15));
    }
  });

  it("AUTH-07 is expired from its last millisecond on, and revoked whatever the clock says", () => {
    const { token } = makeToken("a", ["agent:*"], 2, 0);
    const end = 2 * 86_400_000;
    expect([statusOf(token, end - 1), statusOf(token, end)]).toEqual(["active", "expired"]);
    expect(statusOf({ ...token, revokedAt: new Date(0).toISOString() }, 0)).toBe("revoked");
    expect(statusOf(makeToken("b", [], undefined, 0).token, Number.MAX_SAFE_INTEGER)).toBe("active");
  });
});

it("provides one authority, which knows nobody while there is no file", async () => {
  const ctx = createFakeContext(plugin, { files: createMemoryFiles() });
  const lifecycle = plugin.setup(ctx) ?? {};
  await lifecycle.start?.();
  const [authority] = ctx.registered.authorities;
  expect(await authority?.verify(makeToken("a", ["agent:*"], undefined, 0).secret)).toBeUndefined();
  await lifecycle.stop?.();
  expect(ctx.logged).toEqual([]);
});
