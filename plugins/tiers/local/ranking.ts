import { questionOf, wordsOf } from "./words.ts";

/** BM25 over a list of passages (Robertson and Zaragoza 2009), with the usual parameters, and a floor: what hardly fits is not there. */
export interface Ranking<T> {
  /** Returns the passages that match the question, best first; empty without a match. */
  best(question: string, limit: number): T[];
}

const K1 = 1.2;
const B = 0.75;
/** A word in more of the passages than this, of so many at least, tells them apart no more than "the" does, in any language. */
const COMMON = { share: 0.25, passages: 20 };
/** Of one or two words that tell, an answer has all; of more, this share and two at least. */
const SHARE_NEEDED = 0.5;
/** Passages that score less than this share of the best are dropped. */
const WORTH = 0.35;
/** Weight of an optional word. */
const HELPFUL = 0.3;

/** Time for which a piece of indexing may block the event loop, in milliseconds. */
const BREATH_MS = 5;

/** Indexes the passages, letting others work in between. Ends early, with what it has, when `signal` aborts. */
export async function createRanking<T>(passages: readonly T[], textOf: (passage: T) => string, signal: AbortSignal): Promise<Ranking<T>> {
  const postings = new Map<string, Map<number, number>>();
  const lengths: number[] = [];
  let breath = performance.now();
  for (const [at, passage] of passages.entries()) {
    const words = wordsOf(textOf(passage));
    lengths.push(words.length);
    for (const word of words) {
      let counts = postings.get(word);
      if (counts === undefined) {
        counts = new Map();
        postings.set(word, counts);
      }
      counts.set(at, (counts.get(at) ?? 0) + 1);
    }
    if (performance.now() - breath < BREATH_MS) continue;
    await new Promise((resolve) => setImmediate(resolve));
    if (signal.aborted) break;
    breath = performance.now();
  }
  const average = lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, lengths.length);
  const isCommon = (word: string) => passages.length >= COMMON.passages && (postings.get(word)?.size ?? 0) > passages.length * COMMON.share;
  const none: ReadonlyMap<number, number> = new Map();

  return {
    best(question, limit) {
      const { needed, helpful } = questionOf(question, isCommon);
      if (needed.length === 0) return [];
      const scores = new Map<number, number>();
      const had = new Map<number, number>();
      const score = (word: string, share: number) => {
        const counts = postings.get(word) ?? none;
        const rarity = Math.log(1 + (passages.length - counts.size + 0.5) / (counts.size + 0.5));
        for (const [at, count] of counts) {
          const weight = (count * (K1 + 1)) / (count + K1 * (1 - B + (B * (lengths[at] as number)) / average));
          scores.set(at, (scores.get(at) ?? 0) + share * rarity * weight);
        }
        return counts.keys();
      };
      for (const word of needed) for (const at of score(word, 1)) had.set(at, (had.get(at) ?? 0) + 1);
      for (const word of helpful) score(word, HELPFUL);
      const least = needed.length <= 2 ? needed.length : Math.max(2, Math.ceil(needed.length * SHARE_NEEDED));
      const found = [...scores]
        .filter(([at]) => (had.get(at) ?? 0) >= least)
        .sort(([left, leftScore], [right, rightScore]) => rightScore - leftScore || left - right);
      const worth = (found[0]?.[1] ?? 0) * WORTH;
      return found
        .slice(0, limit)
        .filter(([, points]) => points >= worth)
        .map(([at]) => passages[at] as T);
    },
  };
}
