import { setTimeout as sleep } from "node:timers/promises";
import type { SvcError } from "../errors.ts";
import type { TierFailure } from "../failure.ts";
import type { TierEvent } from "../tier.ts";
import type { RpcOptions } from "./line-rpc.ts";
import type { EnginePool, PooledEngine } from "./pool.ts";
import { runFailure } from "./run-failure.ts";

/** Time between interrupting a program and ending it: short, so that a cancelled run is gone within 4 s; a shared process may serve other runs. */
const INTERRUPT_MS = { alone: 400, shared: 700 } as const;

/** A run on an engine of a pool. */
export interface PooledRun {
  readonly engine: PooledEngine;
  /** Call it when the program has the turn's conversation open: from now on an abort calls `interrupt`, and this conversation is cleaned after it. */
  begun(conversation: string, interrupt: () => void): void;
  /** Call it when the program has reported the end of the turn: the engine is kept. */
  over(): void;
}

/** Parts of a run on a pool. */
export interface PooledTurn {
  /** Called inside the run, so that an error becomes the run's failure. */
  launch(): Promise<RpcOptions> | RpcOptions;
  /** One process for all runs with the same program, arguments and environment. */
  readonly shared: boolean;
  readonly signal: AbortSignal;
  /** Classifies an error of the program; see `runFailure`. */
  refusal?(error: SvcError): TierFailure;
  /** The turn itself: words in, news out. */
  converse(run: PooledRun): AsyncGenerator<TierEvent>;
}

/**
 * Runs one turn on an engine of the pool: claims it; an abort interrupts the turn and, if that does not help, ends the process, unless the turn has no
 * conversation in it yet and other runs do; yields each error as a failure, and releases the engine. Yields nothing for a signal that has aborted
 * before.
 */
export async function* runOnPool(pool: EnginePool, { launch, shared, signal, refusal, converse }: PooledTurn): AsyncGenerator<TierEvent> {
  if (signal.aborted) return;
  let engine: PooledEngine | undefined;
  let turn: { readonly conversation: string; readonly interrupt: () => void } | undefined;
  let stream: AsyncGenerator<TierEvent> | undefined;
  let over = false;
  let left = false;
  let parts = false;
  let part = () => {};
  const parted = new Promise<undefined>((resolve) => {
    part = () => resolve(undefined);
  });
  const interrupt = () => {
    turn?.interrupt();
    void sleep(INTERRUPT_MS[shared ? "shared" : "alone"], undefined, { ref: false }).then(() => {
      if (over || left) return;
      parts = turn === undefined && engine !== undefined && engine.users > 1;
      if (parts) part();
      else void engine?.rpc.stop();
    });
  };
  async function release(used: PooledEngine): Promise<void> {
    try {
      await stream?.return(undefined);
    } finally {
      await pool.giveBack(used, { over, ...(signal.aborted && turn !== undefined ? { interrupted: turn.conversation } : {}) });
    }
  }
  try {
    engine = await pool.claim({ launch: await launch(), shared, signal });
    signal.addEventListener("abort", interrupt, { once: true });
    if (signal.aborted) interrupt();
    stream = converse({
      engine,
      begun(conversation, breakOff) {
        turn = { conversation, interrupt: breakOff };
        if (signal.aborted) breakOff();
      },
      over() {
        over = true;
      },
    });
    for (;;) {
      const next = stream.next();
      const news = turn === undefined ? await Promise.race([next, parted]) : await next;
      if (news === undefined || news.done === true) break;
      yield news.value;
    }
  } catch (error) {
    yield runFailure(error, signal, refusal);
  } finally {
    left = true;
    signal.removeEventListener("abort", interrupt);
    const released = engine === undefined ? undefined : release(engine);
    // What the program is opening for this run belongs to it until it is open.
    if (parts) released?.catch(() => undefined);
    else await released;
  }
}
