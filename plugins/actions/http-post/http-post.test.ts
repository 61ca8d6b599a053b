import type { FetchInit } from "@svc/sdk";
import { actionContract, createFakeContext } from "@svc/sdk/testing";
import { describe, expect, it } from "vitest";
import plugin from "./index.ts";

function setUp() {
  const asked: { url: string; init: FetchInit | undefined }[] = [];
  const ctx = createFakeContext(plugin, {
    async fetch(url, init) {
      asked.push({ url, init });
      init?.signal?.throwIfAborted();
      return { status: 201, statusText: "Created", headers: { location: "/1" }, body: new Uint8Array(), text: () => "", truncated: false, url };
    },
  });
  plugin.setup(ctx);
  const [action] = ctx.registered.actions;
  if (!action) throw new Error("no action was provided");
  return { action, asked };
}
const url = "https://example.org/items";
const call = { signal: new AbortController().signal, door: "test" };

actionContract({ describe, it }, () => ({
  action: setUp().action,
  works: [
    { name: "an object", input: { url, body: { a: 1 } } },
    { name: "null with a header", input: { url, body: null, headers: { "x-trace": "1" } } },
  ],
  refused: [
    { url: "gopher://example.org", body: 1 },
    { url, body: 1, headers: { "x-a": "1\r\nhost: evil" } },
    { url, body: 1, headers: { "x-a": "1\n2" } },
    { url, body: 1, headers: { "bad name": "1" } },
    { url, body: 1, headers: { "x-a": 1 } },
  ],
}));

it("ACT-02 posts the body as JSON and answers in the shape of http.fetch", async () => {
  const { action, asked } = setUp();
  const output = await action.run({ url, body: { text: 'say "hi"\n' }, headers: { "X-Trace": "7" } }, call);
  expect(output).toEqual({ status: 201, statusText: "Created", headers: { location: "/1" }, body: "", truncated: false, url });
  expect(asked[0]?.init).toMatchObject({
    method: "POST",
    body: '{"text":"say \\"hi\\"\\n"}',
    headers: { "content-type": "application/json", "x-trace": "7" },
    maxBytes: 1_048_576,
  });
});

it("lets the caller choose the content type, once, in any letter case", async () => {
  const { action, asked } = setUp();
  await action.run({ url, body: {}, headers: { "Content-Type": "application/ld+json" } }, call);
  expect(asked[0]?.init?.headers).toEqual({ "content-type": "application/ld+json" });
});

it("hands the key of the effect to the server, unless the caller sets one", async () => {
  const { action, asked } = setUp();
  await action.run({ url, body: {} }, { ...call, key: "run_1/post/1" });
  await action.run({ url, body: {}, headers: { "Idempotency-Key": "mine" } }, { ...call, key: "run_1/post/1" });
  expect(asked.map(({ init }) => init?.headers?.["idempotency-key"])).toEqual(["run_1/post/1", "mine"]);
});

it.each(["Host", "content-length", "Transfer-Encoding", "connection"])("refuses the header %s, which the connection sets itself", async (name) => {
  const { action, asked } = setUp();
  await expect(action.run({ url, body: {}, headers: { [name]: "1" } }, call)).rejects.toMatchObject({ code: "SVC_ACTION_HEADER" });
  expect(asked).toEqual([]);
});
