/* A server that a command opens: the HTTP room without a kernel. */

import { dirname } from "node:path";
import { type CommandServer, codeOf, type ScopeTable, type ServingCommand } from "@svc/sdk";
import { isRecord } from "./base/config-path.ts";
import { loadEnvironment } from "./base/config-text/environment.ts";
import { createLog } from "./base/log.ts";
import { openDocument } from "./core/config/document.ts";

/** Location of the svc.json whose `node` says by which names the server is reached. */
export interface CommandPlace {
  readonly file: string;
  readonly dataFolder: string;
  /** Token scopes. */
  readonly scopes: ScopeTable;
}

/** Opens a server in a program that is not a daemon, as `CliHost.serve` does. Errors of a route go to standard error. */
export async function serveCommand(server: CommandServer, { file, dataFolder, scopes }: CommandPlace): Promise<ServingCommand> {
  const { openStandalone } = await import("./http/standalone-server.ts");
  const log = createLog({ destination: "stderr", level: "warn", pretty: true, secrets: () => [] });
  return openStandalone(server, { node: nodeOf(file), dataFolder, scopes, log });
}

/** Empty without a svc.json; an unreadable one throws, because it may contain restrictions. */
function nodeOf(file: string): Readonly<Record<string, unknown>> {
  try {
    const { node } = openDocument({ file }, loadEnvironment(dirname(file), process.env)).expanded;
    return isRecord(node) ? node : {};
  } catch (error) {
    if (codeOf(error) === "SVC_CONFIG_MISSING") return {};
    throw error;
  }
}
