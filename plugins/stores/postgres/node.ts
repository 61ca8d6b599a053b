import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { Lease, NodeAbout } from "@svc/sdk";
import { fail } from "./errors.ts";
import type { Server } from "./server.ts";
import { isUndone } from "./server-error.ts";

/** Time for which a daemon counts as living after its last heartbeat. */
export const LEASE_MS = 7_000;
/** Interval of heartbeats, and the silence after which work under a lease stops. */
const BEAT_MS = 2_000;
const SILENT_MS = 5_000;
const LOOK_MS = 250;
/** Why leases end, and the store counts as away, when beats are not answered. */
export const SILENT = "the database was not heard of for too long";

/** Callbacks of a boot's heartbeats. */
export interface NodeListeners {
  /** Another daemon declared it dead: it writes nothing more. */
  readonly dead: () => void;
  /** An operator asks it to end; told at each beat. */
  readonly drain: () => void;
}

/** A daemon that begins to use the schema. */
export interface Begun {
  /** Id of its data folder. */
  readonly folder: string;
  /** Its `node.id`, which no other living daemon of the schema may have. */
  readonly name?: string;
  /** It does not wait for other daemons. */
  readonly shared?: boolean;
}

interface Held {
  readonly token: string;
  readonly abort: AbortController;
}

/** This boot of the daemon, as the schema knows it: alive while it sends heartbeats. */
export class Node {
  readonly boot: number;
  readonly #server: Server;
  readonly #beats: Server;
  readonly #told: NodeListeners;
  readonly #held = new Map<string, Held>();
  /** Tokens of leases that may still stand in the schema and that nobody here has: others would wait for them as long as this daemon lives. */
  readonly #owed = new Set<string>();
  readonly #timer: NodeJS.Timeout;
  /** When the last beat that was answered was sent, by the clock that runs evenly and by the wall's: a suspended machine stops the first. */
  #beaten = { even: performance.now(), wall: Date.now() };
  #silence: NodeJS.Timeout | undefined;
  #beating = false;
  /** From when on it may declare others dead, by the clock that runs evenly. */
  #judgesFrom = 0;
  /** The server's time, as the last beat heard it, and when that was by the clock that runs evenly. */
  #heard: { readonly at: number; readonly even: number } | undefined;
  #ended = false;
  #about: (() => NodeAbout) | undefined;
  /** The description that the schema has. */
  #aboutTold = "";
  /** It has said so itself: nobody has to ask it to. */
  #leaving = false;
  /** Another daemon lives on the schema, as the last beat heard it. */
  company = false;

  private constructor(server: Server, beats: Server, boot: number, told: NodeListeners) {
    this.#server = server;
    this.#beats = beats;
    this.boot = boot;
    this.#told = told;
    this.#timer = setInterval(() => void this.beat(), BEAT_MS);
    this.#timer.unref();
    this.#listen();
  }

  /**
   * Enters this boot of the daemon with that data folder: earlier boots of the folder are dead, which its lock proves. Waits for the lease of
   * a daemon of the same name with another folder to run out; without a name, for those of all others. Throws `SVC_STORE_BUSY` when it does not.
   */
  static async begin(server: Server, beats: Server, { folder, name, shared = false }: Begun, told: NodeListeners): Promise<Node> {
    const values = [folder, name ?? null, hostname(), process.pid, LEASE_MS];
    const [begun] = await server.query<{ boot: number }>("SELECT {s}.begin_boot($1, $2, $3, $4, $5)::float8 AS boot", values);
    const boot = begun?.boot as number;
    const node = new Node(server, beats, boot, told);
    if (shared) return node;
    const until = performance.now() + LEASE_MS + 1_000;
    // A daemon whose lease has expired is dead from here on: one that was only suspended must not continue beside this one.
    const late = "UPDATE {s}.node SET alive = false WHERE alive AND boot < $1 AND lease_until < clock_timestamp() AND {s}.is_up_long_enough($2)";
    // Of two that begin at once, the first one has it.
    const others = `SELECT coalesce(name, folder) AS name, host FROM {s}.node WHERE alive AND boot < $1
      AND ($2::text IS NULL OR name IS NULL OR name = $2) ORDER BY boot LIMIT 1`;
    for (;;) {
      await server.query(late, [boot, LEASE_MS]);
      const [other] = await server.query<{ name: string; host: string }>(others, [boot, name ?? null]);
      if (other === undefined) return node;
      if (performance.now() > until) {
        await node.end();
        throw fail("SVC_STORE_BUSY", { database: server.database, other: `node ${other.name} on ${other.host}` });
      }
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  }

  /** As `Store.lease`, by a name that no other owner uses. It ends with the daemon's own lease, whatever `ms` was asked for. */
  async lease(name: string): Promise<Lease> {
    const token = randomUUID();
    const values = [this.boot, name, token, this.judges];
    const ask = this.#server.query<{ held: boolean; holder: string | null }>("SELECT * FROM {s}.ask_lease($1, $2, $3, $4)", values);
    const [asked] = await ask.catch((error) => {
      // It may be granted, and nobody here knows.
      if (!isUndone(error)) this.#owed.add(token);
      throw error;
    });
    const abort = new AbortController();
    // A daemon that was silent for too long may be declared dead at any moment.
    const held = asked?.held === true && !this.silent;
    const holder = held ? undefined : (asked?.holder ?? undefined);
    if (held) {
      this.#held.get(name)?.abort.abort(new Error("the lease was asked for again"));
      this.#held.set(name, { token, abort });
    } else {
      if (asked?.held === true) this.#owed.add(token);
      abort.abort(new Error("another daemon has the lease"));
    }
    let given = !held;
    return {
      held,
      ...(holder === undefined ? {} : { holder }),
      signal: abort.signal,
      release: async () => {
        const latest = this.#held.get(name);
        // One that was asked for again has another token; of one that ended by silence the row is still there.
        if (given || (latest !== undefined && latest.token !== token)) return;
        given = true;
        abort.abort(new Error("the lease was given back"));
        this.#held.delete(name);
        this.#owed.add(token);
        await this.#giveBack();
      },
    };
  }

  async #giveBack(): Promise<void> {
    const tokens = [...this.#owed];
    await this.#server.query("DELETE FROM {s}.lease WHERE token = ANY ($1)", [tokens]);
    for (const token of tokens) this.#owed.delete(token);
  }

  /** Declares that this daemon ends: it claims no lane from now on, and no other daemon leaves one to it. */
  async leave(): Promise<void> {
    this.#leaving = true;
    const sql = `UPDATE {s}.node SET draining = true, about = coalesce(about, '{}') || '{"leaving": true}' WHERE boot = $1`;
    await this.#server.query(sql, [this.boot], BEAT_MS);
  }

  /** Releases all leases and declares itself dead: no other daemon has to wait for its lease to expire. */
  async end(): Promise<void> {
    this.#ended = true;
    this.#stop("the store was closed");
    await this.#server.query("UPDATE {s}.node SET alive = false WHERE boot = $1", [this.boot], BEAT_MS);
  }

  /** Says that it lives, and hears the server's time. The first one is asked for, the others come by themselves. */
  async beat(): Promise<void> {
    if (this.silent) this.#lose(SILENT);
    if (this.#beating) return;
    this.#beating = true;
    const sent = { even: performance.now(), wall: Date.now() };
    try {
      const about = this.#aboutNow();
      const skew = this.#heard && Date.now() - this.time();
      const [answer] = await this.#beats.query<{ lives: boolean | null; drains: boolean | null; now: number; company: boolean }>(
        "SELECT b.*, EXISTS (SELECT 1 FROM {s}.node n WHERE n.alive AND n.boot <> $1) AS company FROM {s}.beat($1, $2, $3, $4) AS b",
        [this.boot, LEASE_MS, skew, about === this.#aboutTold ? null : about],
        SILENT_MS,
      );
      this.#aboutTold = about;
      // Its clock was read half a round trip ago, about.
      const even = performance.now();
      this.company = answer?.company === true;
      if (answer !== undefined) this.#heard = { at: answer.now + (even - sent.even) / 2, even };
      // A beat that was under way at the end finds the boot dead, as it is to be.
      if (this.#ended) return;
      if (answer?.drains === true && !this.#leaving) this.#told.drain();
      if (answer?.lives !== true) {
        this.#stop("another daemon took over");
        this.#told.dead();
      } else {
        // Others may not have reached the server either: they get the time for a beat.
        if (sent.even - this.#beaten.even > SILENT_MS) this.#judgesFrom = even + LEASE_MS;
        this.#beaten = sent;
        this.#listen();
        if (this.#owed.size > 0) this.#giveBack().catch(() => {});
      }
    } catch {
      // The next beat tells.
    } finally {
      this.#beating = false;
    }
  }

  /** Sets the description for the other daemons. */
  tell(about: () => NodeAbout): void {
    this.#about = about;
    void this.beat();
  }

  /** Unix milliseconds by the server's clock, on which all its daemons agree; by the own clock until the first beat is answered. */
  time(): number {
    return this.#heard === undefined ? Date.now() : this.#heard.at + performance.now() - this.#heard.even;
  }

  /** Whether a daemon whose lease has run out is dead: not if the server itself was away, or the way to it, just now. */
  get judges(): boolean {
    return !this.silent && performance.now() >= this.#judgesFrom;
  }

  /** Another daemon may be given what this one has from 7 s after that beat on: it stops 2 s earlier. */
  get silent(): boolean {
    return Math.max(performance.now() - this.#beaten.even, Date.now() - this.#beaten.wall) >= SILENT_MS;
  }

  /** A daemon that cannot say how it is lives all the same. */
  #aboutNow(): string {
    try {
      const about = this.#about?.();
      // Beside `draining`, which an operator sets and takes back: this daemon does not come back from it.
      return JSON.stringify(this.#leaving ? { ...about, leaving: true } : about) ?? "";
    } catch {
      return this.#aboutTold;
    }
  }

  #listen(): void {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => this.#lose(SILENT), SILENT_MS - (performance.now() - this.#beaten.even));
    this.#silence.unref();
  }

  #stop(reason: string): void {
    clearInterval(this.#timer);
    clearTimeout(this.#silence);
    this.#lose(reason);
  }

  #lose(reason: string): void {
    for (const { abort } of this.#held.values()) abort.abort(new Error(reason));
    this.#held.clear();
  }
}
