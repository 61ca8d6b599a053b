import { reasonOf } from "./errors.ts";
import type { Lease, Store } from "./store.ts";
import { linked, sleep } from "./time.ts";

/** How often a daemon that stands by asks whether it is its turn, in milliseconds. */
const ASK_EVERY_MS = 1_000;
const LEASE_MS = 7_000;

/** How `whileHeld` is told to end, and whom it tells. */
export interface WhileHeldOptions {
  /** Ends it: the work is stopped, and the lease given back. */
  readonly signal: AbortSignal;
  /** Another daemon has the lease: its node, where the store knows it. Told again when another one has it. */
  standby?(node: string | undefined): void;
  /** The store could not be asked; told once until it could. It is asked again by itself. */
  failed?(reason: string): void;
}

/**
 * Does `work` on one daemon at a time of all that use the store: begins it when this one gets the lease `name`, aborts its signal when that is
 * lost, some seconds before another daemon may have it, and asks again once the work has come to its end. Resolves when `signal` aborts, and
 * when the work ends by itself; rejects with what it throws. With a store that one daemon uses alone the work begins at once.
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
      // What cannot be given back ends with the daemon's own lease.
      await lease.release().catch(() => {});
    }
  }
}

/** What an operator reads of a channel whose other daemon listens. */
export const standbyNote = (node: string | undefined): string => `standby, ${node === undefined ? "another daemon" : `node ${node}`} has it`;
