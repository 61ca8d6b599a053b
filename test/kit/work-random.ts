import type { Op } from "@svc/sdk";
import type { Ending } from "../../kernel/core/flow/run-facts.ts";
import type { Claim, Placement, QueueMode, Work, Worker } from "../../kernel/core/flow/work.ts";

/** One daemon of a random run. `kill` declares it dead while its calls go on: they may no longer have an effect. */
export interface RandomNode {
  readonly work: Work<string>;
  kill?(): Promise<void>;
}

/** What a random run works on. */
export interface RandomWorld {
  /** A further daemon, which works for these agents. */
  node(worker: Worker<string>, agents: ReadonlyMap<string, number>): Promise<RandomNode>;
  /** Keys of the documents `done/<item>` that were written. */
  done(): Promise<ReadonlySet<string>>;
  /** What is left of lanes and items after all has ended: must be nothing. */
  rest(): Promise<readonly string[]>;
  end(): Promise<void>;
}

export interface RandomOptions {
  readonly seed: number;
  readonly nodes: number;
  readonly steps: number;
  /** How long what can start may take to start. */
  readonly patienceMs: number;
  /** So long at most between two calls. */
  readonly paceMs: number;
}

/** What a random run has done: how often each thing happened, so that a test can see that all did. */
export type Counts = Record<string, number>;

const ENDING: Ending = { kind: "cancelled", text: "cancelled by the test" };
const AGENTS = new Map([
  ["a", 1],
  ["b", 2],
  ["c", 3],
]);
const MODES: readonly QueueMode[] = ["collect", "followup", "drop"];

/** Numbers from 0 to 1, the same for the same seed. */
export function numbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

interface Item {
  readonly id: string;
  readonly conversation: string;
  readonly agent: string;
  readonly front: boolean;
  /** In which it entered among those of its conversation. */
  readonly order: number;
  /** `maybe`: a call about it had no answer, so that it may be there or not. */
  state: "there" | "maybe" | "gone" | "done";
  starts: number;
  /** So often it may start: once, and once more for each end of a run that was announced. */
  allowed: number;
}

interface Run {
  readonly node: number;
  claim: Claim<string>;
  state: "running" | "parked" | "unparked" | "ending";
}

/** The judge: sees each call and each start, and keeps what is wrong. */
class Judge {
  readonly items = new Map<string, Item>();
  /** By conversation. */
  readonly runs = new Map<string, Run>();
  readonly wrong: string[] = [];
  readonly counts: Counts = {};
  readonly #trail: string[] = [];

  note(what: string, facts = ""): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1;
    this.#trail.push(`${what} ${facts}`);
  }

  blame(what: string): void {
    this.wrong.push(`${what}\n${this.#trail.slice(-90).join("\n")}`);
  }

  /** A claim of a run that has ended so that its batch may run again. */
  again({ claim }: Run): void {
    for (const id of claim.batch) (this.items.get(id) as Item).allowed += 1;
  }

  started(node: number, claim: Claim<string>): void {
    this.note("start", `n${node} ${claim.conversation} ${claim.batch.join()} ${claim.token.slice(0, 8)}`);
    const before = this.runs.get(claim.conversation);
    if (before !== undefined && !(before.state === "unparked" && before.node === node)) this.blame(`${claim.conversation} has two runs`);
    const batch = claim.batch.map((id) => this.items.get(id));
    const [first] = batch;
    for (const item of batch) {
      if (item === undefined || first === undefined) {
        this.blame("a batch of what never entered");
        return;
      }
      item.starts += 1;
      if (item.starts > item.allowed) this.blame(`${item.id} runs once more without a word`);
      if (item.state === "gone" || item.state === "done") this.blame(`${item.id} runs although it is ${item.state}`);
      if (item.agent !== first.agent || item.agent !== claim.agent) this.blame(`${item.id} runs with another agent's turn`);
      if (item.front && batch.length > 1) this.blame(`${item.id} came to the front and is not alone`);
    }
    this.#order(claim, batch as Item[]);
    this.runs.set(claim.conversation, { node, claim, state: "running" });
    const busy = [...this.runs.values()].filter((run) => run.claim.agent === claim.agent && run.state === "running").length;
    if (busy > (AGENTS.get(claim.agent) as number)) this.blame(`${claim.agent} has ${busy} runs`);
  }

  /** Nothing overtakes: what entered before, and not to the front, has ended or is in the same batch. */
  #order(claim: Claim<string>, batch: readonly Item[]): void {
    for (const item of batch) {
      if (item.front || item.starts > 1) continue;
      for (const other of this.items.values()) {
        if (other.conversation !== item.conversation || other.front || other.order >= item.order || other.state !== "there") continue;
        if (!claim.batch.includes(other.id)) this.blame(`${item.id} overtakes ${other.id}`);
      }
    }
  }
}

/** A run of random calls, many of them at once, then all that is left to its end. Answers what happened; throws with what was wrong. */
export async function randomWork(world: RandomWorld, { seed, nodes: nodeCount, steps, patienceMs, paceMs }: RandomOptions): Promise<Counts> {
  const random = numbers(seed);
  const judge = new Judge();
  const pick = <T>(list: readonly T[]): T | undefined => list[Math.floor(random() * list.length)];
  const nodes = new Map<number, RandomNode>();
  const dead = new Set<number>();
  const paused = new Set<number>();
  const pending = new Set<Promise<void>>();
  const lanes = Array.from({ length: 2 + Math.floor(random() * 5) }, (_, n) => ({ name: `c${n}`, mode: pick(MODES) as QueueMode, last: Promise.resolve() }));
  let numbered = 0;

  async function begin(): Promise<void> {
    const number = (numbered += 1);
    const start = (claim: Claim<string>) => (dead.has(number) ? judge.note("a dead daemon's start") : judge.started(number, claim));
    const node = await world.node({ start, stop: (id) => judge.note("stop", `n${number} ${id}`) }, AGENTS);
    nodes.set(number, node);
  }
  const alive = (number: number) => !dead.has(number);

  /** Runs beside what else is under way. A call of a daemon that was killed meanwhile may fail. */
  function go(number: number, what: string, call: () => Promise<void>): void {
    judge.note(what);
    const running: Promise<void> = call()
      .catch((error: Error) => {
        if (alive(number)) judge.blame(`${what}: ${error.message}`);
      })
      .finally(() => pending.delete(running));
    pending.add(running);
  }

  const placement = (item: Item, mode: QueueMode, keep: boolean): Placement => {
    const size = 1 + Math.floor(random() * 30);
    const sort = pick(["x", "x", "y"]) as string;
    const { conversation, agent, front } = item;
    return { conversation, agent, mode: () => mode, limit: () => AGENTS.get(agent) as number, sort: () => sort, size, front, keep };
  };

  function enter(number: number, node: RandomNode): void {
    const lane = pick(lanes) as (typeof lanes)[number];
    const old = random() < 0.15 ? pick([...judge.items.values()].filter(({ conversation }) => conversation === lane.name)) : undefined;
    const front = old !== undefined || random() < 0.1;
    const agent = random() < 0.8 ? ["a", "b", "c"][lane.name.charCodeAt(1) % 3] : pick([...AGENTS.keys()]);
    // One after the other: what enters at once has no order.
    const before = lane.last;
    const entered = before.then(async () => {
      if (!alive(number)) return;
      const order = judge.items.size;
      const item: Item = { id: `${order}`, conversation: lane.name, agent: agent as string, front, order, state: "maybe", starts: 0, allowed: 1 };
      judge.items.set(item.id, item);
      judge.note(old === undefined ? "enter" : "replace", `n${number} ${lane.name} ${item.id}${front ? " front" : ""}`);
      const at = placement(item, lane.mode, random() < 0.2);
      const how = await (old === undefined ? node.work.enter(item.id, at) : node.work.replace(item.id, at, old.id, ENDING));
      if (how === "dropped") {
        if (item.starts > 0) judge.blame(`${item.id} was dropped and runs`);
        item.state = "gone";
        judge.note("dropped", item.id);
      } else if (item.state === "maybe") item.state = "there";
    });
    lane.last = entered.catch(() => {});
    go(number, "call", () => entered);
  }

  function cancel(number: number, node: RandomNode): void {
    const item = pick([...judge.items.values()].filter(({ state }) => state === "there"));
    if (item === undefined) return;
    // Whatever comes of it, it may be gone from now on.
    item.state = "maybe";
    go(number, "cancel", async () => {
      const how = await node.work.cancel(item.id, ENDING);
      judge.note(`cancel: ${how}`, item.id);
      if (how === "removed") item.state = "gone";
      else if (item.state === "maybe") item.state = "there";
    });
  }

  const put = (claim: Claim<string>): Op[] => claim.batch.map((id) => ({ op: "put", collection: "done", key: id, value: { id }, expect: "absent" }));

  async function finish(run: Run, node: RandomNode): Promise<void> {
    const { claim } = run;
    run.state = "ending";
    const how = await node.work.finish(claim, put(claim));
    judge.note(`finish: ${how}`, claim.batch.join());
    if (how === "finished") for (const id of claim.batch) (judge.items.get(id) as Item).state = "done";
    else if (alive(run.node)) judge.blame(`${claim.batch.join()} could not be finished: ${how}`);
    if (random() < 0.3) await soon(random, paceMs);
    // From the moment of the call the next one may start.
    if (judge.runs.get(claim.conversation) === run) judge.runs.delete(claim.conversation);
    await node.work.leave(claim);
  }

  function goOn(run: Run, node: RandomNode, ending: boolean): void {
    const chance = random();
    const { claim } = run;
    if (run.state === "ending") return;
    if (run.state === "unparked") {
      if (chance < 0.3 && !ending)
        go(run.node, "park again", async () => {
          if ((await node.work.park(claim)) && judge.runs.get(claim.conversation) === run) run.state = "parked";
        });
    } else if (run.state === "parked" && (ending || chance < 0.6)) {
      run.state = "unparked";
      judge.again(run);
      go(run.node, "unpark", async () => {
        if (!(await node.work.unpark(claim)) && alive(run.node)) judge.blame("a parked claim is not held");
      });
    } else if (run.state === "running" && chance < 0.15 && !ending) {
      judge.runs.delete(claim.conversation);
      judge.again(run);
      go(run.node, "release", async () => {
        if (!(await node.work.release(claim)) && alive(run.node)) judge.blame("a claim that runs is not held");
      });
    } else if (run.state === "running" && chance < 0.35 && !ending) {
      // Only once it is parked may it be unparked.
      run.state = "ending";
      go(run.node, "park", async () => {
        const parked = await node.work.park(claim);
        if (!parked && alive(run.node)) judge.blame("a claim that runs cannot be parked");
        run.state = "parked";
      });
    } else go(run.node, "end", () => finish(run, node));
  }

  async function kill(number: number, node: RandomNode): Promise<void> {
    if (node.kill === undefined) return;
    judge.note("kill", `n${number}`);
    const runs = [...judge.runs.values()].filter((run) => run.node === number);
    dead.add(number);
    nodes.delete(number);
    paused.delete(number);
    for (const run of runs) {
      judge.runs.delete(run.claim.conversation);
      judge.again(run);
    }
    await node.kill();
    for (const run of runs.filter(({ state }) => state === "running")) {
      // Nothing that it does from now on counts.
      const how = await node.work.finish(run.claim, put(run.claim)).catch(() => "refused");
      judge.note(`a dead daemon's finish: ${how}`);
      if (how === "finished") judge.blame("a daemon that is dead has finished a run");
    }
    await begin();
  }

  async function step(): Promise<void> {
    const [number, node] = pick([...nodes]) as [number, RandomNode];
    const chance = random();
    if (chance < 0.36) enter(number, node);
    else if (chance < 0.46) cancel(number, node);
    else if (chance < 0.5) {
      if (paused.delete(number)) node.work.resume();
      else {
        paused.add(number);
        node.work.pause();
        judge.note("pause");
      }
    } else if (chance < 0.53 && numbered < nodeCount + 4) await kill(number, node);
    else {
      const run = pick([...judge.runs.values()]);
      const own = run === undefined ? undefined : nodes.get(run.node);
      if (run !== undefined && own !== undefined) goOn(run, own, false);
    }
    if (random() < 0.4) await soon(random, paceMs);
    if (random() < 0.05) await Promise.all(pending);
  }

  /** Ends what runs until nothing waits. */
  async function drain(): Promise<void> {
    for (const [, node] of nodes) node.work.resume();
    const open = () => [...judge.items.values()].filter(({ state }) => state === "there");
    for (let since = performance.now(); ; ) {
      const runs = [...judge.runs.values()].filter((run) => run.state !== "ending" && run.state !== "unparked");
      for (const run of runs) {
        const own = nodes.get(run.node);
        if (own !== undefined) goOn(run, own, true);
      }
      if (runs.length > 0) since = performance.now();
      await Promise.all(pending);
      await soon(random, paceMs);
      // Written by a call whose daemon was killed before it had the answer.
      const written = dead.size === 0 ? new Set() : await world.done();
      for (const item of open()) if (written.has(item.id)) item.state = "done";
      if (judge.runs.size === 0 && open().length === 0 && (await world.rest()).length === 0) return;
      if (runs.length === 0 && performance.now() - since > patienceMs) {
        judge.blame(`nothing starts any more; left: ${open().map(({ id, conversation }) => `${conversation}/${id}`)} ${await world.rest()}`);
        return;
      }
    }
  }

  for (let n = 0; n < nodeCount; n += 1) await begin();
  for (let n = 0; n < steps && judge.wrong.length === 0; n += 1) await step();
  await Promise.all(pending);
  if (judge.wrong.length === 0) await drain();
  const done = await world.done();
  for (const { id, state } of judge.items.values()) {
    if (state === "there" || (state === "done") !== done.has(id))
      if (state !== "maybe") judge.blame(`${id} is ${state}, and ${done.has(id) ? "" : "not "}written`);
  }
  if (judge.wrong.length > 0) throw new Error(`seed ${seed}: ${judge.wrong[0]}`);
  return judge.counts;
}

/** Lets others go on for a moment, sometimes a longer one. */
async function soon(random: () => number, paceMs: number): Promise<void> {
  const ms = random() * paceMs;
  if (ms >= 1) await new Promise<void>((resolve) => setTimeout(resolve, ms));
  else if (random() < 0.5) await new Promise<void>((resolve) => setImmediate(resolve));
  else await Promise.resolve();
}
