import { channelError, type FetchAnswer, type FetchInit, svcError } from "@svc/sdk";
import { describe, expect, it } from "vitest";
import { at, createApi } from "./client.ts";

const HOST = "https://forge.test/gitlab/";
const TOKEN = "glpat-canary";

/** A forge that answers by address, and what it was asked. */
function forge(answers: (url: string) => Partial<FetchAnswer> & { readonly json?: unknown }) {
  const asked: { url: string; init: FetchInit }[] = [];
  const fetch = async (url: string, init: FetchInit = {}): Promise<FetchAnswer> => {
    asked.push({ url, init });
    const { json, ...answer } = answers(url);
    const body = new TextEncoder().encode(json === undefined ? "" : JSON.stringify(json));
    return { status: 200, statusText: "", headers: {}, url, truncated: false, body, text: () => new TextDecoder().decode(body), ...answer };
  };
  return { asked, api: createApi({ fetch }, HOST) };
}
const call = { token: TOKEN, signal: new AbortController().signal };

describe("the client of the forge's API", () => {
  it("asks below the path of its host, trusts its origin alone, and sends what writes on nowhere", async () => {
    const { api, asked } = forge(() => ({ json: {} }));
    await api.call({ ...call, path: at("projects", "grp/sub tool", "issues", 7), query: { state: "opened", since: undefined } });
    await api.call({ ...call, method: "PUT", path: "/x", body: { a: 1 } });
    expect(api).toMatchObject({ origin: "https://forge.test", home: "https://forge.test/gitlab" });
    expect(asked[0]?.url).toBe("https://forge.test/gitlab/api/v4/projects/grp%2Fsub%20tool/issues/7?state=opened");
    expect(asked.map(({ init }) => [init.trustedOrigins, init.maxRedirects, init.headers?.["private-token"]])).toEqual([
      [["https://forge.test"], 1, TOKEN],
      [["https://forge.test"], 0, TOKEN],
    ]);
  });

  it("takes no answer that another host gave, and follows pages on its own origin", async () => {
    const next = '<https://forge.test/gitlab/api/v4/x?page=2>; rel="next", <https://forge.test/y>; rel="last"';
    const { api } = forge((url) => {
      const last = url.includes("page=2");
      return { json: [last ? 2 : 1], headers: last ? {} : { link: next } };
    });
    const found: unknown[] = [];
    for await (const page of api.pages({ ...call, path: "/x" })) found.push(...page);
    expect(found).toEqual([1, 2]);
    for (const link of [
      '<https://evil.test/x>; rel="next"',
      '<//evil.test/x>; rel="next"',
      "<https://forge.test.evil.test/x>; rel=next",
      '<javascript:1>; rel="next"',
    ]) {
      const { api: lured, asked } = forge(() => ({ json: [], headers: { link } }));
      const read = async () => {
        for await (const _page of lured.pages({ ...call, path: "/x" }));
      };
      await expect(read()).rejects.toMatchObject({ failure: "permanent" });
      expect(asked.every(({ url }) => url.startsWith("https://forge.test/"))).toBe(true);
    }
    const { api: moved } = forge(() => ({ json: {}, url: "https://evil.test/x" }));
    await expect(moved.call({ ...call, path: "/x" })).rejects.toMatchObject({ failure: "permanent" });
  });

  it("knows what may have arrived from what did not", async () => {
    const cases: readonly [string, string, string, string][] = [
      ["GET", "SVC_FETCH_FAILED", "ECONNRESET", "retry"],
      ["POST", "SVC_FETCH_FAILED", "ECONNRESET", "unknown"],
      ["POST", "SVC_FETCH_TIMEOUT", "late", "unknown"],
      ["POST", "SVC_FETCH_FAILED", "ECONNREFUSED", "retry"],
      ["POST", "SVC_FETCH_FAILED", "ENOTFOUND", "retry"],
      ["POST", "SVC_FETCH_BLOCKED", "no public address", "permanent"],
      ["POST", "SVC_FETCH_REDIRECT", "moved", "permanent"],
      ["GET", "SVC_FETCH_REDIRECT", "moved", "permanent"],
    ];
    for (const [method, code, reason, failure] of cases) {
      const api = createApi({ fetch: async () => Promise.reject(svcError(code, `forge.test: ${reason}`)) }, HOST);
      const error = await api.call({ ...call, method: method as "GET", path: "/x" }).catch((caught: unknown) => caught);
      expect(error, `${method} ${code}`).toMatchObject({ code: channelError("retry", "").code, failure });
      expect(String((error as Error).message)).not.toContain(TOKEN);
    }
  });

  it("a file that is a page, too long, or not there is none", async () => {
    const file = (answer: Partial<FetchAnswer>) => forge(() => answer).api.file({ ...call, path: "/f" }, 100);
    await expect(file({ headers: { "content-type": "Text/HTML; charset=utf-8" } })).rejects.toMatchObject({ failure: "permanent" });
    await expect(file({ truncated: true })).rejects.toMatchObject({ failure: "permanent" });
    await expect(file({ status: 404 })).rejects.toMatchObject({ failure: "permanent", status: 404 });
    expect(await file({ headers: { "content-type": "image/png" }, url: "https://storage.test/f" })).toMatchObject({ type: "image/png" });
  });
});
