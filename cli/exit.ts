/** Exit codes, after sysexits.h where it has one. Documented in the README. */
export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  /** The daemon does not answer. */
  noDaemon: 69,
  /** State can no longer be kept; a supervisor should start the daemon anew. */
  storage: 74,
  /** Another daemon holds the folder. */
  running: 75,
  /** The configuration cannot be used. */
  config: 78,
  /** Ended to be restarted: a supervisor starts the daemon anew. */
  restart: 79,
} as const;

/** The exit code of an error that reached the top. */
export function exitCodeOf(error: unknown): number {
  const { code } = (error ?? {}) as { code?: unknown };
  if (typeof code !== "string") return EXIT.failed;
  if (code.startsWith("SVC_CONFIG_")) return EXIT.config;
  if (code.startsWith("SVC_STORE_")) return EXIT.storage;
  if (code === "SVC_DAEMON_RUNNING") return EXIT.running;
  if (code === "SVC_CLI_NO_DAEMON") return EXIT.noDaemon;
  return code === "SVC_CLI_USAGE" || code.startsWith("commander.") ? EXIT.usage : EXIT.failed;
}
