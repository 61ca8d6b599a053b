import { reasonOf } from "./errors.ts";
import type { Lease, Store } from "./store.ts";
import { linked, sleep } from "./time.ts";

/** Interval at which a standby daemon tries to get the lease, in milliseconds. */
const ASK_EVERY_MS = 1_000;
const LEASE_MS = 7_000;

/** Signal and callbacks of `whileHeld`. */
export interface WhileHeldOptions {
  /** Aborting it stops the work and releases the lease. */
  readonly signal: AbortSignal;
  /** Another daemon has the lease: its node, if the store knows it. Called again when the holder changes. */
  standby?(node: string | undefined): void;
  /** The store could not be read; called once until it can be again. Retried automatically. */
  failed?(reason: string): void;
}

/**
 * Runs `work` on one daemon at a time of all that use the store: starts it when this one gets the lease `name`, aborts its signal when the lease is
 * lost, some seconds before another daemon may get it, and tries again once the work has ended. Resolves when `signal` aborts, and when the work ends
 * by itself; rejects with its error. With a store that one daemon uses alone the work starts at once.
 */
export async function whileHeld(
  store: Pick<Store, "lease">,
  name: string,
  { signal, standby, failed }: WhileHeldOptions,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  let told: { readonly node: string | undefined } | undefined;
  let failing = false;
  while (!signal.aborted) {
    let lease: Lease | undefined;
    try {
      lease = await store.lease(name, LEASE_MS);
      failing = false;
    } catch (error) {
      if (signal.aborted) return;
      if (!failing) failed?.(reasonOf(error));
      failing = true;
    }
    if (lease?.held !== true) {
      if (lease !== undefined && (told === undefined || told.node !== lease.holder)) {
        told = { node: lease.holder };
        standby?.(lease.holder);
      }
      await sleep(ASK_EVERY_MS, signal);
      continue;
    }
    told = undefined;
    const own = linked(signal, lease.signal);
    try {
      await work(own.signal);
      if (!own.signal.aborted) return;
    } finally {
      own.release();
      // A lease that cannot be released expires with the daemon's own lease.
      await lease.release().catch(() => {});
    }
  }
}

/** Returns the state of a channel whose other daemon listens, as text for the operator. */
export const standbyNote = (node: string | undefined): string => `standby, ${node === undefined ? "another daemon" : `node ${node}`} has it`;
