import { type Log, reasonOf, type StoreHints } from "@svc/sdk";
import type { Client } from "pg";
import type { Node } from "./node.ts";
import type { Server } from "./server.ts";

/** At most so many are told in a second: a NOTIFY is a commit, and the server hands them out one after the other. */
const EVERY_MS = 20;
/** A hint to itself that has not come back so long after it was sent is not heard: a pooler in between shares the connection out. */
const ECHO_MS = 5_000;
const [AGAIN_MS, MOST_MS] = [1_000, 60_000];
/** Interval after which an idle connection proves that it still receives. */
const PROOF_MS = 30_000;

/** Options of the connection for hints, which is separate from the others. */
export interface HintsOptions {
  readonly url: string;
  readonly schema: string;
  readonly server: Server;
  readonly node: Node;
  readonly log?: Pick<Log, "info" | "warn" | "debug">;
}

/**
 * Daemons of a schema wake each other with NOTIFY. Nothing stands on it: it is told apart from what it is about, after that was committed, and
 * who hears nothing looks by itself as often as without.
 */
export class Hints implements StoreHints {
  readonly #options: HintsOptions;
  readonly #channel: string;
  readonly #listeners = new Set<() => void>();
  #client: Client | undefined;
  #timer: NodeJS.Timeout | undefined;
  #echo: NodeJS.Timeout | undefined;
  #pause = AGAIN_MS;
  #telling = false;
  #again = false;
  /** The last hint to itself has come back. */
  #proven = false;
  #unheard = false;
  #closed = false;

  constructor(options: HintsOptions) {
    this.#options = options;
    this.#channel = `svc ${options.schema}`;
    void this.#connect();
  }

  get others(): boolean {
    return !this.#closed && this.#options.node.company;
  }

  tell(): void {
    if (!this.others) return;
    this.#again = true;
    if (!this.#telling) void this.#tell();
  }

  hear(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#end();
  }

  async #tell(): Promise<void> {
    this.#telling = true;
    try {
      while (this.#again && !this.#closed) {
        this.#again = false;
        await this.#notify("hint").catch((error) =>
          this.#options.log?.debug({ reason: reasonOf(error) }, "the other daemons were not woken; they look by themselves"),
        );
        await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
      }
    } finally {
      this.#telling = false;
    }
  }

  async #notify(why: "hint" | "echo"): Promise<void> {
    await this.#options.server.query("SELECT pg_notify($1, $2)", [this.#channel, `${why} ${this.#options.node.boot}`]);
  }

  async #connect(): Promise<void> {
    if (this.#closed) return;
    const { url, log } = this.#options;
    const { default: pg } = await import("pg");
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000, keepAlive: true, application_name: "svc hints" });
    client.on("error", (error) => this.#lost(client, error.message));
    client.on("end", () => this.#lost(client, "the connection has ended"));
    client.on("notification", ({ payload }) => this.#heard(client, payload));
    try {
      this.#client = client;
      await client.connect();
      await client.query(`LISTEN "${this.#channel.replaceAll('"', '""')}"`);
      // The connection keeps no process alive, even if its end is never answered.
      (client as Client & { unref(): void }).unref();
      if (this.#closed) return this.#end();
      await this.#prove(client);
    } catch (error) {
      log?.debug({ reason: reasonOf(error) }, "no connection for hints of the other daemons; tried again");
      this.#lost(client, reasonOf(error));
    }
  }

  /** Asks for a hint of its own, which shows that it hears. */
  async #prove(client: Client): Promise<void> {
    this.#proven = false;
    await this.#notify("echo");
    if (this.#proven || client !== this.#client) return;
    this.#echo = setTimeout(() => this.#deaf(client), ECHO_MS);
    this.#echo.unref();
  }

  #heard(client: Client, payload: string | undefined): void {
    if (client !== this.#client) return;
    const [why, from] = (payload ?? "").split(" ");
    if (from !== String(this.#options.node.boot)) {
      if (why === "hint") for (const listener of this.#listeners) listener();
      return;
    }
    this.#proven = true;
    clearTimeout(this.#echo);
    if (this.#unheard) this.#options.log?.info({}, "the other daemons of the schema are heard at once again");
    this.#unheard = false;
    this.#pause = AGAIN_MS;
    // Not after each hint of its own: of many that are under way the first one proves it.
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#prove(client).catch((error) => this.#lost(client, reasonOf(error))), PROOF_MS);
    this.#timer.unref();
  }

  #deaf(client: Client): void {
    if (!this.#unheard)
      this.#options.log?.warn(
        { database: this.#options.server.database },
        "hints of the other daemons do not come through (a pooler in transaction mode has no LISTEN): what they leave to this one is seen within about a second; set store.listenUrl to the address of the server itself",
      );
    this.#unheard = true;
    this.#lost(client, "a hint to itself was not heard");
  }

  #lost(client: Client, reason: string): void {
    if (client !== this.#client || this.#closed) return;
    this.#options.log?.debug({ reason }, "the connection for hints was lost; it is opened again");
    this.#end();
    this.#timer = setTimeout(() => void this.#connect(), this.#pause);
    this.#timer.unref();
    this.#pause = Math.min(MOST_MS, this.#pause * 2);
  }

  #end(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#echo);
    const client = this.#client;
    this.#client = undefined;
    client?.end().catch(() => {});
  }
}
