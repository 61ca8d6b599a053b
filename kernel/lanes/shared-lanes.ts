import { codeOf, type Op, type StoreWork, type WorkClaim, type WorkEntry } from "@svc/sdk";
import { paced } from "../base/paced.ts";
import type { Ending } from "../core/flow/run-facts.ts";
import type { Blocker, Claim, Elsewhere, Placement, Work } from "../core/flow/work.ts";
import { giveBack, type Held, heldClaim } from "./held-claim.ts";
import { blockersOf } from "./lane-blockers.ts";
import { TURN, type TurnLimits } from "./lanes.ts";
import { entryOf, patientRows } from "./patient-rows.ts";
import { agentsOf, type SharedLanesOptions } from "./shared-lanes-options.ts";

/** Batches that one question takes. */
const WANT = 16;
const EVERY_MS = 1_000;
/** Throttle of wake-ups by other daemons. */
const WOKEN_MS = 100;
const LOST: Ending = { kind: "interrupted", text: "Another daemon has taken this over." };

/**
 * `Work` on rows that several daemons share: this one claims for its own worker, after each of its own calls that may start work, and every second
 * the work that others left to it. Work of a dead daemon, claims whose answer was lost, and requests of others for a batch are found by polling the
 * rows, never by a message.
 */
export class SharedLanes<T> implements Work<T> {
  readonly elsewhere?: Elsewhere;
  readonly #options: SharedLanesOptions<T>;
  readonly #rows: StoreWork;
  readonly #turn: TurnLimits;
  /** By token. */
  readonly #held = new Map<string, Held<T>>();
  /** Items that entered here, or were loaded for a claim, and have not ended. */
  readonly #items = new Map<string, T>();
  readonly #placements = new Map<string, Placement>();
  /** Items whose entry is not stored yet. */
  readonly #entering = new Set<string>();
  readonly #waitingAgents = new Set<string>();
  #paused = false;
  #closed = false;
  #passing: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  readonly #unhear: (() => void) | undefined;
  #look = false;
  /** Tokens of claims that ended since the last query of the rows: a result from before may still contain them. */
  readonly #over = new Set<string>();

  constructor(options: SharedLanesOptions<T>) {
    if (options.elsewhere !== undefined) this.elsewhere = options.elsewhere;
    this.#options = options;
    this.#rows = patientRows(options.rows, () => this.#closed || this.#paused);
    this.#turn = options.turn ?? TURN;
    this.#unhear = options.hints?.hear(paced(() => this.#fill(true), WOKEN_MS));
    this.#wait();
  }

  async enter(item: T, placement: Placement): Promise<"started" | "queued" | "dropped"> {
    const entry = this.#note(item, placement);
    const entered = await this.#enter(item, entry.id, (ops) => this.#rows.enter(entry, ops));
    if (entered === "dropped") {
      this.#items.delete(entry.id);
      return entered;
    }
    await this.#fill();
    return this.#answered(entry.id);
  }

  async replace(item: T, placement: Placement, old: T, ending: Ending): Promise<"started" | "queued"> {
    const entry = this.#note(item, placement);
    const oldId = this.#options.idOf(old);
    const replaced = await this.#enter(item, entry.id, (ops) => this.#rows.replace(entry, oldId, ending, ops));
    if (replaced === "queued" || (typeof replaced === "object" && replaced.asked)) this.#stop(oldId, ending);
    await this.#fill();
    return this.#answered(entry.id);
  }

  async cancel(item: T, ending: Ending): Promise<"removed" | "asked" | "absent"> {
    const id = this.#options.idOf(item);
    // Waiting work stays in its lane when this daemon stops.
    const left = this.#holder(id) === undefined ? "removed" : "asked";
    const answer = ending.kind === "interrupted" ? left : await this.#rows.cancel(id, ending);
    if (answer === "asked") {
      this.#stop(id, ending);
      if (this.#holder(id) === undefined) this.#options.hints?.tell();
    } else this.#items.delete(id);
    // Another agent's item may be the first of its lane now.
    if (answer === "removed") await this.#fill();
    return answer;
  }

  async finish(claim: Claim<T>, ops: readonly Op[]): Promise<"finished" | "repeated" | "fenced"> {
    const own = claim as Held<T>;
    if (own.finished) return "repeated";
    if (own.lost) {
      // Another daemon may have begun it already: do not end it here; if not, it is started anew, but not before this turn has ended.
      if (await giveBack(own, this.#rows, this.#options.log)) this.#forget(own);
      void this.#fill().then(() => this.#options.hints?.tell());
      return "fenced";
    }
    const answer = await this.#rows.finish(own, ops, this.#options.isHome?.(own.batch[0]) === true);
    if (answer === "fenced") return answer;
    own.finished = true;
    for (const item of own.batch) this.#items.delete(this.#options.idOf(item));
    return answer;
  }

  async leave(claim: Claim<T>): Promise<void> {
    (claim as Held<T>).state = "over";
    try {
      // Known until the rows know: a look in between must not take it for a claim whose answer was lost.
      await this.#rows.leave(claim);
      this.#forget(claim);
      this.#options.hints?.tell();
    } catch (error) {
      // The next look repeats it.
      if (!this.#closed) this.#options.log.warn({ err: error }, "the end of a turn was not noted in its lane; it is tried again");
    }
    for (const item of claim.batch) if (this.#holder(this.#options.idOf(item)) === undefined) this.#items.delete(this.#options.idOf(item));
    await this.#fill();
  }

  async release(claim: Claim<T>): Promise<boolean> {
    if (!(await giveBack(claim as Held<T>, this.#rows, this.#options.log))) return false;
    this.#forget(claim);
    await this.#fill();
    this.#options.hints?.tell();
    return true;
  }

  /** This daemon was out of contact for so long that others may have its work: ends its turns. Returns their number. */
  giveUp(): number {
    const claims = [...this.#held.values()].filter(({ state, finished }) => state !== "over" && !finished);
    for (const claim of claims) {
      claim.lost = true;
      for (const item of claim.batch) this.#options.worker.stop(item, LOST);
    }
    return claims.length;
  }

  async park(claim: Claim<T>): Promise<boolean> {
    const own = claim as Held<T>;
    if (!(await this.#rows.park(own))) return false;
    own.state = "parked";
    await this.#fill();
    return true;
  }

  async unpark(claim: Claim<T>): Promise<boolean> {
    const own = claim as Held<T>;
    if (own.state !== "parked" || !(await this.#rows.unpark(own))) return false;
    own.state = "unparked";
    await this.#fill();
    return true;
  }

  blockers(): Promise<ReadonlyMap<string, Blocker>> {
    const running = [...this.#held.values()].filter(({ state }) => state === "running");
    // A failure to find the blockers must not end a waiting message.
    return blockersOf(this.#rows, agentsOf(this.#options, this.#placements, this.#waitingAgents), running).catch(() => new Map());
  }

  async waiting(): Promise<readonly T[]> {
    const ids = await this.#rows.waiting();
    return ids.flatMap((id) => this.#items.get(id) ?? []);
  }

  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    void this.#fill();
  }

  /** Stops claiming and polling. Held claims stay held until the daemon is dead, or releases them before. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#unhear?.();
    clearTimeout(this.#timer);
    await this.#next;
    await this.#passing;
  }

  /** An item that waits in a lane since before this daemon was started. */
  know(item: T): void {
    this.#items.set(this.#options.idOf(item), item);
  }

  /** Work that this daemon has not begun may be for another one. */
  #answered(id: string): "started" | "queued" {
    if (this.#holder(id) !== undefined) return "started";
    this.#options.hints?.tell();
    return "queued";
  }

  #note(item: T, placement: Placement): WorkEntry {
    const id = this.#options.idOf(item);
    this.#items.set(id, item);
    this.#placements.set(placement.agent, placement);
    return entryOf(id, placement);
  }

  /** `queued` also where it had entered before, and its answer was lost, or another daemon has taken it. */
  async #enter<A>(item: T, id: string, enter: (ops: readonly Op[]) => Promise<A>): Promise<A | "queued"> {
    this.#entering.add(id);
    try {
      return await enter(this.#options.stored?.(item) ?? []);
    } catch (error) {
      if (codeOf(error) !== "SVC_STORE_CONFLICT") throw error;
      return "queued";
    } finally {
      this.#entering.delete(id);
    }
  }

  #forget(claim: Claim<T>): void {
    (claim as Held<T>).state = "over";
    if (this.#held.delete(claim.token)) this.#over.add(claim.token);
  }

  #holder(id: string): Held<T> | undefined {
    for (const claim of this.#held.values()) if (claim.state !== "over" && claim.batch.some((item) => this.#options.idOf(item) === id)) return claim;
    return undefined;
  }

  #stop(id: string, ending: Ending): void {
    const claim = this.#holder(id);
    claim?.told.add(id);
    const item = this.#items.get(id) ?? claim?.batch.find((other) => this.#options.idOf(other) === id);
    if (claim !== undefined && item !== undefined) this.#options.worker.stop(item, ending);
  }

  /** Resolves when a pass that began after this call has ended: one pass at a time, and one for all that ask meanwhile. */
  #fill(look = false): Promise<void> {
    this.#look ||= look;
    this.#next ??= (this.#passing ?? Promise.resolve()).then(() => {
      this.#next = undefined;
      this.#passing = this.#pass()
        .catch((error) => {
          // The next poll finds claims that this call may have made.
          this.#look = true;
          if (!this.#closed) this.#options.log.warn({ err: error }, "the lanes were not looked through; it is tried again");
        })
        .finally(() => {
          this.#passing = undefined;
        });
      return this.#passing;
    });
    return this.#next;
  }

  async #pass(): Promise<void> {
    if (this.#closed) return;
    if (this.#look) {
      await this.#rows.sweep();
      await this.#adopt();
      this.#waitingAgents.clear();
      if (this.#options.rulesOf !== undefined) for (const agent of await this.#rows.agents()) this.#waitingAgents.add(agent);
      await this.#options.looked?.();
      this.#look = false;
    }
    while (!this.#paused && !this.#closed) {
      const agents = [...agentsOf(this.#options, this.#placements, this.#waitingAgents)].map(([agent, rules]) => ({ agent, ...rules }));
      if (agents.length === 0) return;
      const claims = await this.#rows.claim(agents, WANT, this.#turn);
      for (const claim of claims) await this.#take(claim);
      if (claims.length < WANT) return;
    }
  }

  /** Compares this daemon's claims with the rows. No claim is in progress: an unknown one is one whose answer was lost. */
  async #adopt(): Promise<void> {
    const before = [...this.#held.values()];
    this.#over.clear();
    const rows = await this.#rows.held();
    const tokens = new Set(rows.map(({ token }) => token));
    for (const claim of rows) {
      const known = this.#held.get(claim.token);
      if (this.#over.has(claim.token)) continue;
      if (known?.state === "over") await this.#rows.leave(claim).then(() => this.#forget(known));
      else if (known === undefined) await (claim.batch.length === 0 ? this.#rows.leave(claim) : this.#take(claim));
      else for (const { id, stop } of claim.batch) if (stop !== undefined && !known.told.has(id)) this.#stop(id, stop as Ending);
    }
    for (const claim of before) {
      if (tokens.has(claim.token) || this.#held.get(claim.token) !== claim || claim.state === "over" || claim.finished) continue;
      for (const item of claim.batch) this.#stop(this.#options.idOf(item), LOST);
      this.#forget(claim);
    }
    await this.#elsewhere();
  }

  /** Finds items that entered here and have ended elsewhere. */
  async #elsewhere(): Promise<void> {
    const waiting = [...this.#items.keys()].filter((id) => !this.#entering.has(id) && this.#holder(id) === undefined);
    for (const id of waiting.length === 0 ? [] : await this.#rows.gone(waiting)) {
      const item = this.#items.get(id);
      if (item === undefined || this.#holder(id) !== undefined) continue;
      this.#items.delete(id);
      this.#options.ended?.(item);
    }
  }

  async #take(row: WorkClaim): Promise<void> {
    // Paused or closed during the request: released for other daemons, unless a parked turn of this process continues with it.
    const goesOn = [...this.#held.values()].some((earlier) => earlier.state === "unparked" && earlier.conversation === row.conversation);
    if ((this.#paused || this.#closed) && !goesOn) return void (await this.#rows.release(row));
    const found = await Promise.all(row.batch.map(async ({ id, attempt }) => ({ id, item: await this.#loaded(id, goesOn || attempt === 1) })));
    const batch: T[] = [];
    for (const { id, item } of found) {
      if (item === undefined) continue;
      this.#items.set(id, item);
      batch.push(item);
    }
    const [first, ...others] = batch;
    if (first === undefined) return this.#rows.leave(row);
    if (!goesOn) this.#options.moved?.(first, row.from);
    const claim = heldClaim(row, [first, ...others]);
    for (const earlier of this.#held.values()) if (earlier.conversation === row.conversation) this.#forget(earlier);
    this.#held.set(row.token, claim);
    const stops = () => {
      for (const { id, stop } of row.batch) if (stop !== undefined && this.#items.has(id)) this.#stop(id, stop as Ending);
    };
    // Before it begins: an item that was cancelled while it was unclaimed ends without a run.
    if (!goesOn) stops();
    this.#options.worker.start(claim);
    if (goesOn) stops();
  }

  async #loaded(id: string, asKnown: boolean): Promise<T | undefined> {
    const known = this.#items.get(id);
    if (known !== undefined && asKnown) return known;
    const item = await this.#options.load(id, known);
    if (item === undefined && known !== undefined) {
      this.#items.delete(id);
      this.#options.ended?.(known);
    }
    return item;
  }

  #wait(): void {
    const { everyMs = EVERY_MS } = this.#options;
    // Not all daemons at one instant.
    this.#timer = setTimeout(() => void this.#fill(true).finally(() => this.#closed || this.#wait()), everyMs * (1 + 0.3 * Math.random()));
    this.#timer.unref();
  }
}
