import type { Log, StoreWork, WorkClaim } from "@svc/sdk";
import type { Claim } from "../core/flow/work.ts";

/** A claim of rows that this daemon works on. */
export interface Held<T> extends Claim<T> {
  state: "running" | "parked" | "unparked" | "over";
  finished: boolean;
  /** The claim was released after this daemon missed its lease: another one may hold it. */
  lost?: true;
  /** Items whose worker was asked to stop. */
  readonly told: Set<string>;
}

/** A claim that this daemon begins to work on, with the items of its batch. */
export const heldClaim = <T>({ conversation, agent, token }: WorkClaim, batch: Claim<T>["batch"]): Held<T> => ({
  batch,
  conversation,
  agent,
  token,
  state: "running",
  finished: false,
  told: new Set(),
});

/** Releases a batch for another claim; false if it has ended, is no longer held, or the rows could not be updated. Never rejects. */
export async function giveBack<T>(claim: Held<T>, rows: Pick<StoreWork, "release">, log: Pick<Log, "warn">): Promise<boolean> {
  if (claim.finished) return false;
  try {
    return await rows.release(claim);
  } catch (error) {
    // Others have it as soon as this daemon is dead.
    log.warn({ err: error }, "an interrupted turn was not given back");
    return false;
  }
}
