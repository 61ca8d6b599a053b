/** Weight of terms: rare ones weigh more. */
export type Weigh = (term: string) => number;

/** The weights of terms by how many of `texts` have them. */
export function weights(texts: readonly ReadonlySet<string>[]): Weigh {
  const counts = new Map<string, number>();
  for (const terms of texts) for (const term of terms) counts.set(term, (counts.get(term) ?? 0) + 1);
  return (term) => Math.log(1 + (texts.length + 1) / ((counts.get(term) ?? 0) + 1));
}

/**
 * Score of a description for a request, from 0 to 1: the weighted share of common terms in the shorter or the longer text, whichever is larger. A
 * short request matches a long description, and a long request that contains all of a short one matches it, too. One common word is no match unless
 * the request is that word.
 */
export function scoreOf(request: ReadonlySet<string>, description: ReadonlySet<string>, weigh: Weigh): number {
  const shared = [...request].filter((term) => description.has(term));
  if (shared.length < Math.min(2, request.size, description.size) || shared.length === 0) return 0;
  const sum = (terms: Iterable<string>) => [...terms].reduce((total, term) => total + weigh(term), 0);
  const common = sum(shared);
  return Math.max(common / sum(request), common / sum(description));
}

/** Similarity of two texts, from 0 to 1 (Dice). */
export function likeness(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  if (one.size === 0 || other.size === 0) return 0;
  const [small, large] = one.size < other.size ? [one, other] : [other, one];
  let shared = 0;
  for (const term of small) if (large.has(term)) shared += 1;
  return (2 * shared) / (one.size + other.size);
}
