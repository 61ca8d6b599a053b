/** One thing the doctor looked at. What is an error keeps the daemon, or a part of it, from working. */
export interface Finding {
  readonly level: "ok" | "warning" | "error";
  /** What is, and what to do about it where something is wrong. */
  readonly text: string;
}

/** A check that passed. */
export const ok = (text: string): Finding => ({ level: "ok", text });
/** A check that found something that works but should be looked at. */
export const warning = (text: string): Finding => ({ level: "warning", text });
/** A check that found something that does not work. */
export const error = (text: string): Finding => ({ level: "error", text });
