/** What the far side is to do with a release that is there, as the near side writes it. */
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
  /** How long the new daemon may take until it is healthy, in seconds. */
  readonly waitSeconds: number;
  /** How many former releases stay. */
  readonly keep: number;
}

/** How a switch ended. */
export type Outcome =
  | { readonly outcome: "up"; readonly release: string; readonly former?: string; readonly pid: number; readonly address: string }
  /** The restart waits for its window; the far side goes on by itself. */
  | { readonly outcome: "held"; readonly release: string; readonly at: string }
  /** Nothing was switched; what ran runs. */
  | { readonly outcome: "refused"; readonly reason: string; readonly kind: "busy" | "config" | "foreign" | "failed" }
  /** The new release did not start and the former one is back; `back` false: it is not, either. */
  | { readonly outcome: "back"; readonly reason: string; readonly former?: string; readonly back: boolean };

/** A step of a switch, for people. */
export interface Step {
  readonly step: string;
}
