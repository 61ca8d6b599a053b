/** BM25 over a list of passages (Robertson and Zaragoza 2009), with the usual parameters. */
export interface Ranking<T> {
  /** The passages that share words with the question, best first. */
  best(question: string, limit: number): T[];
}

const K1 = 1.2;
const B = 0.75;

/** Lower-case words and numbers of any script. Scripts without spaces are split into pairs of characters. */
export function wordsOf(text: string): string[] {
  const words =
    text
      .normalize("NFKC")
      .toLowerCase()
      .match(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]+|[\p{L}\p{M}\p{N}]+/gu) ?? [];
  return words.flatMap((word) => {
    if (!/^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u.test(word)) return [word];
    const letters = [...word];
    return letters.length === 1 ? letters : letters.slice(1).map((letter, at) => `${letters[at]}${letter}`);
  });
}

/** How long a piece of indexing may hold the daemon up, in milliseconds. */
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
  return {
    best(question, limit) {
      const scores = new Map<number, number>();
      for (const word of new Set(wordsOf(question))) {
        const counts = postings.get(word);
        if (counts === undefined) continue;
        const rarity = Math.log(1 + (passages.length - counts.size + 0.5) / (counts.size + 0.5));
        for (const [at, count] of counts) {
          const weight = (count * (K1 + 1)) / (count + K1 * (1 - B + (B * (lengths[at] as number)) / average));
          scores.set(at, (scores.get(at) ?? 0) + rarity * weight);
        }
      }
      return [...scores]
        .sort(([left, leftScore], [right, rightScore]) => rightScore - leftScore || left - right)
        .slice(0, limit)
        .map(([at]) => passages[at] as T);
    },
  };
}
