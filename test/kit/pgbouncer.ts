import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "./free-port.ts";

const PROGRAM = "/usr/sbin/pgbouncer";

/** Why there is no pgbouncer to test with; undefined where there is one. */
export const NO_PGBOUNCER = existsSync(PROGRAM) ? undefined : "pgbouncer is not installed (on Debian: apt-get install pgbouncer)";

/** A pgbouncer before a server on this machine that asks for no password. */
export interface TestPooler {
  readonly port: number;
  stop(): Promise<void>;
}

/** Starts one in transaction mode, with fewer connections to the server than it takes from daemons. */
export async function startPgbouncer(serverPort: number, size: number): Promise<TestPooler> {
  const folder = mkdtempSync(join(tmpdir(), "svc-pgbouncer-"));
  const port = await freePort();
  const ini = `[databases]
* = host=127.0.0.1 port=${serverPort}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${folder}/users
pool_mode = transaction
default_pool_size = ${size}
max_client_conn = 100
server_reset_query =
`;
  writeFileSync(join(folder, "pgbouncer.ini"), ini);
  writeFileSync(join(folder, "users"), '"svc" ""\n');
  const user = process.getuid?.() === 0 ? { uid: idOf("-u"), gid: idOf("-g") } : {};
  if (user.uid !== undefined) for (const path of ["", "pgbouncer.ini", "users"]) chownSync(join(folder, path), user.uid, user.gid as number);
  const child: ChildProcess = spawn(PROGRAM, ["-q", join(folder, "pgbouncer.ini")], { ...user, cwd: folder, stdio: "ignore" });
  for (let tries = 0; !(await listens(port)); tries += 1) {
    if (tries > 300 || child.exitCode !== null) throw new Error("pgbouncer did not start");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return {
    port,
    async stop() {
      if (child.exitCode === null)
        await new Promise<void>((resolve) => {
          child.once("exit", () => resolve());
          child.kill("SIGINT");
          setTimeout(() => child.kill("SIGKILL"), 3_000).unref();
        });
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function idOf(flag: "-u" | "-g"): number {
  return Number(execFileSync("id", [flag, "postgres"], { encoding: "utf8" }));
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
