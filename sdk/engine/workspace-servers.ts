import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Fields, fieldsOf, textOf } from "./fields.ts";

/** A tool server (MCP) of an agent: a program on standard input and output, or an address. */
export type WorkspaceServer = { readonly name: string } & (
  | { readonly command: string; readonly args: readonly string[]; readonly env?: Fields }
  | { readonly url: string; readonly headers?: Fields }
);

/**
 * The tool servers of `<workspace>/.mcp.json`. A file that cannot be read gives none, an entry without command and address is left out.
 * `taskId` is for an engine that starts them without its own environment: then they are told by theirs for which task they run.
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
