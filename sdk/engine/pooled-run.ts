import { setTimeout as sleep } from "node:timers/promises";
import type { SvcError } from "../errors.ts";
import type { TierFailure } from "../failure.ts";
import type { TierEvent } from "../tier.ts";
import type { RpcOptions } from "./line-rpc.ts";
import type { EnginePool, PooledEngine } from "./pool.ts";
import { runFailure } from "./run-failure.ts";

/** From asking a program to break off until it is ended: short, so that a cancelled run is gone within 4 s; others may be on a shared one. */
const INTERRUPT_MS = { alone: 400, shared: 700 } as const;

/** A run on an engine of a pool. */
export interface PooledRun {
  readonly engine: PooledEngine;
  /** Call it when the program has the turn's conversation open: from now on an abort calls `interrupt`, and this conversation is cleaned after it. */
  begun(conversation: string, interrupt: () => void): void;
  /** Call it when the program has told the turn's end: the engine is kept. */
  over(): void;
}

/** What a run on a pool is made of. */
export interface PooledTurn {
  /** Made in the run, so that what it throws becomes the run's failure. */
  launch(): Promise<RpcOptions> | RpcOptions;
  /** One process for all runs with the same program, arguments and environment. */
  readonly shared: boolean;
  readonly signal: AbortSignal;
  /** Reads what the program refused; see `runFailure`. */
  refusal?(error: SvcError): TierFailure;
  /** The turn itself: words in, news out. */
  converse(run: PooledRun): AsyncGenerator<TierEvent>;
}

/**
 * Runs one turn on an engine of the pool: claims it, has an abort interrupt the turn and, where that does not help, end the process,
 * tells each error as a failure, and gives the engine back. Yields nothing for a signal that has aborted before.
 */
export async function* runOnPool(pool: EnginePool, { launch, shared, signal, refusal, converse }: PooledTurn): AsyncGenerator<TierEvent> {
  if (signal.aborted) return;
  let engine: PooledEngine | undefined;
  let turn: { readonly conversation: string; readonly interrupt: () => void } | undefined;
  let over = false;
  const interrupt = () => {
    turn?.interrupt();
    void sleep(INTERRUPT_MS[shared ? "shared" : "alone"], undefined, { ref: false }).then(() => (over ? undefined : engine?.rpc.stop()));
  };
  try {
    engine = await pool.claim({ launch: await launch(), shared, signal });
    signal.addEventListener("abort", interrupt, { once: true });
    if (signal.aborted) interrupt();
    yield* converse({
      engine,
      begun(conversation, breakOff) {
        turn = { conversation, interrupt: breakOff };
        if (signal.aborted) breakOff();
      },
      over() {
        over = true;
      },
    });
  } catch (error) {
    yield runFailure(error, signal, refusal);
  } finally {
    signal.removeEventListener("abort", interrupt);
    if (engine !== undefined) await pool.giveBack(engine, { over, ...(signal.aborted && turn !== undefined ? { interrupted: turn.conversation } : {}) });
  }
}
