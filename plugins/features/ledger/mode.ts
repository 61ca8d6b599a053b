/** The variable that says how much the ledger counts (CFG-22). */
export const MODE_VARIABLE = "INTENT_LEDGER_MODE";

/** `off`: nothing is kept. `shadow`: kept, and decides nothing. `authoritative`: decides who works on what. */
export type Mode = "off" | "shadow" | "authoritative";

const MODES: readonly string[] = ["off", "shadow", "authoritative"] satisfies Mode[];

/** The mode that a value of the variable means; undefined for one that means none. Unset is `off`. */
export const modeOf = (value: string | undefined): Mode | undefined =>
  value === undefined || value === "" ? "off" : MODES.includes(value) ? (value as Mode) : undefined;
