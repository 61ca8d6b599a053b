import type { ObjectSchema, Schema } from "@svc/sdk";
import { count, flag, range, word, words } from "../../../base/schema/shapes.ts";
import { CONTRACT_SETTINGS } from "../contract-keys.ts";

/** `session` (001:L81-91). Where the reference states two defaults, the first (CFG-01). */
export const SESSION: ObjectSchema = {
  type: "object",
  description: "conversations and dispatch budgets",
  default: {},
  properties: {
    staleMinutes: range("idle minutes after which the next turn starts fresh", 1, 1440, { default: 720 }),
    maxTurnsPerSession: range("turns before rotation", 2, 200, { type: "integer", default: 40 }),
    tierTwoThresholdTokens: range("rotate when the prior turn's total input crosses this many tokens", 50_000, 200_000, { default: 180_000 }),
    ...CONTRACT_SETTINGS.session,
    continuityStateTurns: range("extra earlier requests shown to the continuity decision", 0, 5, { type: "integer", default: 0 }),
  },
};

/** `processPool` (001:L95-101): when warm processes are stopped. */
export const PROCESS_POOL: ObjectSchema = {
  type: "object",
  description: "warm processes",
  default: {},
  properties: {
    maxIdleSeconds: range("idle seconds after which a warm process may be stopped to make room", 5, 86_400, { default: 30 }),
    maxAgeSeconds: range("idle seconds after which a warm process is always stopped", 60, 86_400, { default: 2700 }),
    sweepIntervalSeconds: range("seconds between two checks", 1, 300, { default: 5 }),
  },
};

/** `plugins` (001:L103): plugins beside the first-party ones; prefix `process:` isolates one in its own process, `"!<id>"` keeps one from loading (CFG-24). */
export const PLUGINS: Schema = {
  type: "array",
  description:
    'installed package names and ./paths, each with "process:" before it to run in a process of its own, and "!<plugin id>" for those that must not load',
  items: word("package name or path, process:<package name or path>, or !plugin"),
  default: [],
  restart: true,
};

/** `shutdown` (001:L206-208). `drainTimeoutSeconds` unset stays unset: `drainSeconds` returns the default then. */
export const SHUTDOWN: ObjectSchema = {
  type: "object",
  description: "stops and restarts",
  default: {},
  properties: {
    drainTimeoutSeconds: range("seconds a stop waits for running tasks", 0, 86_400),
    restart: {
      type: "object",
      default: {},
      properties: {
        allowBy: word("regular expression for who may restart at once; unset means anyone", { format: "regex" }),
        window: word("local time of the restart window, HH:MM", { pattern: "^([01][0-9]|2[0-3]):[0-5][0-9]$" }),
        windowWaitMinutes: range("minutes", 1, 1440, { default: 180 }),
        forbidOnTimeoutRestart: flag("restart only when idle, else give up", { default: false }),
      },
    },
  },
};

/** `resume` (001:L210-212): interrupted work after a restart. */
export const RESUME: ObjectSchema = {
  type: "object",
  description: "interrupted work after a restart",
  default: {},
  properties: {
    enabled: flag("switch", { default: true }),
    maxAgeMinutes: { type: "number", minimum: 1, default: 30, description: "minutes; older work is reported, not resumed" },
    maxAttempts: count("attempts", 0, { default: 1 }),
    reportOnlyChannels: words("channels whose work is only reported", { default: [] }),
    directChannels: words("channels whose answers are not delivered", { default: [] }),
    crashLoop: {
      type: "object",
      default: {},
      properties: {
        restarts: count("this many restarts within windowMinutes pause resuming", 1, { default: 3 }),
        windowMinutes: { type: "number", minimum: 1, default: 10, description: "minutes" },
      },
    },
  },
};

/** `retention`: how long history is kept that people may want to read again. */
export const RETENTION: ObjectSchema = {
  type: "object",
  description: "how long traces, histories and logs are kept",
  default: {},
  properties: {
    traceDays: range("days for which traces are kept", 7, 36_500, { type: "integer", default: 90 }),
    historyDays: range("days for which the histories of chats are kept", 7, 36_500, { type: "integer", default: 365 }),
    maxMegabytes: range("megabytes of database, histories and files that came with messages; the oldest go when there are more", 16, 1_048_576, {
      type: "integer",
      default: 2_048,
    }),
    logMegabytes: range("megabytes of a log file of the daemon in the background; then it starts a new one", 1, 10_240, { default: 10 }),
    logFiles: range("log files that are kept, with the current one", 1, 100, { type: "integer", default: 3 }),
  },
};

/** `events` (001:L220). */
export const EVENTS: ObjectSchema = {
  type: "object",
  description: "event bus",
  default: {},
  properties: { ringSize: count("events kept for late listeners", 1, { default: 1000 }) },
};
