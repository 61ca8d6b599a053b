import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Rounds of garbage collection: objects held only by a chain of signals are collected after a few. */
const ROUNDS = 6;

/** Collects garbage a few times, a moment after the caller has begun something. */
export async function collections(): Promise<void> {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  await sleep(200);
  for (let round = 0; round < ROUNDS; round += 1) {
    collect();
    await sleep(10);
  }
}
