/** The time limit of a run: counts while the turn may work, is paused while it is parked, and restarts when another engine takes over. */
export class RunClock {
  readonly #limitMs: number;
  readonly #over: () => void;
  #left: number;
  #since = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(seconds: number, over: () => void) {
    this.#limitMs = this.#left = seconds * 1000;
    this.#over = over;
  }

  /** Counts on. */
  run(): void {
    if (this.#timer !== undefined) return;
    this.#since = performance.now();
    this.#timer = setTimeout(this.#over, this.#left);
  }

  /** Pauses until `run`. */
  stand(): void {
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#left = Math.max(0, this.#left - (performance.now() - this.#since));
  }

  /** The whole time again. */
  restart(): void {
    this.stand();
    this.#left = this.#limitMs;
    this.run();
  }
}
