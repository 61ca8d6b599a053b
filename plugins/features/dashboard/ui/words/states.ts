/** What each state is called. */
export const STATES = {
  ok: "ok",
  running: "running",
  waiting: "waiting",
  failed: "failed",
  "timed-out": "timed out",
  paused: "paused",
  cancelled: "cancelled",
  queued: "queued",
  skipped: "skipped",
} as const;

/** What each presence of an agent is called. */
export const PRESENCES = { idle: "idle", busy: "busy", broken: "broken", off: "switched off" } as const;
