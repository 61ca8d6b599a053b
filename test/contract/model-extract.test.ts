import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { GuardedFetch, Schema } from "@svc/sdk";
import { Ajv2020 } from "ajv/dist/2020.js";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createFetch } from "../../kernel/capabilities/fetch/fetch.ts";
import { createExtract } from "../../plugins/features/models/extract.ts";

const key = "sk-canary-5e0a";
const schema: Schema = { type: "object", properties: { city: { type: "string" }, n: { type: "integer" } }, required: ["city"], additionalProperties: false };

interface Seen {
  readonly path: string | undefined;
  readonly headers: IncomingMessage["headers"];
  readonly body: Record<string, unknown>;
}

let server: Server;
let base: string;
let seen: Seen[] = [];
let reply: (seen: Seen) => { status?: number; headers?: Record<string, string>; body: unknown } | undefined;

beforeAll(async () => {
  server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    const one: Seen = { path: request.url, headers: request.headers, body: JSON.parse(text) };
    seen.push(one);
    const { status = 200, headers = {}, body } = reply(one) ?? { body: undefined };
    if (body !== undefined) response.writeHead(status, headers).end(typeof body === "string" ? body : JSON.stringify(body));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  seen = [];
});

/** Two far ends, strict about what they are sent: each answers `value` to exactly the request its vendor documents. */
const anthropic =
  (value: unknown, stop = "tool_use") =>
  () => {
    const { path, headers, body } = seen.at(-1) as Seen;
    const tools = body["tools"] as { name: string; input_schema: Schema }[];
    expect({ path, key: headers["x-api-key"], version: headers["anthropic-version"], type: headers["content-type"] }).toEqual({
      path: "/v1/messages",
      key,
      version: "2023-06-01",
      type: "application/json",
    });
    expect(Object.keys(body).filter((name) => !["model", "max_tokens", "messages", "system", "tools", "tool_choice"].includes(name))).toEqual([]);
    expect(tools).toHaveLength(1);
    expect(tools[0]?.input_schema.type).toBe("object");
    expect(body["tool_choice"]).toEqual({ type: "tool", name: tools[0]?.name });
    return {
      body: {
        type: "message",
        stop_reason: stop,
        content: [{ type: "text", text: "Sure." }, ...(value === undefined ? [] : [{ type: "tool_use", id: "t", name: tools[0]?.name, input: value }])],
      },
    };
  };
const openai =
  (written: string | undefined, finish = "stop") =>
  () => {
    const { path, headers, body } = seen.at(-1) as Seen;
    const tools = body["tools"] as { type: string; function: { name: string; parameters: Schema } }[];
    expect({ path, authorization: headers.authorization }).toEqual({ path: "/v1/chat/completions", authorization: `Bearer ${key}` });
    expect(body["tool_choice"]).toEqual({ type: "function", function: { name: tools[0]?.function.name } });
    const calls = written === undefined ? [] : [{ id: "c", type: "function", function: { name: tools[0]?.function.name, arguments: written } }];
    return { body: { choices: [{ index: 0, finish_reason: finish, message: { role: "assistant", content: null, tool_calls: calls } }] } };
  };

const models = ({ env, fetch = createFetch() }: { env: Record<string, string>; fetch?: GuardedFetch }) => ({
  extract: createExtract({ env: (name) => env[name], fetch }),
});
const withAnthropic = (more: Record<string, string> = {}) => models({ env: { ANTHROPIC_API_KEY: key, ANTHROPIC_BASE_URL: base, ...more } });
const withOpenai = (more: Record<string, string> = {}) => models({ env: { OPENAI_API_KEY: key, OPENAI_BASE_URL: `${base}/v1/`, ...more } });

async function failure(work: Promise<unknown>): Promise<{ code: string; message: string }> {
  const error = await work.then(
    () => ({ code: "none", message: "" }),
    (reason) => reason,
  );
  expect(`${error.stack}${JSON.stringify(error)}${error.cause}`).not.toContain(key);
  return error;
}

describe("extraction", () => {
  it("ACT-12 forces the tool call and gives back what it was called with: Anthropic", async () => {
    reply = anthropic({ city: "Bern", n: 3 });
    expect(await withAnthropic().extract({ prompt: "Where?", system: "Be brief.", schema, maxTokens: 99 })).toEqual({ city: "Bern", n: 3 });
    expect(seen[0]?.body).toMatchObject({ model: "claude-haiku-4-5", max_tokens: 99, system: "Be brief.", messages: [{ role: "user", content: "Where?" }] });
  });

  it("ACT-12 forces the tool call and gives back what it was called with: an OpenAI-compatible API", async () => {
    reply = openai('{"city":"Bern"}');
    expect(await withOpenai().extract({ prompt: "Where?", system: "Be brief.", schema })).toEqual({ city: "Bern" });
    expect(seen[0]?.body).toMatchObject({
      model: "gpt-4.1-mini",
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "Where?" },
      ],
    });
    expect(seen[0]?.body).not.toHaveProperty("max_completion_tokens");
  });

  it("takes the model from SVC_EXTRACT_MODEL and prefers Anthropic when both keys are set", async () => {
    reply = anthropic({ city: "Bern" });
    await withAnthropic({ OPENAI_API_KEY: "other", OPENAI_BASE_URL: base, SVC_EXTRACT_MODEL: "tiny" }).extract({ prompt: "p", schema });
    expect(seen[0]?.body["model"]).toBe("tiny");
  });

  it.each([
    [{ type: "array", items: { type: "string" } }, ["a"]],
    [{ type: "string" }, "a"],
    [{ enum: [1, 2] }, 2],
  ] as [Schema, unknown][])("asks for %j within an object and gives back the bare value", async (asked, value) => {
    reply = anthropic({ value });
    expect(await withAnthropic().extract({ prompt: "p", schema: asked })).toEqual(value);
    const tools = seen[0]?.body["tools"] as { input_schema: Record<string, unknown> }[];
    expect(new Ajv2020().validate(tools[0]?.input_schema ?? {}, { value })).toBe(true);
  });
});

describe("failures", () => {
  it("ACT-12 names the variables when there is no key, and an empty one is none", async () => {
    for (const env of [{}, { ANTHROPIC_API_KEY: "", OPENAI_API_KEY: "" }]) {
      const error = await failure(models({ env }).extract({ prompt: "p", schema }));
      expect(error).toMatchObject({ code: "SVC_MODEL_NO_KEY", message: expect.stringMatching(/ANTHROPIC_API_KEY.*OPENAI_API_KEY/) });
    }
  });

  it.each([
    ["a missing member", { n: 1 }, /city/],
    ["a wrong type", { city: 1 }, /city must be string/],
    ["an extra member", { city: "x", y: 1 }, /additional/],
    ["a list", [], /object/],
    ["no call", undefined, /did not call/],
  ])("ACT-12 refuses an answer of another shape: %s", async (_, value, reason) => {
    reply = anthropic(value);
    expect(await failure(withAnthropic().extract({ prompt: "p", schema }))).toMatchObject({ code: "SVC_MODEL_SHAPE", message: expect.stringMatching(reason) });
  });

  it("says when the answer was cut off", async () => {
    reply = anthropic({}, "max_tokens");
    expect((await failure(withAnthropic().extract({ prompt: "p", schema }))).message).toContain("maxTokens");
    reply = openai('{"city":"Be', "length");
    expect((await failure(withOpenai().extract({ prompt: "p", schema }))).message).toContain("maxTokens");
    reply = openai("{", "stop");
    expect(await failure(withOpenai().extract({ prompt: "p", schema }))).toMatchObject({
      code: "SVC_MODEL_SHAPE",
      message: expect.stringContaining("no JSON"),
    });
    reply = openai(undefined);
    expect(await failure(withOpenai().extract({ prompt: "p", schema }))).toMatchObject({ code: "SVC_MODEL_SHAPE" });
  });

  it.each([
    [401, { type: "error", error: { type: "authentication_error", message: `invalid key ${key}` } }, "401 (authentication_error)"],
    [401, { error: { message: `Incorrect API key provided: ${key}`, type: key, code: "invalid_api_key" } }, "401 (invalid_api_key)"],
    [529, { type: "error", error: { type: "overloaded_error" } }, "529 (overloaded_error)"],
    [500, "<html>", "500"],
    [200, "<html>", "no JSON"],
    [200, "null", "did not call"],
  ])("FAULT-73 tells the status %i and the kind, and repeats no text of the vendor", async (status, body, expected) => {
    reply = () => ({ status, body });
    const error = await failure(withAnthropic().extract({ prompt: "p", schema }));
    expect(error.code).toMatch(/^SVC_MODEL_(FAILED|SHAPE)$/);
    expect(error.message).toContain(expected);
    expect(seen).toHaveLength(1);
  });

  it("sends the key to no other place than the base address", async () => {
    reply = () => ({ status: 307, headers: { location: "/elsewhere" }, body: "moved" });
    expect(await failure(withAnthropic().extract({ prompt: "p", schema }))).toMatchObject({ code: "SVC_MODEL_FAILED" });
    expect(seen).toHaveLength(1);
  });

  it("tells a base address that is none, and a far end that is not there", async () => {
    expect(await failure(withAnthropic({ ANTHROPIC_BASE_URL: "nowhere" }).extract({ prompt: "p", schema }))).toMatchObject({
      code: "SVC_MODEL_FAILED",
      message: expect.stringContaining("ANTHROPIC_BASE_URL"),
    });
    expect(await failure(withAnthropic({ ANTHROPIC_BASE_URL: "http://127.0.0.1:1" }).extract({ prompt: "p", schema }))).toMatchObject({
      code: "SVC_MODEL_FAILED",
    });
  });

  it("ends when its caller gives up", async () => {
    const controller = new AbortController();
    reply = () => {
      controller.abort();
      return undefined;
    };
    expect(await failure(withAnthropic().extract({ prompt: "p", schema, signal: controller.signal }))).toMatchObject({ code: "SVC_MODEL_FAILED" });
  });

  it.each([
    ["a type that is none", { type: "nonsense" }],
    ["a reference to elsewhere", { $ref: "https://example.com/schema" }],
    ["a pattern that is none", { type: "string", pattern: "(" }],
    ["more than 64 KB", { type: "string", enum: ["x".repeat(70_000)] }],
  ])("refuses a schema before the model is asked: %s", async (_, asked) => {
    expect(await failure(withAnthropic().extract({ prompt: "p", schema: asked as Schema }))).toMatchObject({ code: "SVC_MODEL_SCHEMA" });
    expect(seen).toHaveLength(0);
  });

  it("takes a schema of an older draft, and one that would make the check a promise", async () => {
    reply = anthropic({ city: 1 });
    const odd = { ...schema, $schema: "http://json-schema.org/draft-07/schema#", $async: true } as Schema;
    expect(await failure(withAnthropic().extract({ prompt: "p", schema: odd }))).toMatchObject({ code: "SVC_MODEL_SHAPE" });
  });

  it("FAULT-55 ends a pattern that would run for ever", async () => {
    const asked: Schema = { type: "object", properties: { a: { type: "string", pattern: "^(a+)+$" } } };
    reply = anthropic({ a: `${"a".repeat(60)}!` });
    expect(await failure(withAnthropic().extract({ prompt: "p", schema: asked }))).toMatchObject({
      code: "SVC_MODEL_SHAPE",
      message: expect.stringContaining("in time"),
    });
  });
});
