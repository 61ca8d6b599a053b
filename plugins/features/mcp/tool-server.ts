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

/** At most that, and no half of a pair: clients that take text as UTF-8 read no message that holds one, and wait for its answer. */
const wellFormed = (text: string): string => (text.length <= LONGEST ? text : `${text.slice(0, LONGEST)}… (cut)`).toWellFormed();

/** Interval of progress notifications to a client that requested them. */
const PROGRESS_MS = 2_000;

/** An MCP server of one agent's tools, for one connection or one request. */
export function toolServer({ list, run, underWay = (answer) => answer }: ToolSource): Server {
  const server = new Server({ name: "svc", version: "0.1.0" }, { capabilities: { tools: {} } });
  const listed = async () => ({
    tools: (await list()).map(({ name, description, input }) => ({ name, description, inputSchema: input as never })),
  });
  const called = async (name: string, input: Record<string, unknown>, signal: AbortSignal, progress: (seconds: number) => void) => {
    const began = Date.now();
    const pulse = setInterval(() => progress(Math.round((Date.now() - began) / 1000)), PROGRESS_MS);
    try {
      const text = await run(name, input, signal);
      return { content: [{ type: "text" as const, text: wellFormed(text) }] };
    } catch (error) {
      return { content: [{ type: "text" as const, text: wellFormed((error as Error).message) }], isError: true };
    } finally {
      clearInterval(pulse);
    }
  };
  server.setRequestHandler("tools/list", () => underWay(listed()));
  server.setRequestHandler("tools/call", ({ params: { name, arguments: input = {} } }, { mcpReq: { signal, notify, _meta } }) => {
    const { progressToken } = _meta ?? {};
    const tell = async (progress: number) => {
      if (progressToken === undefined) return;
      // A client that is gone hears nothing; its call is ended by the connection.
      await notify({ method: "notifications/progress", params: { progressToken, progress, message: `${name} is under way, ${progress} s` } }).catch(
        () => undefined,
      );
    };
    return underWay(called(name, input, signal, (seconds) => void tell(seconds)));
  });
  return server;
}
