/** Whether an answer is still to come. Thenables of foreign making count too: a plugin may bundle its own promise. */
export function isPromise<T>(value: T | Promise<T>): value is Promise<T> {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}
