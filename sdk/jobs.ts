/** Capability `jobs`: work by the clock. One tick a minute; a (job, minute) runs at most once, over restarts too. */
export interface Jobs {
  /** A 5-field cron expression in `timezone` (default UTC). Throws `SVC_CRON_INVALID`. Registering an id again replaces it. */
  cron(id: string, expression: string, timezone: string | undefined, run: (minute: Date) => Promise<void>): () => void;
  /** A timer of any length that ends with the plugin. */
  after(ms: number, run: () => void): () => void;
  /**
   * Once, when the wall clock shows that time (Unix milliseconds for a number), which may be any number of years away. A time that has passed
   * comes at once: also one that was slept through or that a clock set ahead has skipped, within some seconds. It ends with the plugin and is
   * not stored: keep the time in a row, and ask again in `start`. Throws `SVC_TIME_INVALID`.
   */
  at(time: Date | number, run: () => Promise<void> | void): () => void;
  every(ms: number, run: () => Promise<void> | void): () => void;
  /**
   * When a 5-field cron expression runs in `timezone` (default UTC), as `cron` would: the next times in order, fewer where it runs no more.
   * Throws `SVC_CRON_INVALID`.
   */
  next(expression: string, timezone?: string, range?: TimeRange): Promise<readonly Date[]>;
  /** What passed without the cron job of that id, oldest first: nothing is made up for, but nothing is silent either. */
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
  /** How many: counted up to a thousand, `more` says that there were others. */
  readonly count: number;
  readonly more?: boolean;
  /** When it was noticed, in Unix milliseconds. */
  readonly at: number;
}

/** Which of the times of a schedule. */
export interface TimeRange {
  /** How many, at most 1000. Default 5. */
  readonly count?: number;
  /** After this moment. Default now. */
  readonly from?: Date;
}
