/** A JSON object of a foreign program, before validation. */
export type Fields = Record<string, unknown>;

/** The value when it is an object, else an empty one. */
export const fieldsOf = (value: unknown): Fields => (typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {});

/** The objects of a list; empty ones in the places of other things. */
export const listOf = (value: unknown): readonly Fields[] => (Array.isArray(value) ? value.map(fieldsOf) : []);

/** The value when it is a text. */
export const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

/** The value as a whole number of at least 0, else 0. */
export const countOf = (value: unknown): number => (typeof value === "number" && Number.isFinite(value) && value >= 0 ? Math.round(value) : 0);
