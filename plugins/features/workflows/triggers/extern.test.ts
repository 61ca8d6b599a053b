import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { codeOf, type GuardedFetch } from "@svc/sdk";
import { afterEach, expect, it } from "vitest";
import { createExtern, externPause } from "./extern.ts";

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

interface Seen {
  readonly line: string;
  readonly key: string | undefined;
  readonly bearer: string | undefined;
  readonly body: unknown;
}

/** A service that answers by line, and what it was asked. */
async function service(answers: Record<string, [status: number, body: unknown, headers?: Record<string, string>]>) {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk) => (text += chunk));
    request.on("end", () => {
      const line = `${request.method} ${request.url}`;
      const { "idempotency-key": key, authorization: bearer } = request.headers;
      seen.push({ line, key: key as string | undefined, bearer, body: text === "" ? undefined : JSON.parse(text) });
      const [status, body, headers = {}] = answers[line] ?? [404, { error: "nothing here" }];
      response.writeHead(status, { "content-type": "application/json", ...headers }).end(typeof body === "string" ? body : JSON.stringify(body));
    });
  });
  servers.push(server);
  await new Promise<void>((done) => void server.listen(0, "127.0.0.1", done));
  return { seen, baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/flows/` };
}

/** As the guarded one, without its guard: it records which origins are trusted. */
const trusted: (readonly string[] | undefined)[] = [];
const plainFetch: GuardedFetch = async (url, { method = "GET", headers, body, signal, trustedOrigins, maxRedirects } = {}) => {
  trusted.push(trustedOrigins);
  const answer = await fetch(url, {
    method,
    redirect: maxRedirects === 0 ? "manual" : "follow",
    ...(headers === undefined ? {} : { headers: { ...headers } }),
    ...(typeof body === "string" ? { body } : {}),
    ...(signal === undefined ? {} : { signal }),
  });
  const text = await answer.text();
  return { status: answer.status, statusText: answer.statusText, headers: {}, url, body: new TextEncoder().encode(text), text: () => text, truncated: false };
};
const { signal } = new AbortController();

it("starts a run elsewhere with its key, looks at it and ends it", async () => {
  const { seen, baseUrl } = await service({
    "POST /flows/workflows/order%20it/run": [202, { runId: "run_7", workflowId: "order it", status: "running" }],
    "GET /flows/api/workflows/runs/run_7": [200, { id: "run_7", status: "completed", output: { ordered: true } }],
    "POST /flows/api/workflows/runs/run_7/status": [409, { error: "it has ended", status: "completed" }],
  });
  const extern = createExtern(plainFetch, () => ({ baseUrl, apiKey: "k3y" }));
  expect(await extern.start("order it", { item: "pen" }, "run_1/call/1", signal)).toEqual({ runId: "run_7", status: "running" });
  expect(await extern.look("run_7", signal)).toEqual({ runId: "run_7", status: "completed", output: { ordered: true } });
  expect(await extern.cancel("run_7", signal)).toBe(false);
  expect(seen[0]).toEqual({
    line: "POST /flows/workflows/order%20it/run",
    key: "run_1/call/1",
    bearer: "Bearer k3y",
    body: { payload: { item: "pen" }, startKey: "run_1/call/1" },
  });
  expect(new Set(trusted.splice(0).flat())).toEqual(new Set([new URL(baseUrl).origin]));
});

it.each<[string, [number, unknown, Record<string, string>?], string, boolean]>([
  ["a refusal", [422, { error: "broken" }], "EXTERN_REFUSED", false],
  ["an unknown workflow", [404, {}], "EXTERN_REFUSED", false],
  ["a redirect", [302, "", { location: "http://169.254.169.254/" }], "EXTERN_REFUSED", false],
  ["a service that is overloaded", [503, {}], "EXTERN_AWAY", true],
  ["an answer that is no JSON", [202, "<html>"], "EXTERN_AWAY", true],
  ["an answer without a run", [202, { status: "running" }], "EXTERN_AWAY", true],
  ["a state that is none", [202, { runId: "r", status: "done" }], "EXTERN_AWAY", true],
])("tells %s by its code and whether trying again may help", async (_name, answer, code, retryable) => {
  const { baseUrl } = await service({ "POST /flows/workflows/x/run": answer });
  const failed = await createExtern(plainFetch, () => ({ baseUrl }))
    .start("x", {}, "k", signal)
    .catch((error: unknown) => error);
  expect([codeOf(failed), (failed as { retryable?: boolean }).retryable]).toEqual([code, retryable]);
});

it("is off without an address, and away where nobody answers; the key stands in no error", async () => {
  const start = (baseUrl: string | undefined) =>
    createExtern(plainFetch, () => ({ ...(baseUrl === undefined ? {} : { baseUrl }), apiKey: "k3y" }))
      .start("x", {}, "k", signal)
      .catch((error: unknown) => error as Error);
  for (const none of [undefined, "", "no address"]) expect(codeOf(await start(none))).toBe("EXTERN_OFF");
  const gone = (await start("http://127.0.0.1:1")) as Error;
  expect(codeOf(gone)).toBe("EXTERN_AWAY");
  expect(gone.message).not.toContain("k3y");
});

it("looks ever more rarely, down to twice a minute", () => {
  expect([0, 1, 2, 5, 100].map(externPause)).toEqual([1_000, 2_000, 4_000, 30_000, 30_000]);
});
