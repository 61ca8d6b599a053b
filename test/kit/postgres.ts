import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const PROGRAMS = "/usr/lib/postgresql";

/** Where the programs of a PostgreSQL server lie: the newest of Debian's. */
function programs(): string | undefined {
  if (!existsSync(PROGRAMS)) return undefined;
  const versions = readdirSync(PROGRAMS).filter((version) => existsSync(join(PROGRAMS, version, "bin/initdb")));
  const newest = versions.sort((a, b) => Number(b) - Number(a))[0];
  return newest === undefined ? undefined : join(PROGRAMS, newest, "bin");
}

/** Why there is no server to test with; undefined where there is one. */
export const NO_POSTGRES = programs() === undefined ? "no PostgreSQL server is installed (on Debian: apt-get install postgresql)" : undefined;

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
  up(): Promise<void>;
  stop(): Promise<void>;
}

/** Makes a cluster in a temporary folder and starts it. A server refuses to run as root: then it runs as Debian's user of it. */
export async function startPostgres(): Promise<TestServer> {
  const bin = programs();
  if (bin === undefined) throw new Error(NO_POSTGRES);
  const folder = mkdtempSync(join(tmpdir(), "svc-postgres-"));
  const data = join(folder, "data");
  mkdirSync(data);
  const user = process.getuid?.() === 0 ? { uid: idOf("-u"), gid: idOf("-g") } : {};
  if (user.uid !== undefined) for (const path of [folder, data]) chownSync(path, user.uid, user.gid as number);
  execFileSync(join(bin, "initdb"), ["-D", data, "-U", "svc", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8"], { ...user, cwd: folder, stdio: "pipe" });
  const port = await freePort();
  let server: ChildProcess | undefined;

  const sql = (text: string) =>
    execFileSync(join(bin, "psql"), ["-h", "127.0.0.1", "-p", String(port), "-U", "svc", "-d", "postgres", "-AtXq", "-c", text], {
      encoding: "utf8",
      stdio: "pipe",
    }).trim();

  async function up(): Promise<void> {
    const options = ["-D", data, "-p", String(port), "-h", "127.0.0.1", "-k", folder, "-c", "shared_buffers=32MB", "-c", "max_connections=60"];
    server = spawn(join(bin as string, "postgres"), options, { ...user, cwd: folder, stdio: "ignore" });
    for (let tries = 0; ; tries += 1) {
      try {
        sql("SELECT 1");
        return;
      } catch (error) {
        if (tries > 300 || server.exitCode !== null) throw error;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
  }

  /** SIGQUIT ends it without a checkpoint; the next start recovers from the log. */
  async function down(): Promise<void> {
    const ended = server;
    if (ended === undefined || ended.exitCode !== null) return;
    await new Promise<void>((resolve) => {
      ended.once("exit", () => resolve());
      ended.kill("SIGQUIT");
    });
  }

  await up();
  return {
    port,
    schema: () => ({ url: `postgres://svc@127.0.0.1:${port}/postgres`, schema: `t_${randomBytes(6).toString("hex")}` }),
    sql,
    down,
    up,
    async crash() {
      await down();
      await up();
    },
    async stop() {
      await down();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function idOf(flag: "-u" | "-g"): number {
  return Number(execFileSync("id", [flag, "postgres"], { encoding: "utf8" }));
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => (typeof address === "object" && address !== null ? resolve(address.port) : reject(new Error("no port"))));
    });
  });
}
