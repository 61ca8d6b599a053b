/** Calls of one agent by another (`agent.call`) within such calls, as long as each waits for the next. */
export const CALL_DEPTH = 32;
/** Seconds that an agent's scheduled job may take at least. */
export const JOB_SECONDS = 7_200;
/** Grace period for messages to an agent that a reload removed. */
export const ABSENT_MS = 30_000;
