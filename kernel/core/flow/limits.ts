/** Calls of one agent by another (`agent.call`) within such calls, as long as each waits for the next. */
export const CALL_DEPTH = 32;
/** Seconds that an agent's scheduled job may take at least. */
export const JOB_SECONDS = 7_200;
/** How long messages are kept for an agent that a reload took away. */
export const ABSENT_MS = 30_000;
