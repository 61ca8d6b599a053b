const CHARACTERS = 200;

/** The beginning of a message, as lists show it: a text of its own, that keeps nothing of the whole in memory. */
export const previewOf = (message: string): string => [...message.slice(0, 2 * CHARACTERS)].slice(0, CHARACTERS).join("");
