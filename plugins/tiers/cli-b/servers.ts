import { type Fields, workspaceServers } from "@svc/sdk/engine";

/** The tool servers of the workspace in the words of the program's configuration. It starts them with few of its own variables. */
export async function serversOf(workspace: string, taskId: string): Promise<Fields> {
  // The program takes no other names.
  const named = (await workspaceServers(workspace, taskId)).filter(({ name }) => /^[A-Za-z0-9_-]+$/.test(name));
  return Object.fromEntries(
    named.map((server) => [
      server.name,
      "command" in server
        ? { command: server.command, args: server.args, ...(server.env === undefined ? {} : { env: server.env }) }
        : { url: server.url, ...(server.headers === undefined ? {} : { http_headers: server.headers }) },
    ]),
  );
}
