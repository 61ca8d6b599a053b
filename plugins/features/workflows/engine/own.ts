/** Returns a record's own value of a key: nodes may be called `constructor` or `toString`, which every object inherits. */
export const own = <T>(record: Readonly<Record<string, T>>, key: string): T | undefined => (Object.hasOwn(record, key) ? record[key] : undefined);
