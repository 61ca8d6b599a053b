import { Server } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import type { CliHost, ObjectSchema } from "@svc/sdk";

interface ListedTool {
  readonly name: string;
  readonly description: string;
  readonly input: ObjectSchema;
}

/** Longest text of one tool result; foreign text may be endless (000:L371). */
const LONGEST = 40_000;

/** Serve until standard input ends. Each call asks the daemon anew, so that a restart or a reload in between costs nothing. */
export async function serve(agent: string, cli: CliHost): Promise<void> {
  const path = `/agents/${encodeURIComponent(agent)}/tools`;
  serveStdio(() => {
    const server = new Server({ name: "svc", version: "0.1.0" }, { capabilities: { tools: {} } });
    server.setRequestHandler("tools/list", async () => {
      const { tools } = (await cli.request("GET", path)) as { tools: ListedTool[] };
      return { tools: tools.map(({ name, description, input }) => ({ name, description, inputSchema: input as never })) };
    });
    server.setRequestHandler("tools/call", async ({ params }) => {
      try {
        const { text } = (await cli.request("POST", `${path}/${encodeURIComponent(params.name)}`, params.arguments ?? {})) as { text: string };
        return { content: [{ type: "text" as const, text: text.length <= LONGEST ? text : `${text.slice(0, LONGEST)}… (cut)` }] };
      } catch (error) {
        return { content: [{ type: "text" as const, text: (error as Error).message }], isError: true };
      }
    });
    return server;
  });
  await new Promise<void>((resolve) => process.stdin.once("close", resolve));
}
