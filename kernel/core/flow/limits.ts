/** Most messages that `queueMode: collect` makes one turn of; what came after them is the next turn. */
export const COLLECT_MESSAGES = 50;
/** Most characters of these messages together. One that is longer by itself is a turn of its own. */
export const COLLECT_CHARACTERS = 64_000;
/** Calls of one agent by another (`agent.call`) within such calls, as long as each waits for the next. */
export const CALL_DEPTH = 32;
/** Seconds that an agent's scheduled job may take at least. */
export const JOB_SECONDS = 7_200;
/** How long messages are kept for an agent that a reload took away. */
export const ABSENT_MS = 30_000;
