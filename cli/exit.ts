/** Exit codes, after sysexits.h where it has one. Documented in the README. */
export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  /** The daemon of this folder does not answer, or another program uses its port. */
  noDaemon: 69,
  /** State cannot be kept: the folder, the disk or the database refuses it. */
  storage: 74,
  /** Retry, or check, later: another daemon has locked the folder, this one is stopping, or a task continues at its next start. */
  running: 75,
  /** The configuration cannot be used. */
  config: 78,
  /** Ended to be restarted: a supervisor starts the daemon anew. */
  restart: 79,
} as const;

/** Codes of "the daemon of this folder does not answer", even where another program does. */
export const NO_DAEMON: ReadonlySet<string> = new Set(["SVC_CLI_NO_DAEMON", "SVC_CLI_OTHER_DAEMON", "SVC_CLI_OTHER_PROGRAM", "SVC_CLI_LOST_FOLDER"]);

const LATER: ReadonlySet<string> = new Set([
  "SVC_DAEMON_RUNNING",
  "SVC_DAEMON_DRAINING",
  "SVC_CLI_TASK_LEFT",
  "SVC_CLI_TASK_UNKNOWN",
  "SVC_CLI_CHANGED",
  "SVC_CONFIG_CHANGED",
  "SVC_CONFIG_BUSY",
]);

/** The exit code of an error that reached the top: its own `exit`, where a command with codes of its own has set one. */
export function exitCodeOf(error: unknown): number {
  const { code, status, exit } = (error ?? {}) as { code?: unknown; status?: unknown; exit?: unknown };
  if (Number.isInteger(exit) && Number(exit) > 0 && Number(exit) < 256) return Number(exit);
  if (typeof code !== "string") return EXIT.failed;
  if (LATER.has(code)) return EXIT.running;
  if (code === "SVC_CONFIG_UNWRITABLE") return EXIT.storage;
  if (code.startsWith("SVC_CONFIG_")) return EXIT.config;
  if (code === "SVC_CLI_BIND" || code === "SVC_STORE_NONE" || code === "SVC_STORE_SEVERAL") return EXIT.config;
  if (code === "SVC_CLI_FILE" || code === "SVC_LOCK_FOLDER" || code === "SVC_FOLDER_FULL" || code === "SVC_CLI_HALF_RESTORED" || code.startsWith("SVC_STORE_"))
    return EXIT.storage;
  if (NO_DAEMON.has(code) || code === "SVC_CLI_SILENT") return EXIT.noDaemon;
  // A usage error, reported by a command or by the daemon.
  return code === "SVC_CLI_USAGE" || code.startsWith("commander.") || status === 400 ? EXIT.usage : EXIT.failed;
}
