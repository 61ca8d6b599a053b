import { Server } from "@modelcontextprotocol/server";
import type { ObjectSchema } from "@svc/sdk";

/** A tool as clients see it. */
export interface ListedTool {
  readonly name: string;
  readonly description: string;
  readonly input: ObjectSchema;
}

/** Where tools come from and how they are run. */
export interface ToolSource {
  list(): Promise<readonly ListedTool[]>;
  /** Throws what the model is to be told. */
  run(name: string, input: Record<string, unknown>, signal: AbortSignal): Promise<string>;
  /** Told of each answer that is being made, to its end. */
  underWay?<T>(answer: Promise<T>): Promise<T>;
}

/** Longest text of one tool result; foreign text may be endless (000:L371). */
const LONGEST = 40_000;

/** An MCP server of one agent's tools, for one connection or one request. */
export function toolServer({ list, run, underWay = (answer) => answer }: ToolSource): Server {
  const server = new Server({ name: "svc", version: "0.1.0" }, { capabilities: { tools: {} } });
  const listed = async () => ({
    tools: (await list()).map(({ name, description, input }) => ({ name, description, inputSchema: input as never })),
  });
  const called = async (name: string, input: Record<string, unknown>, signal: AbortSignal) => {
    try {
      const text = await run(name, input, signal);
      return { content: [{ type: "text" as const, text: text.length <= LONGEST ? text : `${text.slice(0, LONGEST)}… (cut)` }] };
    } catch (error) {
      return { content: [{ type: "text" as const, text: (error as Error).message }], isError: true };
    }
  };
  server.setRequestHandler("tools/list", () => underWay(listed()));
  server.setRequestHandler("tools/call", ({ params }, { mcpReq }) => underWay(called(params.name, params.arguments ?? {}, mcpReq.signal)));
  return server;
}
