/** What arrives for a conversation that is busy: batch into one turn, run each later as its own turn, or discard. */
export type QueueMode = "collect" | "followup" | "drop";

/** Where an item belongs and under which rules; rules are looked up when they matter, so that a reload counts at once. */
export interface Place {
  readonly conversation: string;
  readonly agent: string;
  readonly mode: () => QueueMode;
  /** Parallel turns of the agent. */
  readonly limit: () => number;
  /** Only items of one sort become one turn. Asked when two might. */
  readonly sort?: () => string;
  /** What it adds to the size of a turn. */
  readonly size?: number;
  /** Ahead of everything that waits, as a turn of its own. */
  readonly front?: boolean;
  /** Held even under `drop`. */
  readonly keep?: boolean;
}

/** How much `collect` makes one turn of at most; an item that is larger by itself is a turn of its own. */
export interface TurnLimits {
  readonly items: number;
  readonly size: number;
}

interface Held<T> {
  readonly item: T;
  readonly place: Place;
}

/** A conversation: at most one turn at a time, and what waits for it. */
interface Lane<T> {
  readonly key: string;
  readonly held: Held<T>[];
  /** The agent whose turn runs. */
  running: string | undefined;
  /** The agent for whose slot it stands in line: that of the first one held. */
  awaited: string | undefined;
}

/**
 * Order per conversation and parallelism per agent. Knows nothing of messages: it is told what runs and calls `start` with the
 * next batch, in order. `start` must call `release` with the conversation when that batch has ended.
 */
export interface Lanes<T> {
  /** `started`: `start` was called. `held`: it waits. `dropped`: the mode discards it. */
  enter(item: T, place: Place): "started" | "held" | "dropped";
  /** The conversation's turn has ended: the next one may start. */
  release(conversation: string): void;
  /** Take a waiting item out. False when it does not wait (any more). */
  remove(item: T): boolean;
  /** What the first item of a conversation waits for: its running turn (`lane`), or a slot of an agent; nothing where it may start. */
  blocker(conversation: string): { readonly lane: boolean; readonly agent?: string } | undefined;
  /** What waits, oldest first within each conversation. */
  waiting(): T[];
  /** Start nothing any more. */
  pause(): void;
  /** Start what may start by now: after a pause, or since a limit has grown. */
  resume(): void;
}

export function createLanes<T>(start: (batch: readonly [T, ...T[]], conversation: string) => void, limits: TurnLimits): Lanes<T> {
  const lanes = new Map<string, Lane<T>>();
  /** Per agent: running turns, and the lanes with work that wait for a slot, first come first served. */
  const agents = new Map<string, { active: number; readonly ready: Lane<T>[] }>();
  let paused = false;

  const agentOf = (id: string) => {
    let agent = agents.get(id);
    if (agent === undefined) agents.set(id, (agent = { active: 0, ready: [] }));
    return agent;
  };

  /** Where the lane stands in line must follow what is held first: two agents may share a conversation. */
  const standInLine = (lane: Lane<T>, first = false) => {
    const next = lane.running === undefined ? lane.held[0]?.place.agent : undefined;
    if (lane.awaited === next && !(first && next !== undefined)) return;
    if (lane.awaited !== undefined) {
      const { ready } = agentOf(lane.awaited);
      ready.splice(ready.indexOf(lane), 1);
    }
    lane.awaited = next;
    if (next === undefined) return;
    if (first) agentOf(next).ready.unshift(lane);
    else agentOf(next).ready.push(lane);
  };

  const tidy = (lane: Lane<T>, ...ids: readonly (string | undefined)[]) => {
    if (lane.running === undefined && lane.held.length === 0) lanes.delete(lane.key);
    for (const id of ids) {
      const agent = id === undefined ? undefined : agents.get(id);
      if (agent?.active === 0 && agent.ready.length === 0) agents.delete(id as string);
    }
  };

  /** Under `collect` what is held of one sort becomes one turn, as far as the limits go; an item that came to the front runs alone. */
  const nextBatch = (lane: Lane<T>): [T, ...T[]] => {
    const { held } = lane;
    const { item, place } = held[0] as Held<T>;
    let count = 1;
    if (!place.front && held.length > 1 && place.mode() === "collect") {
      const sort = place.sort?.();
      let size = place.size ?? 0;
      const joins = ({ place: next }: Held<T>) =>
        !next.front && next.agent === place.agent && (size += next.size ?? 0) <= limits.size && next.sort?.() === sort;
      while (count < Math.min(held.length, limits.items) && joins(held[count] as Held<T>)) count += 1;
    }
    const [, ...joined] = held.splice(0, count);
    return [item, ...joined.map((next) => next.item)];
  };

  const fill = (id: string | undefined) => {
    const agent = id === undefined ? undefined : agents.get(id);
    while (agent !== undefined && !paused && agent.active < (agent.ready[0]?.held[0]?.place.limit() ?? 0)) {
      const lane = agent.ready.shift() as Lane<T>;
      lane.awaited = undefined;
      lane.running = id;
      agent.active += 1;
      start(nextBatch(lane), lane.key);
    }
  };

  return {
    enter(item, place) {
      let lane = lanes.get(place.conversation);
      if (lane === undefined) lanes.set(place.conversation, (lane = { key: place.conversation, held: [], running: undefined, awaited: undefined }));
      const busy = lane.running !== undefined || lane.held.length > 0;
      if (busy && !place.front && !place.keep && place.mode() === "drop") return "dropped";
      const entry: Held<T> = { item, place };
      if (place.front) lane.held.unshift(entry);
      else lane.held.push(entry);
      standInLine(lane, place.front);
      fill(lane.awaited);
      return lane.held[0] === entry || lane.held.at(-1) === entry ? "held" : "started";
    },
    release(conversation) {
      const lane = lanes.get(conversation);
      if (lane?.running === undefined) return;
      const { running } = lane;
      lane.running = undefined;
      agentOf(running).active -= 1;
      standInLine(lane, lane.held[0]?.place.front);
      fill(running);
      fill(lane.awaited);
      tidy(lane, running);
    },
    remove(item) {
      for (const lane of lanes.values()) {
        const at = lane.held.findIndex((waiting) => waiting.item === item);
        if (at === -1) continue;
        const { awaited } = lane;
        lane.held.splice(at, 1);
        standInLine(lane);
        fill(awaited);
        fill(lane.awaited);
        tidy(lane, awaited);
        return true;
      }
      return false;
    },
    blocker(conversation) {
      const lane = lanes.get(conversation);
      if (lane === undefined) return undefined;
      if (lane.running !== undefined) return { lane: true };
      const { awaited, held } = lane;
      if (awaited === undefined || agentOf(awaited).active < (held[0]?.place.limit() ?? 0)) return undefined;
      return { lane: false, agent: awaited };
    },
    waiting: () => [...lanes.values()].flatMap((lane) => lane.held.map(({ item }) => item)),
    pause() {
      paused = true;
    },
    resume() {
      paused = false;
      for (const id of [...agents.keys()]) fill(id);
    },
  };
}
