import { svcError } from "../errors.ts";
import type { Spawn, Warm } from "../processes.ts";
import { type LineRpc, openLineRpc, type RpcOptions } from "./line-rpc.ts";

/** One process of an engine. */
export interface PooledEngine {
  readonly rpc: LineRpc;
  /** Conversations opened in the process. It keeps their tool servers until it ends. */
  readonly opened: Set<string>;
  /** The key under which it is shared; unset for one that serves a single run. */
  readonly key?: string;
  /** Runs on it now. */
  users: number;
}

/** How to start and keep engines of one kind. */
export interface PoolOptions {
  readonly spawn: Spawn;
  readonly warm: Warm;
  /** Prefix of the keys of shared processes. */
  readonly name: string;
  /** The first words with a new process. */
  handshake(rpc: LineRpc): Promise<unknown>;
  /** Ends the leftovers of an interrupted conversation in a shared process. False: the process has to be ended. */
  clean?(rpc: LineRpc, conversation: string): Promise<boolean>;
}

/** Requirements of a run. */
export interface Claim {
  readonly launch: RpcOptions;
  /** One process for all runs with the same program, arguments and environment. */
  readonly shared: boolean;
  readonly signal: AbortSignal;
}

/** The processes of one engine: one that all sharing runs use, and one for each other run. */
export interface EnginePool {
  /**
   * Rejects with the error of the start or the handshake, and with `SVC_RPC_ABORTED` when the run ended first: then a process that no other run waits
   * for is ended too.
   */
  claim(claim: Claim): Promise<PooledEngine>;
  /**
   * Keeps a shared process for the next run, ends the others. `interrupted` names a conversation to clean up. Resolves when the ending processes have
   * exited.
   */
  giveBack(engine: PooledEngine, state: { readonly over: boolean; readonly interrupted?: string }): Promise<void>;
}

/** More conversations than these in one process are not opened: each holds a set of tool servers. */
const CONVERSATIONS = 24;

/** A shared process that is coming up. */
interface Opening {
  readonly engine: Promise<PooledEngine>;
  readonly abort: AbortController;
  waiting: number;
}

/** Makes a pool of running programs that speak JSON-RPC in lines. */
export function createEnginePool({ spawn, warm, name, handshake, clean }: PoolOptions): EnginePool {
  const inUse = new Map<string, PooledEngine>();
  const openings = new Map<string, Opening>();

  async function open(launch: RpcOptions, signal: AbortSignal, key?: string): Promise<PooledEngine> {
    const rpc = openLineRpc(spawn, launch);
    const stop = () => void rpc.stop();
    signal.addEventListener("abort", stop, { once: true });
    try {
      if (signal.aborted) stop();
      await rpc.started;
      await handshake(rpc);
      return { rpc, opened: new Set(), users: 0, ...(key === undefined ? {} : { key }) };
    } catch (error) {
      await rpc.stop();
      throw signal.aborted ? aborted() : error;
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }

  async function claimShared(key: string, launch: RpcOptions, signal: AbortSignal): Promise<PooledEngine> {
    const kept = inUse.has(key) ? undefined : warm.take<PooledEngine>(key);
    const found = kept ?? inUse.get(key);
    if (found?.rpc.alive && found.opened.size < CONVERSATIONS) {
      inUse.set(key, found);
      found.users++;
      return found;
    }
    if (kept !== undefined) {
      // Its output became unreadable while it waited, and it may run on: the pool does not hold it any more, so nobody else ends it.
      warm.drop(key);
      void kept.rpc.stop();
    }
    const opening = openings.get(key) ?? begin(key, launch);
    opening.waiting++;
    let leave = () => {};
    const left = new Promise<never>((_resolve, reject) => {
      leave = () => reject(aborted());
      if (signal.aborted) leave();
      signal.addEventListener("abort", leave, { once: true });
    });
    try {
      const engine = await Promise.race([opening.engine, left]);
      inUse.set(key, engine);
      engine.users++;
      return engine;
    } finally {
      signal.removeEventListener("abort", leave);
      opening.waiting--;
      if (signal.aborted && opening.waiting === 0) {
        // A run that comes now starts a process of its own instead of waiting for one that is being ended.
        if (openings.get(key) === opening) openings.delete(key);
        opening.abort.abort();
        const engine = await opening.engine.catch(() => undefined);
        // The process became ready just as its run was aborted: keep it for the next run.
        if (engine?.rpc.alive && engine.users === 0) warm.keep(key, engine, () => engine.rpc.leave(), engine.rpc.ended);
      }
    }
  }

  function begin(key: string, launch: RpcOptions): Opening {
    const abort = new AbortController();
    const { taskId: _one, ...everyones } = launch;
    const engine = open(everyones, abort.signal, key);
    const opening: Opening = { engine, abort, waiting: 0 };
    openings.set(key, opening);
    const over = () => {
      if (openings.get(key) === opening) openings.delete(key);
    };
    engine.then(over, over);
    return opening;
  }

  return {
    async claim({ launch, shared, signal }) {
      if (!shared) return open(launch, signal);
      return claimShared(`${name}:${await digest([launch.program, launch.args, launch.env])}`, launch, signal);
    },
    async giveBack(engine, { over, interrupted }) {
      const { key, rpc } = engine;
      if (key === undefined) return over ? rpc.leave() : rpc.stop();
      const usable = interrupted === undefined || clean === undefined || !rpc.alive || (await clean(rpc, interrupted));
      if (!usable) await rpc.stop();
      if (--engine.users > 0) return;
      const current = inUse.get(key) === engine;
      if (current) inUse.delete(key);
      if (current && rpc.alive && engine.opened.size < CONVERSATIONS) return warm.keep(key, engine, () => rpc.leave(), rpc.ended);
      if (current) warm.drop(key);
      await rpc.stop();
    },
  };
}

const aborted = () => svcError("SVC_RPC_ABORTED", "The run was ended before its engine was up.");

/** The environment may hold a key: a digest keeps it out of the process's name. */
async function digest(value: unknown): Promise<string> {
  const { createHash } = await import("node:crypto");
  return createHash("sha256").update(JSON.stringify(value)).digest("hex").slice(0, 16);
}
