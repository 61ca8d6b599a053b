import { readFileSync } from "node:fs";
import type { Cli } from "../cli.ts";
import { explainBind } from "../daemon/start-failure.ts";
import { stranger } from "../own-daemon.ts";
import { whyNotFree } from "../whose.ts";
import { error, type Finding, ok, warning } from "./finding.ts";

/** With the daemon down: could a start open its port? */
export async function checkPort(cli: Cli): Promise<Finding[]> {
  const { lockHolder } = await import("@svc/kernel/folder");
  const holder = lockHolder(cli.dataFolder);
  if (holder !== undefined)
    return [error(`a daemon (pid ${holder.pid}) holds this folder and does not answer; look at svc daemon logs, or end it with: kill ${holder.pid}`)];
  // Where it would listen is not known yet; what is wrong with svc.json is said already.
  if (!isRead(cli.file)) return [];
  const at = cli.configured();
  const { host, port } = at;
  const code = await whyNotFree(at);
  const down = warning("the daemon is not running; start it with: svc daemon start");
  if (code === undefined) return [down, ok(port === 0 ? "it takes a free port at each start" : `port ${port} is free`)];
  if (code === "EADDRINUSE") return [error((await stranger({ ...cli, address: () => at })).message)];
  return [
    error(explainBind(code, `${host}:${port}`)?.message ?? `the daemon cannot listen on ${host}:${port}: ${code}; set node.bind to an address that it can`),
  ];
}

function isRead(file: string): boolean {
  try {
    JSON.parse(readFileSync(file, "utf8").replace(/^\uFEFF/, ""));
    return true;
  } catch {
    return false;
  }
}
