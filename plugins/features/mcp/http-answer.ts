import { createMcpHandler } from "@modelcontextprotocol/server";
import type { AgentTools, HttpRequest, Log } from "@svc/sdk";
import { toolServer } from "./tool-server.ts";

/** One request of an MCP client. */
export interface McpCall extends Pick<HttpRequest, "headers" | "signal" | "body"> {
  readonly agent: string;
  readonly tools: AgentTools;
  readonly log: Log;
}

/** How it is answered. */
export interface McpAnswer {
  readonly status: number;
  readonly type: string;
  readonly text: string;
  /** Further headers. */
  readonly more: readonly (readonly [name: string, value: string])[];
}

/** Headers of a request that the protocol reads. */
const READ = ["accept", "content-type", "mcp-protocol-version", "mcp-method", "mcp-name", "mcp-session-id"];

/** Answers by the vendor's server, which speaks the protocol's versions; the tools are the daemon's. */
export async function answer({ agent, tools, body, headers, signal, log }: McpCall): Promise<McpAnswer> {
  const handler = createMcpHandler(
    () =>
      toolServer({
        list: () => tools.list(agent),
        run: (name, input, asked) => tools.run(name, input, { agent, signal: AbortSignal.any([asked, signal]) }),
      }),
    { onerror: (error) => log.debug({ reason: error.message }, "a request of an MCP client was refused") },
  );
  const given = new Headers();
  for (const name of READ) {
    const value = headers[name];
    if (typeof value === "string") given.set(name, value);
  }
  const request = new Request("http://localhost/mcp", { method: "POST", headers: given, body: JSON.stringify(body), signal });
  const response = await handler.fetch(request, { parsedBody: body });
  const more = ["mcp-session-id", "mcp-protocol-version"].flatMap((name) => {
    const value = response.headers.get(name);
    return value === null ? [] : [[name, value] as const];
  });
  return { status: response.status, type: response.headers.get("content-type") ?? "application/json", text: await response.text(), more };
}
