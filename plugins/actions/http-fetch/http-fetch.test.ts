import type { FetchAnswer, FetchInit } from "@svc/sdk";
import { actionContract, createFakeContext } from "@svc/sdk/testing";
import { describe, expect, it } from "vitest";
import plugin from "./index.ts";

/** Answers as the guarded fetch does and keeps what it was asked. */
function setUp(answer: Partial<FetchAnswer> = {}) {
  const asked: { url: string; init: FetchInit | undefined }[] = [];
  const ctx = createFakeContext(plugin, {
    async fetch(url, init) {
      asked.push({ url, init });
      init?.signal?.throwIfAborted();
      const body = new TextEncoder().encode("hello");
      return { status: 200, statusText: "OK", headers: { "content-type": "text/plain" }, body, text: () => "hello", truncated: false, url, ...answer };
    },
  });
  plugin.setup(ctx);
  const [action] = ctx.registered.actions;
  if (!action) throw new Error("no action was provided");
  return { action, asked };
}
const call = { signal: new AbortController().signal, door: "test" };

actionContract({ describe, it }, () => ({
  action: setUp().action,
  works: [{ name: "a page", input: { url: "https://example.org/" } }],
  refused: [{ url: 1 }, { url: "ftp://example.org/" }, { url: "file:///etc/passwd" }, { url: "javascript:alert(1)" }],
}));

it("ACT-01 asks for at most 1,048,576 decoded bytes and hands a cut body on as a success", async () => {
  const { action, asked } = setUp({ truncated: true });
  expect(await action.run({ url: "https://example.org/endless" }, call)).toMatchObject({ status: 200, truncated: true, body: "hello" });
  expect(asked[0]?.init).toMatchObject({ maxBytes: 1_048_576, timeoutMs: 30_000 });
});

it("ACT-02 calls a 404 a success and gives the final address", async () => {
  const { action } = setUp({ status: 404, statusText: "Not Found", url: "https://example.org/after" });
  expect(await action.run({ url: "https://example.org/before" }, call)).toMatchObject({
    status: 404,
    statusText: "Not Found",
    url: "https://example.org/after",
  });
});
