import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { type Fields, fieldsOf, textOf } from "./fields.ts";

/** A tool server (MCP) of an agent: a program on standard input and output, or an address. */
export type WorkspaceServer = { readonly name: string } & (
  | { readonly command: string; readonly args: readonly string[]; readonly env?: Fields }
  | { readonly url: string; readonly headers?: Fields }
);

const MAX_BYTES = 1_048_576;

/**
 * Reads the tool servers of `<workspace>/.mcp.json`. An unreadable file yields an empty list; an entry without command and address is skipped.
 * `taskId` is for an engine that starts them without its own environment: it is set in theirs.
 */
export async function workspaceServers(workspace: string, taskId?: string): Promise<readonly WorkspaceServer[]> {
  let entries: Fields;
  try {
    entries = fieldsOf(fieldsOf(JSON.parse(await textAt(join(workspace, ".mcp.json")))).mcpServers);
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

/** A regular file's text. The agent may have put anything there: a pipe without a writer would hold the run for ever, a device would never end. */
async function textAt(path: string): Promise<string> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const facts = await file.stat();
    if (!facts.isFile() || facts.size > MAX_BYTES) throw new Error(`${path} is no file of at most ${MAX_BYTES} bytes`);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(facts.size), 0, facts.size, 0);
    return buffer.toString("utf8", 0, bytesRead);
  } finally {
    await file.close();
  }
}
