import { onAbort } from "@svc/sdk";
import type { Claim, Work } from "./work.ts";

/** Callbacks of a slot. */
export interface SlotEvents {
  /** The slot was released. */
  parked(): void;
  /** The turn wants its slot back, and all are in use. */
  blocked(): void;
}

/** A running turn's slot among those of its agent: released while the turn waits for something outside, reacquired to continue. */
export class Slot<T> {
  #claim: Claim<T>;
  readonly #work: Pick<Work<T>, "park" | "unpark">;
  readonly #events: SlotEvents;
  #state: "held" | "parked" | "wanted" = "held";
  #resume: ((claim: Claim<T>) => void) | undefined;

  constructor(claim: Claim<T>, work: Pick<Work<T>, "park" | "unpark">, events: SlotEvents) {
    this.#claim = claim;
    this.#work = work;
    this.#events = events;
  }

  /** The turn's current claim of its lane. */
  get claim(): Claim<T> {
    return this.#claim;
  }

  /** `wanted`: the turn is ready to continue and waits for a slot. */
  get state(): "held" | "parked" | "wanted" {
    return this.#state;
  }

  /** Gives the slot away; the lane stays closed. */
  async park(): Promise<void> {
    if (this.#state !== "held" || !(await this.#work.park(this.#claim))) return;
    this.#state = "parked";
    this.#events.parked();
  }

  /** Takes a slot again, waiting for it if need be. False when `signal` aborted first: then the turn is parked as before, and ends so. */
  async unpark(signal: AbortSignal): Promise<boolean> {
    if (this.#state === "held") return true;
    if (signal.aborted) return false;
    this.#state = "wanted";
    let forget = () => {};
    try {
      return await new Promise<boolean>((resolve, reject) => {
        this.#resume = (claim) => {
          this.#claim = claim;
          this.#state = "held";
          resolve(true);
        };
        const giveUp = async () => {
          // Claimed again at this very moment: then the claim is on its way here.
          if (this.#state === "wanted" && (await this.#work.park(this.#claim))) resolve(false);
        };
        forget = onAbort(signal, () => void giveUp().catch(reject));
        this.#askBack().catch(reject);
      });
    } finally {
      forget();
      this.#resume = undefined;
      if (this.#state === "wanted") this.#state = "parked";
    }
  }

  async #askBack(): Promise<void> {
    await this.#work.unpark(this.#claim);
    if (this.#state === "wanted") this.#events.blocked();
  }

  /** Passes a further claim of the batch to the turn. Returns false if the turn does not wait for one. */
  give(claim: Claim<T>): boolean {
    this.#resume?.(claim);
    return this.#resume !== undefined;
  }
}
