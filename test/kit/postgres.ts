import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { appendFileSync, chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "./free-port.ts";

const PROGRAMS = "/usr/lib/postgresql";
/** The programs of another server to test with, `initdb` and `postgres` at least. Their user must be able to read them. */
const CHOSEN = process.env.SVC_TEST_POSTGRES_BIN;
for (const name of CHOSEN === undefined ? [] : ["initdb", "postgres"])
  if (!existsSync(join(CHOSEN as string, name))) throw new Error(`SVC_TEST_POSTGRES_BIN: there is no ${name} in ${CHOSEN}`);

/** Where Debian keeps the programs of its newest PostgreSQL. */
function debian(): string | undefined {
  if (!existsSync(PROGRAMS)) return undefined;
  const versions = readdirSync(PROGRAMS).filter((version) => existsSync(join(PROGRAMS, version, "bin/initdb")));
  const newest = versions.sort((a, b) => Number(b) - Number(a))[0];
  return newest === undefined ? undefined : join(PROGRAMS, newest, "bin");
}

/** Where a program of PostgreSQL lies: the chosen server's own where it has it, else Debian's. Throws where none is installed. */
export function serverProgram(name: string): string {
  const found = [CHOSEN, debian()].find((folder) => folder !== undefined && existsSync(join(folder, name)));
  if (found === undefined) throw new Error(NO_POSTGRES ?? `no PostgreSQL here has the program ${name}`);
  return join(found, name);
}

/** Why there is no server to test with; undefined where there is one. psql is Debian's, whichever server is chosen. */
export const NO_POSTGRES = debian() === undefined ? "no PostgreSQL server is installed (on Debian: apt-get install postgresql)" : undefined;

/** A server of the tests' own on loopback. */
export interface TestServer {
  readonly port: number;
  /** The address of a schema that nobody else uses. */
  schema(): { readonly url: string; readonly schema: string };
  /** Runs a statement and answers what psql prints. */
  sql(text: string): string;
  /** Ends the server at once, as a crash would, and starts it again. */
  crash(): Promise<void>;
  /** Ends it at once and leaves it so. */
  down(): Promise<void>;
  /** Kills each of its processes with SIGKILL, as the loss of its machine would. */
  kill(): Promise<void>;
  up(): Promise<void>;
  /** A second server that follows this one, which from now on acknowledges nothing that the second one has not written to its disk. */
  standby(): Promise<TestStandby>;
  stop(): Promise<void>;
}

/** A server that repeats what another one writes. */
export interface TestStandby {
  readonly port: number;
  /** Makes it the one that is written to. */
  promote(): Promise<void>;
  sql(text: string): string;
  stop(): Promise<void>;
}

/**
 * Makes a cluster in a temporary folder and starts it. A server refuses to run as root: then it runs as Debian's user of it.
 * It does not wait for its disk: what it has written outlives each of its processes, and no test takes the power away. `durable`: it
 * waits, as one in production does, for who measures how long things take.
 */
export async function startPostgres(connections = 60, { durable = false } = {}): Promise<TestServer> {
  const [initdb, postgres, psql] = [serverProgram("initdb"), serverProgram("postgres"), serverProgram("psql")];
  const folder = mkdtempSync(join(tmpdir(), "svc-postgres-"));
  const data = join(folder, "data");
  mkdirSync(data);
  const user = process.getuid?.() === 0 ? { uid: idOf("-u"), gid: idOf("-g") } : {};
  if (user.uid !== undefined) for (const path of [folder, data]) chownSync(path, user.uid, user.gid as number);
  execFileSync(initdb, ["-D", data, "-U", "svc", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"], { ...user, cwd: folder, stdio: "pipe" });
  const port = await freePort();
  let server: ChildProcess | undefined;

  const sqlOn = (at: number) => (text: string) =>
    execFileSync(psql, ["-h", "127.0.0.1", "-p", String(at), "-U", "svc", "-d", "postgres", "-AtXq", "-c", text], {
      encoding: "utf8",
      stdio: "pipe",
      env: { ...process.env, PGCONNECT_TIMEOUT: "10" },
    }).trim();
  const sql = sqlOn(port);

  async function run(from: string, at: number): Promise<ChildProcess> {
    const options = ["-D", from, "-p", String(at), "-h", "127.0.0.1", "-k", folder, "-c", "shared_buffers=32MB", "-c", `max_connections=${connections}`];
    if (!durable) options.push("-c", "fsync=off");
    const started = spawn(postgres, options, { ...user, cwd: folder, stdio: "ignore" });
    for (let tries = 0; ; tries += 1) {
      try {
        sqlOn(at)("SELECT 1");
        return started;
      } catch (error) {
        if (tries > 300 || started.exitCode !== null) throw error;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
  }

  const runs = () => server !== undefined && server.exitCode === null && server.signalCode === null;
  async function up(): Promise<void> {
    if (!runs()) server = await run(data, port);
  }
  const down = () => (server === undefined ? Promise.resolve() : quit(server));
  let killed = false;
  async function kill(): Promise<void> {
    if (server?.pid === undefined) return;
    const ended = new Promise((resolve) => server?.once("exit", resolve));
    // Stopped first: it starts no further process meanwhile.
    server.kill("SIGSTOP");
    for (const child of readFileSync(`/proc/${server.pid}/task/${server.pid}/children`, "utf8").split(" ").filter(Boolean)) killProcess(Number(child));
    server.kill("SIGKILL");
    await ended;
    killed = true;
  }

  async function standby(): Promise<TestStandby> {
    const copy = join(folder, "standby");
    const at = await freePort();
    // Its files while it is down are a copy that each version can make: pg_basebackup refuses servers newer than itself.
    await down();
    execFileSync("cp", ["-a", data, copy]);
    await up();
    writeFileSync(join(copy, "standby.signal"), "");
    appendFileSync(join(copy, "postgresql.auto.conf"), `primary_conninfo = 'host=127.0.0.1 port=${port} user=svc application_name=standby'\n`);
    const second = await run(copy, at);
    sql("ALTER SYSTEM SET synchronous_standby_names = 'standby'");
    sql("SELECT pg_reload_conf()");
    for (let tries = 0; sql("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") !== "1"; tries += 1) {
      if (tries > 300) throw new Error("the standby does not follow");
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return {
      port: at,
      sql: sqlOn(at),
      async promote() {
        // What it copied asks for a standby of its own, which it has not.
        sqlOn(at)("ALTER SYSTEM RESET synchronous_standby_names");
        sqlOn(at)("SELECT pg_reload_conf()");
        // Not waited for in the statement: its snapshot would stand in the way of what is still to be replayed.
        sqlOn(at)("SELECT pg_promote(false)");
        for (let tries = 0; sqlOn(at)("SELECT pg_is_in_recovery()") !== "f"; tries += 1) {
          if (tries > 600) throw new Error("the standby is not promoted");
          await new Promise((resolve) => setTimeout(resolve, 100));
        }
      },
      stop: () => quit(second),
    };
  }

  await up();
  return {
    port,
    schema: () => ({ url: `postgres://svc@127.0.0.1:${port}/postgres`, schema: `t_${randomBytes(6).toString("hex")}` }),
    sql,
    down,
    kill,
    up,
    standby,
    async crash() {
      await down();
      await up();
    },
    async stop() {
      // What a killed one has left in shared memory goes with its next start.
      if (killed) await up();
      await down();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** SIGQUIT ends a server without a checkpoint; the next start recovers from the log. */
async function quit(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  await new Promise<void>((resolve) => {
    server.once("exit", () => resolve());
    server.kill("SIGQUIT");
  });
}

function killProcess(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended meanwhile.
  }
}

function idOf(flag: "-u" | "-g"): number {
  return Number(execFileSync("id", [flag, "postgres"], { encoding: "utf8" }));
}
