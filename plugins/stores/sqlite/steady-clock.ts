import { readFileSync } from "node:fs";

/** Where the steady time stood when it was noted. All in milliseconds. */
export interface ClockNote {
  readonly steady: number;
  readonly wall: number;
  /** Counts within one run of the operating system, over all processes. */
  readonly monotonic: number;
  readonly boot?: string;
}

/** The longest time without the daemon that counts: a clock that is wrong at a start makes nothing older than this. */
const LONGEST_GAP_MS = 24 * 3_600_000;
const NOTE_EVERY_MS = 3_600_000;
/** The last time that a date can tell. */
const LATEST = 8.64e15;
/** By more the wall clock does not stray from the steady time by itself between two looks. */
const STRAY_MS = 1_000;

/** Milliseconds since the operating system started; time asleep does not count. */
export const sinceBoot = (): number => Number(process.hrtime.bigint() / 1_000n) / 1_000;

/**
 * Time for pauses, leases and ages: Unix milliseconds when it first began, and from then on it only runs forward, whatever is done to
 * the wall clock. Over a restart it goes on by the same clock of the operating system; after a reboot the wall clock tells how long
 * nothing ran, a day at most.
 */
export class SteadyClock {
  readonly #wall: () => number;
  readonly #monotonic: () => number;
  readonly #boot = bootId();
  /** Steady time less monotonic time: the same for the life of the process. */
  readonly #base: number;
  #noted: ClockNote | undefined;

  constructor(wall: () => number, monotonic: () => number = sinceBoot, note?: ClockNote) {
    this.#wall = wall;
    this.#monotonic = monotonic;
    const earlier = isNote(note) ? note : undefined;
    this.#base = startOf(wall(), monotonic(), this.#boot, earlier) - monotonic();
    this.#noted = earlier;
  }

  readonly now = (): number => Math.floor(this.#base + this.#monotonic());

  /** Where it stands, to be given to the next process; undefined while the last note still tells it. */
  note(): ClockNote | undefined {
    const noted = this.#noted;
    const now: ClockNote = { steady: this.now(), wall: this.#wall(), monotonic: this.#monotonic(), ...(this.#boot === undefined ? {} : { boot: this.#boot }) };
    const strayed = noted === undefined || Math.abs(now.wall - now.steady - (noted.wall - noted.steady)) > STRAY_MS;
    if (!strayed && now.boot === noted.boot && now.steady - noted.steady < NOTE_EVERY_MS) return undefined;
    this.#noted = now;
    return now;
  }
}

/** A damaged note would damage all later ones: each is made from the one before. */
function isNote(note: ClockNote | null | undefined): note is ClockNote {
  return [note?.steady, note?.wall, note?.monotonic].every((time) => typeof time === "number" && time >= 0 && time <= LATEST);
}

function startOf(wall: number, monotonic: number, boot: string | undefined, note: ClockNote | undefined): number {
  if (note === undefined) return wall;
  const ran = monotonic - note.monotonic;
  if (boot !== undefined && boot === note.boot && ran >= 0) return note.steady + ran;
  return note.steady + Math.min(Math.max(0, wall - note.wall), LONGEST_GAP_MS);
}

/** Tells this run of the operating system from any other; undefined where it does not say. */
function bootId(): string | undefined {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return undefined;
  }
}
