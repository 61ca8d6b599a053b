/** Class names of an element, those that hold. */
export const classes = (...names: readonly (string | false | undefined)[]): string =>
  names.filter((name) => name !== undefined && name !== false && name !== "").join(" ");
