import { createMcpHandler } from "@modelcontextprotocol/server";
import { type AgentTools, type HttpRequest, type Log, readEventStream } from "@svc/sdk";
import { toolServer } from "./tool-server.ts";

/** One request of an MCP client. */
export interface McpCall extends Pick<HttpRequest, "headers" | "signal" | "body"> {
  readonly agent: string;
  readonly tools: AgentTools;
  readonly log: Log;
}

/** HTTP answer. */
export interface McpAnswer {
  readonly status: number;
  readonly type: string;
  /** Whole, or its messages as they come: a client that wants to hear how far a call is. */
  readonly text: string | AsyncIterable<unknown>;
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
        run: (name, input, asked) => tools.run(name, input, { agent, ...claimsOf(headers), signal: AbortSignal.any([asked, signal]) }),
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
  const type = response.headers.get("content-type") ?? "application/json";
  const streamed = response.ok && type.startsWith("text/event-stream") && response.body !== null;
  return { status: response.status, type, text: streamed ? messagesOf(response.body) : await response.text(), more };
}

async function* messagesOf(body: NonNullable<Response["body"]>): AsyncGenerator<unknown> {
  for await (const { data } of readEventStream(body as AsyncIterable<Uint8Array>)) if (data !== "") yield JSON.parse(data);
}

/** For which task and session a program calls, as it says: the daemon passes the task on where it runs for this agent. */
function claimsOf(headers: HttpRequest["headers"]): { readonly taskId?: string; readonly session?: string } {
  const claim = (name: string) => {
    const { [name]: value } = headers;
    return typeof value === "string" && /^[\w.:@-]{1,200}$/.test(value) ? value : undefined;
  };
  const [taskId, session] = [claim("x-svc-task"), claim("x-svc-session")];
  return { ...(taskId === undefined ? {} : { taskId }), ...(session === undefined ? {} : { session }) };
}
