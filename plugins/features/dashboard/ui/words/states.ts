/** Name of each state. */
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

/** Name of each presence of an agent. */
export const PRESENCES = { idle: "idle", busy: "busy", broken: "broken", off: "switched off" } as const;
