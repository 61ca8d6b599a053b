/** Order of the near side to activate a release that is already there. */
export interface Order {
  readonly folder: string;
  readonly release: string;
  /** The text for `svc.json`; absent: the one there stays. */
  readonly config?: string;
  /** The text for `.env`; absent: the one there stays. */
  readonly env?: string;
  /** For `shutdown.restart.allowBy`. */
  readonly by: string;
  readonly reason: string;
  /** Time limit for the new daemon to become healthy, in seconds. */
  readonly waitSeconds: number;
  /** Number of former releases to keep. */
  readonly keep: number;
}

/** Result of a switch. */
export type Outcome =
  | { readonly outcome: "up"; readonly release: string; readonly former?: string; readonly pid: number; readonly address: string }
  /** The restart waits for its window; the remote process continues by itself. */
  | { readonly outcome: "held"; readonly release: string; readonly at: string }
  /** Nothing was switched; the running release continues. */
  | { readonly outcome: "refused"; readonly reason: string; readonly kind: "busy" | "config" | "foreign" | "failed" }
  /** The new release did not start and the former one was restored; `back` false: that failed, too. */
  | { readonly outcome: "back"; readonly reason: string; readonly former?: string; readonly back: boolean };

/** A step of a switch, for people. */
export interface Step {
  readonly step: string;
}
