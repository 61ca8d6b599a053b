/** A tools server on the vendor's SDK, without anything else: one tool, no tokens, one server for each request. */
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(new URL("../../../plugins/features/mcp/package.json", import.meta.url));
const { createMcpHandler, Server } = await import(pathToFileURL(require.resolve("@modelcontextprotocol/server")).href);

const handler = createMcpHandler(() => {
  const server = new Server({ name: "floor", version: "1.0.0" }, { capabilities: { tools: {} } });
  server.setRequestHandler("tools/list", async () => ({ tools: [{ name: "say", description: "Says it", inputSchema: { type: "object" } }] }));
  server.setRequestHandler("tools/call", async () => ({ content: [{ type: "text", text: "said" }] }));
  return server;
});
const server = createServer(async (request, response) => {
  let body = "";
  for await (const chunk of request.setEncoding("utf8")) body += chunk;
  const parsedBody = JSON.parse(body);
  const { connection: _, "content-length": __, ...headers } = request.headers;
  const answer = await handler.fetch(new Request("http://localhost/mcp", { method: "POST", headers, body }), { parsedBody });
  response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "application/json" }).end(await answer.text());
}).listen(0, "127.0.0.1", () => console.log(JSON.stringify({ port: server.address().port })));
process.on("SIGTERM", () => process.exit(0));
