import type { Log, StoreWork, WorkClaim } from "@svc/sdk";
import type { Claim } from "../core/flow/work.ts";

/** A claim of rows that this daemon works on. */
export interface Held<T> extends Claim<T> {
  state: "running" | "parked" | "unparked" | "over";
  finished: boolean;
  /** Given up by this daemon, which was not heard of: another one may have it. */
  lost?: true;
  /** Its worker was told to stop these. */
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

/** Gives a batch back for another claim; false where it has ended or is not held any more, or the rows could not be told. Never rejects. */
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
