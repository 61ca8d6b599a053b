import { PassThrough } from "node:stream";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import type { CliHost } from "@svc/sdk";
import { type ListedTool, type ToolSource, toolServer } from "./tool-server.ts";

/** Longest delay of a timer. */
const FOREVER_MS = 2 ** 31 - 1;

/**
 * Serve until standard input ends and the calls under way are answered. Each call asks the daemon anew, so that a restart or a reload
 * in between costs nothing. A daemon or an agent that is not there at the start is told on standard error at once, to the model at each
 * call, and thrown at the end.
 */
export async function serve(agent: string, cli: CliHost, env: Readonly<Record<string, string | undefined>> = process.env): Promise<void> {
  const claims = claimsOf(env, process.ppid);
  const path = `/agents/${encodeURIComponent(agent)}/tools`;
  const busy = new Set<Promise<unknown>>();
  const underWay = <T>(call: Promise<T>): Promise<T> => {
    busy.add(call);
    const over = () => void busy.delete(call);
    call.then(over, over);
    return call;
  };
  const tools = async () => ((await cli.request("GET", path)) as { tools: ListedTool[] }).tools;
  const source: ToolSource = {
    list: tools,
    run: async (name, input, signal) => ((await cli.request("POST", `${path}/${encodeURIComponent(name)}`, input, claims, signal)) as { text: string }).text,
    underWay,
  };

  // The transport drops its calls when its input ends: it is told of the end once they are answered.
  const input = new PassThrough();
  process.stdin.pipe(input, { end: false });
  const connection = serveStdio(() => toolServer(source), { transport: new StdioServerTransport(input) });
  const trouble = tools().then(
    () => undefined,
    (error: Error) => {
      process.stderr.write(`svc mcp: ${error.message}\n`);
      return error;
    },
  );
  // A promise alone does not keep the process.
  const awake = setInterval(() => {}, FOREVER_MS);
  await new Promise<void>((resolve) => process.stdin.once("end", resolve).once("close", resolve));
  // Input that arrived with the end is handled in a later turn of the event loop.
  do {
    await new Promise((resolve) => setImmediate(resolve));
    await Promise.allSettled(busy);
  } while (busy.size > 0 || input.readableLength > 0);
  await connection.close();
  clearInterval(awake);
  // The exit code says so, too: 69 where no daemon of this folder answered.
  const error = await trouble;
  if (error !== undefined) throw error;
}

/** Variables by which interactive programs name their session to what they start, the most certain first. */
const SESSION_VARIABLES = ["SVC_SESSION_ID", "CLAUDE_CODE_SESSION_ID", "GEMINI_SESSION_ID"];

/** Where this server runs, in the headers of each call: for which task, in which session, and under which process. */
export function claimsOf(env: Readonly<Record<string, string | undefined>>, parent: number): Readonly<Record<string, string>> {
  const task = env.SVC_TASK_ID;
  const session = SESSION_VARIABLES.map((name) => env[name]).find((value) => value !== undefined && value !== "");
  const sendable = (value: string | undefined): value is string => value !== undefined && /^[\w.:@-]{1,200}$/.test(value);
  return {
    "x-svc-pid": String(parent),
    ...(sendable(task) ? { "x-svc-task": task } : {}),
    ...(sendable(session) ? { "x-svc-session": session } : {}),
  };
}
