import type { Usage } from "@svc/sdk";

/** Copies only the declared fields: the object is a plugin's, and is stored and published. */
export const countsOf = ({ input, output, cacheRead, cacheCreate, cost }: Usage): Usage => ({
  input,
  output,
  ...(cacheRead === undefined ? {} : { cacheRead }),
  ...(cacheCreate === undefined ? {} : { cacheCreate }),
  ...(cost === undefined ? {} : { cost }),
});

/** Returns the total usage of a turn's earlier runs and of the run after them. */
export function sumOf(first: Usage | undefined, second: Usage): Usage {
  if (first === undefined) return second;
  const sum = (key: keyof Usage) => (first[key] === undefined && second[key] === undefined ? {} : { [key]: (first[key] ?? 0) + (second[key] ?? 0) });
  return { input: first.input + second.input, output: first.output + second.output, ...sum("cacheRead"), ...sum("cacheCreate"), ...sum("cost") };
}
