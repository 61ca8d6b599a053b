import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { CommandServer, ScopeTable, ServingCommand } from "@svc/sdk";
import type { RootLog } from "../base/log.ts";
import { createHttpServer } from "./index.ts";
import { LOCAL_FILE, sameSecret } from "./local-secret.ts";
import { GRACE_MS, portRefused } from "./plugin-servers.ts";

/** Dependencies of a server without a kernel. */
export interface StandaloneDeps {
  /** The section `node` of svc.json, expanded. */
  readonly node: { readonly hosts?: readonly string[]; readonly trustedProxies?: readonly string[]; readonly localSecret?: boolean };
  readonly dataFolder: string;
  /** Token scopes. */
  readonly scopes: ScopeTable;
  readonly log: RootLog;
}

const NONE: readonly string[] = [];

/** Opens a server of a program other than the daemon. Throws `SVC_SERVER_PORT`, and `SVC_HTTP_ROUTE` for a route that cannot be served. */
export async function openStandalone(
  { host = "127.0.0.1", port = 0, routes, authorities = [], localScopes = NONE }: CommandServer,
  { node, dataFolder, scopes, log }: StandaloneDeps,
): Promise<ServingCommand> {
  const owned = routes.map((route) => ({ ...route, owner: "command" }));
  const hosts = [host, ...(node.hosts ?? NONE)];
  const trustedProxies = node.trustedProxies ?? NONE;
  const server = createHttpServer({
    name: "daemon",
    routes: () => owned,
    authorities: () => authorities,
    scopes,
    // The processes of isolated plugins belong to the daemon, and have no network of this machine where it can withhold it.
    isIsolated: () => false,
    isChild: async () => false,
    localScopes: () => localScopes,
    hosts: () => hosts,
    trustedProxies: () => trustedProxies,
    ...(node.localSecret === true ? { localProof: (given: unknown) => sameSecret(given, ownSecret(dataFolder)) } : {}),
    log,
  });
  for (const route of owned) server.requireServable(route);
  try {
    const address = await server.listen({ host, port });
    return { ...address, close: () => server.close({ graceMs: GRACE_MS }) };
  } catch (error) {
    throw portRefused("of this command", { host, port }, error);
  }
}

/** Reads the secret that the daemon wrote at its start; without one no caller has the rights of this machine. */
function ownSecret(dataFolder: string): string | undefined {
  try {
    return readFileSync(join(dataFolder, LOCAL_FILE), "utf8");
  } catch {
    return undefined;
  }
}
