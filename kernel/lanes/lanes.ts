import { codeOf, type Op, sleep } from "@svc/sdk";
import type { Ending } from "../core/flow/run-facts.ts";
import type { Blocker, Claim, Placement, Work, Worker } from "../core/flow/work.ts";

/** Limits of one turn under `collect`; an item that is larger by itself is a turn of its own. */
export interface TurnLimits {
  readonly items: number;
  readonly size: number;
}

/** `size` is in characters of the messages. */
export const TURN: TurnLimits = { items: 50, size: 64_000 };

/** Retry delay of storing the end of a turn when the store did not answer. */
const AGAIN_MS = 500;

interface Queued<T> {
  readonly item: T;
  readonly placement: Placement;
}

/** A claim and its state: `parked` holds the lane without a slot, `unparked` waits for one, `over` holds neither. */
interface LaneClaim<T> extends Claim<T> {
  /** Of the batch's first item. */
  readonly placement: Placement;
  state: "running" | "parked" | "unparked" | "over";
  finished: boolean;
}

/** A conversation: at most one claim at a time, and the waiting items. */
interface Lane<T> {
  readonly key: string;
  readonly queued: Queued<T>[];
  claim: LaneClaim<T> | undefined;
  /** A claim that was given back: its batch is the next one. */
  returned: LaneClaim<T> | undefined;
  /** The agent for whose slot the lane is queued. */
  awaited: string | undefined;
}

/** An agent's running turns, and the lanes that wait for a slot, first come first served. */
interface Slots<T> {
  active: number;
  readonly ready: Lane<T>[];
}

const IDLE: Slots<never> = { active: 0, ready: [] };

/** The embedded `Work`: lanes in memory, rebuilt at each start from the records in flight, and no write but the caller's own. */
export class Lanes<T> implements Work<T> {
  readonly #lanes = new Map<string, Lane<T>>();
  readonly #agents = new Map<string, Slots<T>>();
  readonly #worker: Worker<T>;
  readonly #commit: (ops: readonly Op[]) => Promise<void>;
  readonly #limits: TurnLimits;
  #paused = false;
  #claims = 0;

  constructor(worker: Worker<T>, commit: (ops: readonly Op[]) => Promise<void>, limits = TURN) {
    this.#worker = worker;
    this.#commit = commit;
    this.#limits = limits;
  }

  enter(item: T, placement: Placement): "started" | "queued" | "dropped" {
    let lane = this.#lanes.get(placement.conversation);
    if (lane === undefined) {
      lane = { key: placement.conversation, queued: [], claim: undefined, returned: undefined, awaited: undefined };
      this.#lanes.set(placement.conversation, lane);
    }
    const busy = lane.claim !== undefined || lane.returned !== undefined || lane.queued.length > 0;
    if (busy && !placement.front && !placement.keep && placement.mode() === "drop") return "dropped";
    const entry: Queued<T> = { item, placement };
    if (placement.front) lane.queued.unshift(entry);
    else lane.queued.push(entry);
    this.#queueForSlot(lane, placement.front);
    this.#fill(lane.awaited);
    return lane.queued[0] === entry || lane.queued.at(-1) === entry ? "queued" : "started";
  }

  startsAtOnce({ conversation, agent, limit }: Placement): boolean {
    const { active, ready } = this.#agents.get(agent) ?? IDLE;
    return !this.#paused && !this.#lanes.has(conversation) && ready.length === 0 && active < limit();
  }

  replace(item: T, placement: Placement, old: T, ending: Ending): "started" | "queued" {
    const entered = this.enter(item, { ...placement, front: true, keep: true });
    if (this.#runs(old)) this.#worker.stop(old, ending);
    return entered === "started" ? "started" : "queued";
  }

  cancel(item: T, ending: Ending): "removed" | "asked" | "absent" {
    if (this.#remove(item)) return "removed";
    if (!this.#runs(item)) return "absent";
    this.#worker.stop(item, ending);
    return "asked";
  }

  async finish(claim: Claim<T>, ops: readonly Op[]): Promise<"finished" | "repeated" | "fenced"> {
    const own = claim as LaneClaim<T>;
    if (own.finished) return "repeated";
    if (this.#lanes.get(own.conversation)?.claim !== own) return "fenced";
    for (;;) {
      try {
        await this.#commit(ops);
        break;
      } catch (error) {
        // Nothing is stored yet, and the answer exists: keep retrying until the daemon stops.
        if (this.#paused || codeOf(error) !== "SVC_STORE_UNREACHABLE") throw error;
        await sleep(AGAIN_MS);
      }
    }
    own.finished = true;
    return "finished";
  }

  leave(claim: Claim<T>): void {
    const lane = this.#give(claim);
    if (lane !== undefined) this.#goOn(lane, claim.agent, lane.queued[0]?.placement.front);
  }

  release(claim: Claim<T>): boolean {
    return !(claim as LaneClaim<T>).finished && this.#giveBack(claim, "over");
  }

  park(claim: Claim<T>): boolean {
    const own = claim as LaneClaim<T>;
    if (own.state === "unparked") return this.#takeBack(own);
    if (own.state !== "running") return false;
    own.state = "parked";
    this.#slotsOf(own.agent).active -= 1;
    this.#fill(own.agent);
    this.#forget(own.agent);
    return true;
  }

  unpark(claim: Claim<T>): boolean {
    return (claim as LaneClaim<T>).state === "parked" && this.#giveBack(claim, "unparked");
  }

  blockers(): ReadonlyMap<string, Blocker> {
    const found = new Map<string, Blocker>();
    for (const { key, claim, awaited, queued, returned } of this.#lanes.values()) {
      if (queued.length === 0 && returned === undefined) continue;
      if (claim !== undefined) found.set(key, { by: "turn" });
      else if (awaited !== undefined && this.#slotsOf(awaited).active >= this.#limitOf({ queued, returned })) found.set(key, { by: "agent", agent: awaited });
    }
    return found;
  }

  waiting(): readonly T[] {
    return [...this.#lanes.values()].flatMap(({ returned, queued }) => [...(returned?.batch ?? []), ...queued.map(({ item }) => item)]);
  }

  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    for (const id of [...this.#agents.keys()]) this.#fill(id);
  }

  #slotsOf(id: string): Slots<T> {
    let slots = this.#agents.get(id);
    if (slots === undefined) this.#agents.set(id, (slots = { active: 0, ready: [] }));
    return slots;
  }

  #limitOf({ queued, returned }: Pick<Lane<T>, "queued" | "returned">): number {
    return (returned?.placement ?? queued[0]?.placement)?.limit() ?? 0;
  }

  /** The lane waits for the agent of its next batch, which may be another one than before: two agents may share a conversation. */
  #queueForSlot(lane: Lane<T>, first = false): void {
    const next = lane.claim === undefined ? (lane.returned?.agent ?? lane.queued[0]?.placement.agent) : undefined;
    if (lane.awaited === next && !(first && next !== undefined)) return;
    if (lane.awaited !== undefined) {
      const stood = this.#slotsOf(lane.awaited).ready;
      stood.splice(stood.indexOf(lane), 1);
    }
    lane.awaited = next;
    if (next === undefined) return;
    const { ready } = this.#slotsOf(next);
    // Released batches go first, in the order of their release.
    const at = first ? (lane.returned === undefined ? 0 : ready.findIndex(({ returned }) => returned === undefined)) : -1;
    ready.splice(at === -1 ? ready.length : at, 0, lane);
  }

  #fill(id: string | undefined): void {
    const slots = id === undefined ? undefined : this.#agents.get(id);
    while (slots !== undefined && !this.#paused && slots.ready[0] !== undefined && slots.active < this.#limitOf(slots.ready[0])) {
      const lane = slots.ready.shift() as Lane<T>;
      lane.awaited = undefined;
      slots.active += 1;
      lane.claim = this.#claim(lane);
      this.#worker.start(lane.claim);
    }
  }

  #claim(lane: Lane<T>): LaneClaim<T> {
    const { batch, placement } = lane.returned ?? this.#nextBatch(lane);
    lane.returned = undefined;
    this.#claims += 1;
    return { batch, conversation: lane.key, agent: placement.agent, token: String(this.#claims), placement, state: "running", finished: false };
  }

  /** Under `collect`, waiting items of one sort become one turn, within the limits; an item placed at the front runs alone. */
  #nextBatch({ queued }: Lane<T>): Pick<LaneClaim<T>, "batch" | "placement"> {
    const { item, placement } = queued[0] as Queued<T>;
    let count = 1;
    if (!placement.front && queued.length > 1 && placement.mode() === "collect") {
      const sort = placement.sort?.();
      let size = placement.size ?? 0;
      const joins = ({ placement: next }: Queued<T>) =>
        !next.front && next.agent === placement.agent && (size += next.size ?? 0) <= this.#limits.size && next.sort?.() === sort;
      while (count < Math.min(queued.length, this.#limits.items) && joins(queued[count] as Queued<T>)) count += 1;
    }
    const [, ...joined] = queued.splice(0, count);
    return { batch: [item, ...joined.map((next) => next.item)], placement };
  }

  /** End a claim; answers with its lane, or with nothing when it was not held. */
  #give(claim: Claim<T>): Lane<T> | undefined {
    const own = claim as LaneClaim<T>;
    const lane = this.#lanes.get(own.conversation);
    if (lane?.claim !== own) return undefined;
    if (own.state === "running") this.#slotsOf(own.agent).active -= 1;
    own.state = "over";
    lane.claim = undefined;
    return lane;
  }

  #giveBack(claim: Claim<T>, state: "unparked" | "over"): boolean {
    const lane = this.#give(claim);
    if (lane === undefined) return false;
    lane.returned = claim as LaneClaim<T>;
    lane.returned.state = state;
    this.#goOn(lane, claim.agent, true);
    return true;
  }

  #takeBack(own: LaneClaim<T>): boolean {
    const lane = this.#lanes.get(own.conversation);
    if (lane?.returned !== own) return false;
    lane.returned = undefined;
    lane.claim = own;
    own.state = "parked";
    this.#goOn(lane, own.agent);
    return true;
  }

  /** The lane's claim or first item has changed: starts the work that may start now. */
  #goOn(lane: Lane<T>, agent: string | undefined, first = false): void {
    this.#queueForSlot(lane, first);
    this.#fill(agent);
    this.#fill(lane.awaited);
    if (lane.claim === undefined && lane.returned === undefined && lane.queued.length === 0) this.#lanes.delete(lane.key);
    this.#forget(agent);
  }

  #forget(id: string | undefined): void {
    const slots = id === undefined ? undefined : this.#agents.get(id);
    if (slots?.active === 0 && slots.ready.length === 0) this.#agents.delete(id as string);
  }

  #remove(item: T): boolean {
    for (const lane of this.#lanes.values()) {
      const { awaited } = lane;
      const at = lane.queued.findIndex((waiting) => waiting.item === item);
      if (at !== -1) lane.queued.splice(at, 1);
      else if (!takeOut(lane, item)) continue;
      this.#goOn(lane, awaited);
      return true;
    }
    return false;
  }

  #runs(item: T): boolean {
    for (const { claim, returned } of this.#lanes.values()) {
      if (claim?.batch.includes(item) || (returned?.state === "unparked" && returned.batch.includes(item))) return true;
    }
    return false;
  }
}

/** Removes an item from a batch that was given back and whose turn no longer exists. */
function takeOut<T>(lane: Lane<T>, item: T): boolean {
  const { returned } = lane;
  if (returned?.state !== "over" || !returned.batch.includes(item)) return false;
  const [first, ...others] = returned.batch.filter((other) => other !== item);
  lane.returned = first === undefined ? undefined : { ...returned, batch: [first, ...others] };
  return true;
}
