import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import type { ObjectSchema, PluginContext, Turn } from "@svc/sdk";
import type { Tool } from "@svc/sdk/tool-loop";
import { childTransport } from "./child-transport.ts";
import type { ServerEntry } from "./servers.ts";

/** A tool that takes longer is given up. */
const CALL_MS = 10 * 60_000;
const MOST_PAGES = 20;

/** A connected tool server. */
export interface Server {
  readonly tools: readonly Tool[];
  /** The connection is gone. */
  ended(): boolean;
  /** Reads the tools again, where the server has said that they changed. Rejects when that takes longer than `limitMs`. */
  refresh(limitMs: number): Promise<void>;
  /** Ends the connection, and the program where it is one. Never rejects. */
  close(): Promise<void>;
}

/** Connects and asks for the tools. Rejects with the reason when that takes longer than `limitMs`, and leaves nothing running. */
export async function openServer(
  ctx: Pick<PluginContext, "spawn">,
  turn: Turn,
  name: string,
  entry: ServerEntry,
  limitMs: number,
  signal: AbortSignal,
): Promise<Server> {
  const { command, args = [], env = {}, url, headers = {} } = entry;
  if (command === undefined && url === undefined) throw new Error("it has neither a command nor a url");
  const child = command === undefined ? undefined : childTransport(ctx.spawn, command, args, { cwd: turn.agent.workspace, env, taskId: turn.id });
  // The transport of the vendor is declared without exactOptionalPropertyTypes.
  const transport = child ?? (new StreamableHTTPClientTransport(new URL(url as string), { requestInit: { headers } }) as Transport);
  const client = new Client({ name: "svc", version: "0.1.0" });
  let tools: readonly Tool[] = [];
  let ended = false;
  let changed = false;
  client.onclose = () => {
    ended = true;
  };
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
    changed = true;
  });
  const close = async () => {
    ended = true;
    await Promise.all([client.close().catch(() => undefined), child?.close()]);
  };
  let late = false;
  const stop = new AbortController();
  const cancelled = () => stop.abort(signal.reason);
  const timer = setTimeout(() => {
    late = true;
    stop.abort(new Error("it was not ready in time"));
  }, limitMs);
  signal.addEventListener("abort", cancelled, { once: true });
  try {
    const options = { signal: stop.signal, timeout: limitMs + 1000 };
    await client.connect(transport, options);
    tools = await listTools(client, name, options);
  } catch (error) {
    const end = child?.end;
    await close();
    if (late) throw new Error(`it was not ready after ${limitMs / 1000} s`);
    if (typeof end?.code !== "number") throw error;
    throw new Error(`it ended with exit code ${end.code}. ${end.stderr.trim().slice(-200)}`.trim());
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", cancelled);
  }
  return {
    get tools() {
      return tools;
    },
    ended: () => ended,
    async refresh(within) {
      if (!changed) return;
      changed = false;
      tools = await listTools(client, name, { timeout: within });
    },
    close,
  };
}

async function listTools(client: Client, server: string, options: { readonly signal?: AbortSignal; readonly timeout: number }): Promise<readonly Tool[]> {
  const tools: Tool[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MOST_PAGES && (page === 0 || cursor !== undefined); page += 1) {
    const listed = await client.listTools(cursor === undefined ? {} : { cursor }, options);
    for (const { name, description = "", inputSchema } of listed.tools)
      tools.push({ name: `mcp__${server}__${name}`, description, input: inputSchema as ObjectSchema, run: (input, stop) => call(client, name, input, stop) });
    cursor = listed.nextCursor;
  }
  return tools;
}

async function call(client: Client, name: string, input: Record<string, unknown>, signal: AbortSignal): Promise<string> {
  const result = await client.callTool({ name, arguments: input }, undefined, { signal, timeout: CALL_MS });
  const parts = (result.content ?? []) as readonly {
    type: string;
    text?: string;
    mimeType?: string;
    uri?: string;
    resource?: { text?: string; uri: string };
  }[];
  const text = parts.map((part) => part.text ?? part.resource?.text ?? `[${part.type} ${part.uri ?? part.resource?.uri ?? part.mimeType ?? ""}]`).join("\n");
  if (result.isError) throw new Error(text || "the tool failed");
  return text || (result.structuredContent === undefined ? "" : JSON.stringify(result.structuredContent));
}
