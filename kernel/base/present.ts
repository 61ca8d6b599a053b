/** Returns the object without the members that are `undefined`. */
export const present = <T extends object>(members: T) =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as { [K in keyof T]?: NonNullable<T[K]> };
