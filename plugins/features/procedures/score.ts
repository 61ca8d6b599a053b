/** How rare terms are among texts: a rare one says more. */
export type Weigh = (term: string) => number;

/** The weights of terms by how many of `texts` have them. */
export function weights(texts: readonly ReadonlySet<string>[]): Weigh {
  const counts = new Map<string, number>();
  for (const terms of texts) for (const term of terms) counts.set(term, (counts.get(term) ?? 0) + 1);
  return (term) => Math.log(1 + (texts.length + 1) / ((counts.get(term) ?? 0) + 1));
}

/**
 * How well a description fits a request, from 0 to 1: the share of the one that stands in the other, by weight, whichever share is larger.
 * A short request fits a long description, and a long request that holds all of a short one fits it, too. One word in common is none
 * unless the request is that word.
 */
export function scoreOf(request: ReadonlySet<string>, description: ReadonlySet<string>, weigh: Weigh): number {
  const shared = [...request].filter((term) => description.has(term));
  if (shared.length < Math.min(2, request.size, description.size) || shared.length === 0) return 0;
  const sum = (terms: Iterable<string>) => [...terms].reduce((total, term) => total + weigh(term), 0);
  const common = sum(shared);
  return Math.max(common / sum(request), common / sum(description));
}

/** How alike two texts are, from 0 to 1 (Dice). */
export function likeness(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  if (one.size === 0 || other.size === 0) return 0;
  const [small, large] = one.size < other.size ? [one, other] : [other, one];
  let shared = 0;
  for (const term of small) if (large.has(term)) shared += 1;
  return (2 * shared) / (one.size + other.size);
}
