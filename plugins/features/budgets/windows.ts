import type { Jobs } from "@svc/sdk";
import type { Period } from "./caps.ts";

/** A span of absolute time in which something is counted, in Unix milliseconds; `to` is no part of it. */
export interface Window {
  readonly period: Period;
  readonly from: number;
  readonly to: number;
}

const HOUR_MS = 3_600_000;
/** A day of the clock is at most 25 hours long, one in which a zone moves over the date line apart. */
const LONGEST_DAY_MS = 27 * HOUR_MS;

/** Tells the windows of a moment; a day begins at midnight of a time zone. */
export class Windows {
  readonly #jobs: Pick<Jobs, "next">;
  #day: (Window & { readonly timezone: string }) | undefined;

  constructor(jobs: Pick<Jobs, "next">) {
    this.#jobs = jobs;
  }

  async at(now: number, timezone: string): Promise<readonly [hour: Window, day: Window]> {
    const from = Math.floor(now / HOUR_MS) * HOUR_MS;
    return [{ period: "hour", from, to: from + HOUR_MS }, await this.#dayOf(now, timezone)];
  }

  async #dayOf(now: number, timezone: string): Promise<Window> {
    const known = this.#day;
    if (known !== undefined && known.timezone === timezone && now >= known.from && now < known.to) return known;
    const midnights = (await this.#jobs.next("0 0 * * *", timezone, { count: 4, from: new Date(now - LONGEST_DAY_MS) })).map((date) => date.getTime());
    const from = midnights.filter((midnight) => midnight <= now).at(-1) ?? now - (now % (24 * HOUR_MS));
    const to = midnights.find((midnight) => midnight > now) ?? from + 24 * HOUR_MS;
    this.#day = { period: "day", from, to, timezone };
    return this.#day;
  }
}
