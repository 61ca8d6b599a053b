import type { Log } from "@svc/sdk";
import type { Pool, PoolClient } from "pg";
import { fail } from "./errors.ts";

/** Options of the connection to the server. */
export interface ServerOptions {
  /** `postgres://user:password@host:port/database?...` */
  readonly url: string;
  /** The schema that holds the state. */
  readonly schema: string;
  /** Connections at most. */
  readonly poolSize: number;
}

const CONNECT_MS = 5_000;
/** After how long a connection that does not answer is given up; what it was asked may still be done. */
const ANSWER_MS = 15_000;
/** The same for a migration, and for the copy of a whole store. */
const LONG_MS = 12 * 3_600_000;

/** Connections to the server. One statement is one transaction, and no state of a session is used: a pooler in between may share them out. */
export class Server {
  /** Server and database, without user and password. */
  readonly database: string;
  /** The schema's name as it stands in statements. */
  readonly schema: string;
  readonly #pool: Pool;

  private constructor(pool: Pool, options: ServerOptions) {
    this.#pool = pool;
    this.database = databaseName(options);
    this.schema = quoted(options.schema);
  }

  /** Makes the pool, which connects when it is first asked. Throws `SVC_STORE_REFUSED` for a text that is no address. */
  static async create(options: ServerOptions, log?: Pick<Log, "debug">): Promise<Server> {
    databaseName(options);
    const { default: pg } = await import("pg");
    const pool = new pg.Pool({
      connectionString: options.url,
      max: options.poolSize,
      connectionTimeoutMillis: CONNECT_MS,
      idleTimeoutMillis: 60_000,
      keepAlive: true,
      application_name: "svc",
    });
    // For as long as a connection lives: the pool's own listener is away while one is handed over, and its end may come in the very packet that opens it.
    pool.on("connect", (client) => client.on("error", ignore));
    // An idle connection broke: the next query gets another one.
    pool.on("error", (error) => log?.debug({ reason: error.message }, "an idle connection to the database broke"));
    return new Server(pool, options);
  }

  /** Runs one statement; `{s}` in it is the schema. A server that does not answer within `ms` costs its connection. */
  async query<Row extends object>(sql: string, values: readonly unknown[] = [], ms = ANSWER_MS): Promise<readonly Row[]> {
    return await this.#with(ms, async (client) => {
      const { rows } = await client.query<Row>(sql.replaceAll("{s}", this.schema), [...values]);
      return rows;
    });
  }

  /** Runs statements in one transaction. */
  async transaction(work: (run: <Row extends object>(sql: string, values?: readonly unknown[]) => Promise<readonly Row[]>) => Promise<void>): Promise<void> {
    await this.#with(LONG_MS, async (client) => {
      await client.query("BEGIN");
      try {
        await work(async <Row extends object>(sql: string, values?: readonly unknown[]) => {
          const text = sql.replaceAll("{s}", this.schema);
          return (await (values === undefined ? client.query<Row>(text) : client.query<Row>(text, [...values]))).rows;
        });
        await client.query("COMMIT");
      } catch (error) {
        await client.query("ROLLBACK").catch(() => {});
        throw error;
      }
    });
  }

  /** Ends all connections. */
  async close(): Promise<void> {
    await this.#pool.end();
  }

  async #with<T>(ms: number, work: (client: PoolClient) => Promise<T>): Promise<T> {
    const client = await this.#pool.connect().catch((error: Error) => Promise.reject(Object.assign(error, { unsent: true })));
    let given: Error | undefined;
    const timer = setTimeout(() => {
      given = new Error(`it did not answer within ${ms / 1000} s`);
      // Destroyed, not given back: its answer may still come.
      client.release(given);
    }, ms);
    try {
      return await work(client);
    } catch (error) {
      throw given ?? error;
    } finally {
      clearTimeout(timer);
      if (given === undefined) client.release();
    }
  }
}

/** The query that waits for an answer of a broken connection gets its error; no other handling is needed. */
function ignore(): void {}

/** `host:port/database (schema svc)`. Throws `SVC_STORE_REFUSED` for a text that is not the address of a server. */
function databaseName({ url, schema }: ServerOptions): string {
  let at: URL;
  try {
    at = new URL(url);
    if (!/^postgres(ql)?:$/.test(at.protocol)) throw new Error();
  } catch {
    throw fail("SVC_STORE_REFUSED", { database: "of store.url", reason: "it is no address such as postgres://svc@127.0.0.1:5432/svc" });
  }
  return `${at.host || "localhost"}${at.pathname} (schema ${schema})`;
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
