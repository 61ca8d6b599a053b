/** What arrives for a conversation that is busy: batch into one turn, run each later as its own turn, or discard. */
export type QueueMode = "collect" | "followup" | "drop";

/** Where an item belongs and under which rules; rules are looked up when they matter, so that a reload counts at once. */
export interface Place {
  readonly conversation: string;
  readonly agent: string;
  readonly mode: () => QueueMode;
  /** Parallel turns of the agent. */
  readonly limit: () => number;
  /** Ahead of everything that waits, as a turn of its own. */
  readonly front?: boolean;
  /** Held even under `drop`. */
  readonly keep?: boolean;
}

/** A conversation: at most one turn at a time, and what waits for it. */
interface Lane<T> {
  readonly key: string;
  readonly agent: string;
  readonly held: { item: T; place: Place }[];
  running: boolean;
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
  /** What waits, oldest first within each conversation. */
  waiting(): T[];
}

export function createLanes<T>(start: (batch: readonly [T, ...T[]], conversation: string) => void): Lanes<T> {
  const lanes = new Map<string, Lane<T>>();
  /** Per agent: running turns, and the lanes with work that wait for a slot, first come first served. */
  const agents = new Map<string, { active: number; ready: Lane<T>[] }>();

  const agentOf = (id: string) => {
    let agent = agents.get(id);
    if (agent === undefined) agents.set(id, (agent = { active: 0, ready: [] }));
    return agent;
  };

  const tidy = (lane: Lane<T>) => {
    if (lane.running || lane.held.length > 0) return;
    lanes.delete(lane.key);
    const agent = agents.get(lane.agent);
    if (agent === undefined) return;
    const at = agent.ready.indexOf(lane);
    if (at !== -1) agent.ready.splice(at, 1);
    if (agent.active === 0 && agent.ready.length === 0) agents.delete(lane.agent);
  };

  /** Under `collect` everything held becomes one turn, but an item that came to the front runs alone. */
  const nextBatch = (lane: Lane<T>): [T, ...T[]] => {
    const first = lane.held.shift() as { item: T; place: Place };
    const batch: [T, ...T[]] = [first.item];
    if (first.place.front || first.place.mode() !== "collect") return batch;
    while (lane.held.length > 0 && !lane.held[0]?.place.front) batch.push((lane.held.shift() as { item: T }).item);
    return batch;
  };

  const run = (lane: Lane<T>) => {
    lane.running = true;
    agentOf(lane.agent).active += 1;
    start(nextBatch(lane), lane.key);
  };

  const fill = (id: string) => {
    const agent = agents.get(id);
    if (agent === undefined) return;
    while (agent.ready.length > 0 && agent.active < (agent.ready[0]?.held[0]?.place.limit() ?? 0)) run(agent.ready.shift() as Lane<T>);
  };

  return {
    enter(item, place) {
      let lane = lanes.get(place.conversation);
      if (lane === undefined) lanes.set(place.conversation, (lane = { key: place.conversation, agent: place.agent, held: [], running: false }));
      const busy = lane.running || lane.held.length > 0;
      if (busy && !place.front && !place.keep && place.mode() === "drop") return "dropped";
      if (place.front) lane.held.unshift({ item, place });
      else lane.held.push({ item, place });
      const agent = agentOf(place.agent);
      if (!lane.running) {
        const at = agent.ready.indexOf(lane);
        if (place.front && at > 0) agent.ready.splice(at, 1);
        if (place.front && at !== 0) agent.ready.unshift(lane);
        else if (at === -1) agent.ready.push(lane);
      }
      fill(place.agent);
      return lane.held.some((waiting) => waiting.item === item) ? "held" : "started";
    },
    release(conversation) {
      const lane = lanes.get(conversation);
      if (lane === undefined || !lane.running) return;
      lane.running = false;
      const agent = agentOf(lane.agent);
      agent.active -= 1;
      if (lane.held.length > 0) {
        if (lane.held[0]?.place.front) agent.ready.unshift(lane);
        else agent.ready.push(lane);
      }
      fill(lane.agent);
      tidy(lane);
    },
    remove(item) {
      for (const lane of lanes.values()) {
        const at = lane.held.findIndex((waiting) => waiting.item === item);
        if (at === -1) continue;
        lane.held.splice(at, 1);
        tidy(lane);
        return true;
      }
      return false;
    },
    waiting: () => [...lanes.values()].flatMap((lane) => lane.held.map(({ item }) => item)),
  };
}
