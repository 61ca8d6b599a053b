import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { definePlugin, type Plugin } from "@svc/sdk";
import { expect, it } from "vitest";
import { type Guarded, guarded } from "./auth.harness.ts";

const MCP = join(import.meta.dirname, "../../plugins/features/mcp");
const MANIFESTS = ["tokens", "dashboard"].map((name) => join(import.meta.dirname, "../../plugins/features", name));

const gates: (() => void)[] = [];
/** A plugin with tools: one for all agents, one for `foo`, one that says how it was called, one that fails. */
const tools = definePlugin({
  kind: "feature",
  name: "tools",
  version: "1.0.0",
  svc: "^0.1.0",
  capabilities: [],
  setup(ctx) {
    const input = { type: "object", properties: { n: { type: "number" } } } as const;
    ctx.provide.tool({ name: "acme_double", description: "Twice the number.", input, run: async ({ n }, { agent }) => `${agent}: ${2 * Number(n)}` });
    ctx.provide.tool({ name: "acme_secret", description: "For foo.", input, for: (agent) => agent === "foo", run: async () => "foo's" });
    ctx.provide.tool({
      name: "acme_hold",
      description: "Waits until it is let go.",
      input,
      run: (_input, { session = "nobody" }) => new Promise((resolve) => gates.push(() => resolve(`held for ${session}`))),
    });
    ctx.provide.tool({ name: "acme_fail", description: "Fails.", input, run: () => Promise.reject(new Error("the shelf is empty")) });
  },
}) as Plugin<never>;

const run = () => guarded({ plugins: [tools], options: { known: [...MANIFESTS, MCP] } });

async function connect({ daemon }: Guarded, agent: string, secret: string | undefined) {
  const client = new Client({ name: "test", version: "1.0.0" });
  const headers = secret === undefined ? {} : { authorization: `Bearer ${secret}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${daemon}/mcp/${agent}`), { requestInit: { headers } }) as never);
  return client;
}

it("an MCP client elsewhere lists and calls the tools of the agent that its token names", async () => {
  const place = await run();
  const { secret } = await place.token("mcp:foo");
  const client = await connect(place, "foo", secret);
  const { tools: listed } = await client.listTools();
  expect(listed.map(({ name }) => name).sort()).toEqual(["acme_double", "acme_fail", "acme_hold", "acme_secret"]);
  expect(listed.find(({ name }) => name === "acme_double")).toMatchObject({ description: "Twice the number.", inputSchema: { type: "object" } });
  expect(await client.callTool({ name: "acme_double", arguments: { n: 21 } })).toMatchObject({ content: [{ type: "text", text: "foo: 42" }] });
  expect(await client.callTool({ name: "acme_fail", arguments: {} })).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining("the shelf is empty") }],
  });
  expect(await client.callTool({ name: "acme_nothing", arguments: {} })).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining("acme_nothing") }],
  });
  await client.close();
});

it("a client that asks for it hears that a long call goes on; the session that it names goes with the call", async () => {
  const place = await run();
  const { secret } = await place.token("mcp:foo");
  const client = new Client({ name: "test", version: "1.0.0" });
  const requestInit = { headers: { authorization: `Bearer ${secret}`, "x-svc-session": "desk-1", "x-svc-task": "task_none" } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${place.daemon}/mcp/foo`), { requestInit }) as never);
  const heard: string[] = [];
  // It ends when the client has heard of it: told at the end alone, it would wait for ever.
  const onprogress = ({ message }: { message?: string | undefined }) => {
    heard.push(message ?? "");
    for (const go of gates.splice(0)) go();
  };
  const answer = await client.callTool({ name: "acme_hold", arguments: {} }, undefined, { onprogress });
  expect(answer).toMatchObject({ content: [{ type: "text", text: "held for desk-1" }] });
  expect(heard[0]).toMatch(/^acme_hold is under way, \d+ s$/);
  await client.close();
});

it("AUTH-04 without a token, with one of another agent, or one that is revoked nobody gets in; mcp:* is every agent", async () => {
  const place = await run();
  await expect(connect(place, "foo", undefined)).rejects.toThrow(/SVC_HTTP_BEARER_MISSING/);
  const other = await place.token("mcp:foobar");
  await expect(connect(place, "foo", other.secret)).rejects.toThrow(/SVC_HTTP_FORBIDDEN/);
  const writer = await place.token("dashboard:write");
  await expect(connect(place, "foo", writer.secret)).rejects.toThrow(/SVC_HTTP_FORBIDDEN/);
  const all = await place.token("mcp:*");
  const client = await connect(place, "foobar", all.secret);
  expect((await client.listTools()).tools.map(({ name }) => name)).not.toContain("acme_secret");
  expect(await client.callTool({ name: "acme_secret", arguments: {} })).toMatchObject({ isError: true });
  await place.svc("token", "revoke", all.id);
  await expect(client.listTools()).rejects.toThrow(/SVC_HTTP_BEARER/);
  await expect(connect(place, "nobody", (await place.token("mcp:nobody")).secret)).rejects.toThrow(/SVC_AGENT_UNKNOWN/);
});

it("there is no session to listen to or to end, and a body that is no request is told so", async () => {
  const place = await run();
  const { secret } = await place.token("mcp:foo");
  const send = (method: string, body?: unknown) =>
    fetch(`${place.daemon}/mcp/foo`, {
      method,
      headers: { authorization: `Bearer ${secret}`, "content-type": "application/json", accept: "application/json, text/event-stream" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  for (const method of ["GET", "DELETE"]) expect((await send(method)).status).toBe(405);
  expect((await send("POST", { hello: 1 })).status).toBe(400);
  const list = { jsonrpc: "2.0", id: 7, method: "tools/list", params: {} };
  expect(await (await send("POST", list)).text()).toMatch(/"id":7.*acme_double|acme_double.*"id":7/);
  expect((await send("POST", { jsonrpc: "2.0", method: "notifications/initialized" })).status).toBe(202);
});
