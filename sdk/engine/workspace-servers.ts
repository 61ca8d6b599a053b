import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Fields, fieldsOf, textOf } from "./fields.ts";

/** A tool server (MCP) of an agent: a program on standard input and output, or an address. */
export type WorkspaceServer = { readonly name: string } & (
  | { readonly command: string; readonly args: readonly string[]; readonly env?: Fields }
  | { readonly url: string; readonly headers?: Fields }
);

/**
 * Reads the tool servers of `<workspace>/.mcp.json`. An unreadable file yields an empty list; an entry without command and address is skipped.
 * `taskId` is for an engine that starts them without its own environment: it is set in theirs.
 */
export async function workspaceServers(workspace: string, taskId?: string): Promise<readonly WorkspaceServer[]> {
  const file = await readFile(join(workspace, ".mcp.json"), "utf8").catch(() => "{}");
  let entries: Fields;
  try {
    entries = fieldsOf(fieldsOf(JSON.parse(file)).mcpServers);
  } catch {
    return [];
  }
  return Object.entries(entries).flatMap(([name, entry]): WorkspaceServer[] => {
    const { command, args, env, url, headers } = fieldsOf(entry);
    if (textOf(command)) {
      const given = { ...fieldsOf(env), ...(taskId === undefined ? {} : { SVC_TASK_ID: taskId }) };
      const words = Array.isArray(args) ? args.map(String) : [];
      return [{ name, command: command as string, args: words, ...(env === undefined && taskId === undefined ? {} : { env: given }) }];
    }
    return textOf(url) ? [{ name, url: url as string, ...(headers === undefined ? {} : { headers: fieldsOf(headers) }) }] : [];
  });
}
