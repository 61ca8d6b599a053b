import { addressOf, type Cli, DEFAULT_BIND } from "../cli.ts";
import { fail } from "../errors.ts";
import { stranger } from "../own-daemon.ts";

const REASONS: Readonly<Record<string, readonly [reason: string, next: string]>> = {
  EADDRNOTAVAIL: ["this machine does not have that address", `svc config set node.bind ${DEFAULT_BIND}`],
  EACCES: ["this user may not open that port", `svc config set node.bind ${DEFAULT_BIND}`],
  ENOTFOUND: ["that name has no address", `svc config set node.bind ${DEFAULT_BIND}`],
};

/** The error of a start whose port cannot be opened, with the process that holds it and the next step; any other error unchanged. */
export async function explainStart(cli: Cli, error: unknown, bind: string): Promise<unknown> {
  const { code = "", syscall } = (error ?? {}) as NodeJS.ErrnoException;
  if (syscall !== "listen" && syscall !== "getaddrinfo") return error;
  if (code === "EADDRINUSE") return stranger({ ...cli, address: () => addressOf(bind) });
  return explainBind(code, bind) ?? error;
}

/** Why an address cannot be listened on, by the system's code; undefined for one that says nothing to people. */
export function explainBind(code: string, bind: string): Error | undefined {
  const [reason, next] = REASONS[code] ?? [];
  return reason === undefined ? undefined : fail("SVC_CLI_BIND", { bind, reason, next });
}
