/** The members that are there: those with `undefined` are left out. */
export const present = <T extends object>(members: T) =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as { [K in keyof T]?: NonNullable<T[K]> };
