/** Capability `jobs`: work by the clock. One tick a minute; a (job, minute) runs at most once, over restarts too. */
export interface Jobs {
  /** A 5-field cron expression in `timezone` (default UTC). Throws `SVC_CRON_INVALID`. Registering an id again replaces it. */
  cron(id: string, expression: string, timezone: string | undefined, run: (minute: Date) => Promise<void>): () => void;
  /** A timer of any length that ends with the plugin. */
  after(ms: number, run: () => void): () => void;
  /**
   * Once, when the wall clock shows that time (Unix milliseconds for a number), which may be any number of years away. A time in the past runs at
   * once; one that passed during a suspend, or that a clock set ahead has skipped, runs within some seconds. The timer ends with the plugin and is
   * not stored: store the time in a row, and call this again in `start`. Throws `SVC_TIME_INVALID`.
   */
  at(time: Date | number, run: () => Promise<void> | void): () => void;
  /** Repeats until the plugin ends, without overlap; the first run comes after `ms`. Throws `SVC_INTERVAL_INVALID` below 1 ms. */
  every(ms: number, run: () => Promise<void> | void): () => void;
  /**
   * When a 5-field cron expression runs in `timezone` (default UTC), as `cron` would: the next times in order, fewer where it runs no more.
   * Throws `SVC_CRON_INVALID`.
   */
  next(expression: string, timezone?: string, range?: TimeRange): Promise<readonly Date[]>;
  /** Minutes that passed without the cron job of that id, oldest first: missed runs are reported but not made up for. */
  missed(id: string): Promise<readonly MissedMinutes[]>;
}

/**
 * Minutes in which a cron job should have run and did not: the daemon was down or about to stop, the machine slept, or its clock
 * jumped. Noted once for each such time.
 */
export interface MissedMinutes {
  /** The first and the last of them, ISO 8601. */
  readonly first: string;
  readonly last: string;
  /** Number of missed runs, counted up to a thousand; `more` says that there were others. */
  readonly count: number;
  readonly more?: boolean;
  /** The daemon ended as it began the job for this minute: whether it ran is not known, and it does not run again. */
  readonly unsure?: boolean;
  /** When it was noticed, in Unix milliseconds. */
  readonly at: number;
}

/** Range of a schedule's run times. */
export interface TimeRange {
  /** Number of times, at most 1000. Default 5. */
  readonly count?: number;
  /** After this moment. Default now. */
  readonly from?: Date;
}
