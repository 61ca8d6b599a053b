import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Fields, fieldsOf, textOf } from "@svc/sdk/engine";

/** The MCP servers of `<workspace>/.mcp.json` in the words of the program's configuration. A file that cannot be read gives none. */
export async function serversOf(workspace: string): Promise<Fields> {
  const file = await readFile(join(workspace, ".mcp.json"), "utf8").catch(() => "{}");
  let entries: Fields;
  try {
    entries = fieldsOf(fieldsOf(JSON.parse(file)).mcpServers);
  } catch {
    return {};
  }
  const translated: Fields = {};
  for (const [name, entry] of Object.entries(entries)) {
    const { command, args, env, url, headers } = fieldsOf(entry);
    // The program takes no other names.
    if (!/^[A-Za-z0-9_-]+$/.test(name)) continue;
    if (textOf(command)) translated[name] = { command, ...(Array.isArray(args) ? { args } : {}), ...(env === undefined ? {} : { env: fieldsOf(env) }) };
    else if (textOf(url)) translated[name] = { url, ...(headers === undefined ? {} : { http_headers: fieldsOf(headers) }) };
  }
  return translated;
}
