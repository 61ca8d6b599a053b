/** One finding of the doctor. An error prevents the daemon, or a part of it, from working. */
export interface Finding {
  readonly level: "ok" | "warning" | "error";
  /** The state, and how to fix it if it is wrong. */
  readonly text: string;
}

/** A check that passed. */
export const ok = (text: string): Finding => ({ level: "ok", text });
/** A finding about something that works but needs attention. */
export const warning = (text: string): Finding => ({ level: "warning", text });
/** A check that found something that does not work. */
export const error = (text: string): Finding => ({ level: "error", text });
