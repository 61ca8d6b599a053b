import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Fields, fieldsOf, textOf } from "@svc/sdk/engine";

/** The MCP servers of `<workspace>/.mcp.json` in the words of the protocol. A file that cannot be read gives none. */
export async function serversOf(workspace: string): Promise<Fields[]> {
  const file = await readFile(join(workspace, ".mcp.json"), "utf8").catch(() => "{}");
  let entries: Fields;
  try {
    entries = fieldsOf(fieldsOf(JSON.parse(file)).mcpServers);
  } catch {
    return [];
  }
  const pairs = (map: unknown): Fields[] => Object.entries(fieldsOf(map)).map(([name, value]) => ({ name, value: String(value) }));
  return Object.entries(entries).flatMap(([name, entry]): Fields[] => {
    const { command, args, env, url, headers } = fieldsOf(entry);
    if (textOf(command)) return [{ name, command, args: Array.isArray(args) ? args : [], env: pairs(env) }];
    return textOf(url) ? [{ type: "http", name, url, headers: pairs(headers) }] : [];
  });
}
