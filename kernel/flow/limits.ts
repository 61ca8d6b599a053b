/** Most messages that `queueMode: collect` makes one turn of; what came after them is the next turn. */
export const COLLECT_MESSAGES = 50;
/** Most characters of these messages together. One that is longer by itself is a turn of its own. */
export const COLLECT_CHARACTERS = 64_000;
