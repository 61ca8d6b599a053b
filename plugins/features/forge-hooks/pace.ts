import { channelError, codeOf, type ForgeLimits, sleep } from "@svc/sdk";
import type { Rows } from "./rows.ts";

/** Purpose of a call; earlier ones have priority. */
export type Urgency = "answer" | "first" | "eye" | "edit";

const ORDER: readonly Urgency[] = ["answer", "first", "eye", "edit"];
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
/** Of an hour's calls so many are left to answers. */
const KEPT_FOR_ANSWERS = 0.2;
/** Forges that take this many a minute need no pause between two calls. */
const UNHURRIED_PER_MINUTE = 120;
const PAUSE_MS = 1_000;
/** A call that would wait longer is refused with the retry delay. */
const PATIENCE_MS = 20_000;
/** A forge that says "later" without a time: doubled with each answer in a row. */
const FIRST_REST_MS = 60_000;
const LONGEST_REST_MS = 900_000;

interface Waiter {
  readonly urgency: Urgency;
  go(): void;
  refuse(error: Error): void;
}

interface Token {
  /** When its calls of the last hour were made, here and on other daemons. */
  times: readonly number[];
  /** Those made here that the row does not have yet. */
  fresh: number[];
  restUntil: number;
  refusals: number;
  readonly waiting: Waiter[];
  pumping: boolean;
  /** The last read or change of the row. */
  touching: Promise<void>;
  /** So many calls are counted. */
  most: number;
}

/**
 * Rate limit of one token at a forge: one call a second, its limits a minute and an hour, and requested pauses. Kept over restarts, in one row
 * that all daemons of the store share.
 */
export class Pace {
  readonly #rows: Pick<Rows, "paces">;
  readonly #tokens = new Map<string, Promise<Token>>();

  readonly #pauseMs: number;

  constructor(rows: Pick<Rows, "paces">, pauseMs: number = PAUSE_MS) {
    this.#rows = rows;
    this.#pauseMs = pauseMs;
  }

  /** Resolves when the call may be made, and counts it. Throws `retry` with the time to come back where that is more than 20 s away. */
  async take(name: string, limits: ForgeLimits, urgency: Urgency, signal: AbortSignal): Promise<void> {
    const token = await this.#token(name);
    if (token.waiting.length === 0) await this.#hear(name, token);
    const ms = this.#wait(token, limits, urgency);
    if (ms > PATIENCE_MS) throw later(name, ms);
    await new Promise<void>((resolve, reject) => {
      const waiter: Waiter = { urgency, go: resolve, refuse: reject };
      const gone = () => {
        const at = token.waiting.indexOf(waiter);
        if (at !== -1) token.waiting.splice(at, 1);
        reject(channelError("retry", "it was stopped before it was sent"));
      };
      if (signal.aborted) return gone();
      signal.addEventListener("abort", gone, { once: true });
      token.waiting.push(waiter);
      token.waiting.sort((left, right) => ORDER.indexOf(left.urgency) - ORDER.indexOf(right.urgency));
      void this.#pump(name, token, limits);
    });
  }

  /** The forge has refused: nothing is asked with this token for that time. */
  async rest(name: string, ms: number | undefined): Promise<void> {
    const token = await this.#token(name);
    const own = Math.min(FIRST_REST_MS * 2 ** token.refusals, LONGEST_REST_MS);
    token.refusals += 1;
    token.restUntil = latestRest(token.restUntil, Date.now() + Math.min(ms ?? own, HOUR_MS));
    await this.#save(name, token);
  }

  /** The forge has answered. */
  async passed(name: string): Promise<void> {
    (await this.#token(name)).refusals = 0;
  }

  async #pump(name: string, token: Token, limits: ForgeLimits): Promise<void> {
    if (token.pumping) return;
    token.pumping = true;
    try {
      for (let next = token.waiting[0]; next !== undefined; next = token.waiting[0]) {
        const ms = this.#wait(token, limits, next.urgency);
        if (ms > PATIENCE_MS) {
          token.waiting.shift();
          next.refuse(later(name, ms));
        } else if (ms > 0) await sleep(ms);
        else {
          token.waiting.shift();
          token.fresh.push(Date.now());
          // Not waited for: a crash forgets one call of hundreds, and each call would wait for the disk.
          this.#save(name, token).catch(() => {});
          next.go();
        }
      }
    } catch (error) {
      for (const waiter of token.waiting.splice(0)) waiter.refuse(error as Error);
    } finally {
      token.pumping = false;
    }
  }

  #wait(token: Token, { contentPerMinute, contentPerHour }: ForgeLimits, urgency: Urgency): number {
    const now = Date.now();
    // A clock that was set back must not stop everything.
    const times = [...token.times, ...token.fresh].filter((at) => at > now - HOUR_MS && at <= now).sort((left, right) => left - right);
    token.most = Math.max(contentPerHour ?? 0, contentPerMinute);
    const after = (count: number, spanMs: number) => (times.length < count ? 0 : (times.at(-count) as number) + spanMs - now);
    const rest = Math.max(0, latestRest(token.restUntil) - now);
    if (this.#pauseMs === 0) return rest;
    const hourly =
      contentPerHour === undefined ? 0 : after(urgency === "answer" ? contentPerHour : Math.ceil(contentPerHour * (1 - KEPT_FOR_ANSWERS)), HOUR_MS);
    const pause = contentPerMinute <= UNHURRIED_PER_MINUTE ? after(1, this.#pauseMs) : 0;
    return Math.max(rest, pause, after(contentPerMinute, MINUTE_MS), hourly);
  }

  #token(name: string): Promise<Token> {
    let token = this.#tokens.get(name);
    if (token === undefined) {
      token = this.#rows.paces.get(name).then((doc) => ({
        times: doc?.value.times ?? [],
        fresh: [],
        restUntil: doc?.value.restUntil ?? 0,
        refusals: 0,
        waiting: [],
        pumping: false,
        touching: Promise.resolve(),
        most: 0,
      }));
      token.catch(() => this.#tokens.delete(name));
      this.#tokens.set(name, token);
    }
    return token;
  }

  /** What other daemons have done with the token since; a store that does not answer says nothing new. */
  #hear(name: string, token: Token): Promise<void> {
    return this.#inTurn(token, async () => {
      const doc = await this.#rows.paces.get(name);
      if (doc === undefined) return;
      token.times = doc.value.times;
      token.restUntil = latestRest(token.restUntil, doc.value.restUntil);
    }).catch(() => {});
  }

  /** Adds what was done here to the row. What could not be added comes with the next. */
  #save(name: string, token: Token): Promise<void> {
    return this.#inTurn(token, async () => {
      for (;;) {
        const doc = await this.#rows.paces.get(name);
        const now = Date.now();
        const added = token.fresh.length;
        const times = [...(doc?.value.times ?? []), ...token.fresh].filter((at) => at > now - HOUR_MS).slice(-token.most);
        const restUntil = latestRest(token.restUntil, doc?.value.restUntil ?? 0);
        try {
          await this.#rows.paces.put(name, { times, restUntil, at: now }, doc?.version ?? "absent");
          Object.assign(token, { times, restUntil, fresh: token.fresh.slice(added) });
          return;
        } catch (error) {
          if (codeOf(error) !== "SVC_STORE_CONFLICT") throw error;
        }
      }
    });
  }

  /** A row that was read before this daemon's last change of it must not be taken for the newer one. */
  #inTurn(token: Token, touch: () => Promise<void>): Promise<void> {
    const touched = token.touching.then(touch);
    token.touching = touched.catch(() => {});
    return touched;
  }
}

/** The latest of these ends of a rest. One further away than any rest is long was noted before a clock was set back, and is none. */
const latestRest = (...ends: readonly number[]): number => Math.max(0, ...ends.filter((end) => end - Date.now() <= HOUR_MS + MINUTE_MS));

const later = (name: string, ms: number): Error =>
  channelError("retry", `the forge's limits for the token ${name} leave nothing for ${Math.ceil(ms / 1000)} s`, ms);
