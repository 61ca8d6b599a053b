import type { Warm } from "@svc/sdk";
import type { LibraryDeps, LoadedCapability } from "../../base/capability.ts";

/** The section `processPool`, in seconds. */
export interface PoolLimits {
  readonly maxIdleSeconds: number;
  readonly maxAgeSeconds: number;
  readonly sweepIntervalSeconds: number;
}

/** Dependencies of the pool. Clock and limits are read each time, so that a reload takes effect at the next sweep. */
export interface PoolDeps {
  readonly limits: () => PoolLimits;
  /** Milliseconds that only grow. */
  readonly now?: () => number;
  /** Upper limit of entries kept or in use; a warm process takes some 120 MB. */
  readonly room?: number;
  readonly failed: (owner: string, error: unknown) => void;
}

/** The pool of all plugins. */
export interface Pool {
  /** The pool as one plugin sees it. */
  for(owner: string): Warm;
  /** Stops entries idle for longer than `maxAgeSeconds`. Called automatically every `sweepIntervalSeconds`. */
  sweep(): void;
  /** Stops the kept entries of one plugin, or of all. Resolves when they have ended. */
  end(owner?: string): Promise<void>;
}

interface IdleThing {
  readonly owner: string;
  readonly thing: unknown;
  readonly stop: () => Promise<void>;
  readonly idleSince: number;
}

/** The capability `warm`: one pool for all plugins, with the limits of the section `processPool`. */
export function warmCapability({ config, log }: LibraryDeps): LoadedCapability<Warm> {
  const pool = createPool({
    limits: () => config().processPool as PoolLimits,
    failed: (owner, error) => log.child(owner).warn({ err: error }, "a warm process could not be stopped"),
  });
  return {
    make({ id, onEnd }) {
      onEnd(() => void pool.end(id));
      return pool.for(id);
    },
    close: () => pool.end(),
  };
}

/** The pool behind the capability `warm` (001:L99-100). It never stops an entry in use. */
export function createPool({ limits, now = () => performance.now(), room = 8, failed }: PoolDeps): Pool {
  const idle = new Map<string, IdleThing>();
  const taken = new Map<string, string>();
  let timer: NodeJS.Timeout | undefined;

  const idleSeconds = ({ idleSince }: IdleThing): number => (now() - idleSince) / 1000;

  async function send(key: string, kept: IdleThing): Promise<void> {
    if (idle.get(key) === kept) idle.delete(key);
    try {
      await kept.stop();
    } catch (error) {
      failed(kept.owner, error);
    }
  }

  /** Ends the process that has been idle longest, if it has been idle for long enough. */
  function makeRoom(): boolean {
    if (idle.size + taken.size < room) return true;
    const oldest = [...idle].sort(([, left], [, right]) => left.idleSince - right.idleSince)[0];
    if (oldest === undefined || idleSeconds(oldest[1]) <= limits().maxIdleSeconds) return false;
    void send(...oldest);
    return true;
  }

  function sweep(): void {
    for (const [key, kept] of idle) if (idleSeconds(kept) > limits().maxAgeSeconds) void send(key, kept);
    schedule();
  }

  function schedule(): void {
    clearTimeout(timer);
    timer = idle.size === 0 ? undefined : setTimeout(sweep, limits().sweepIntervalSeconds * 1000).unref();
  }

  return {
    sweep,
    for: (owner) => ({
      has: (key) => idle.has(key) || taken.has(key),
      take<T>(key: string): T | undefined {
        const kept = idle.get(key);
        if (kept === undefined || kept.owner !== owner) return undefined;
        idle.delete(key);
        taken.set(key, owner);
        return kept.thing as T;
      },
      keep(key, thing, stop, ended) {
        const before = idle.get(key);
        if (before !== undefined) void send(key, before);
        taken.delete(key);
        const kept: IdleThing = { owner, thing, stop, idleSince: now() };
        if (!makeRoom()) return void send(key, kept);
        idle.set(key, kept);
        void ended.then(() => {
          if (idle.get(key) === kept) idle.delete(key);
        });
        if (timer === undefined) schedule();
      },
      drop(key) {
        if (taken.get(key) === owner) taken.delete(key);
      },
    }),
    async end(owner) {
      const leaving = [...idle].filter(([, kept]) => owner === undefined || kept.owner === owner);
      for (const [key, holder] of taken) if (owner === undefined || holder === owner) taken.delete(key);
      await Promise.all(leaving.map(([key, kept]) => send(key, kept)));
      schedule();
    },
  };
}
