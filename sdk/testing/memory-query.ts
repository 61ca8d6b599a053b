import { svcError } from "../errors.ts";
import type { Doc, Query } from "../store.ts";

/** `Collection.list` over documents in memory. Asking for an index that was not declared throws `SVC_STORE_INDEX`. */
export function select<T>(collection: string, docs: readonly Doc<T>[], indexes: ReadonlySet<string>, query: Query): Doc<T>[] {
  const { where = {}, by, from, to, after, reverse = false, limit = 100 } = query;
  for (const index of [...Object.keys(where), ...(by === undefined ? [] : [by])]) {
    if (!indexes.has(index))
      throw svcError("SVC_STORE_INDEX", `The collection ${collection} declares no index '${index}'; add it to its indexes.`, { status: 500 });
  }
  const field = (doc: Doc<T>, name: string) => {
    const value = (doc.value as Record<string, unknown> | null)?.[name];
    return typeof value === "string" || typeof value === "number" ? value : null;
  };
  const place = (doc: Doc<T>) => (by === undefined ? doc.key : field(doc, by));
  const sorted = docs
    .filter((doc) => Object.entries(where).every(([name, wanted]) => field(doc, name) === wanted))
    .filter((doc) => (from === undefined || compare(place(doc), from) >= 0) && (to === undefined || compare(place(doc), to) < 0))
    .filter((doc) => by === undefined || field(doc, by) !== null)
    .sort((left, right) => compare(place(left), place(right)) || compare(left.key, right.key));
  if (reverse) sorted.reverse();
  const rest = after === undefined ? sorted : sorted.slice(startAfter(sorted, after, reverse, by === undefined ? undefined : collection));
  return rest.slice(0, limit === Number.POSITIVE_INFINITY ? rest.length : Math.max(0, Math.min(limit, 1000)));
}

/** Returns the start of the page: by key that of any key, by an index (of the collection `indexed`) only that of an existing document. */
function startAfter<T>(sorted: readonly Doc<T>[], after: string, reverse: boolean, indexed: string | undefined): number {
  const last = sorted.findIndex((doc) => doc.key === after);
  if (last !== -1) return last + 1;
  if (indexed !== undefined) {
    throw svcError("SVC_STORE_CURSOR", `The document '${after}' to continue after is no longer in ${indexed}; start the list again.`, { status: 400 });
  }
  const next = sorted.findIndex((doc) => (reverse ? doc.key < after : doc.key > after));
  return next === -1 ? sorted.length : next;
}

/** Orders null first, then numbers, then strings, as an index does. */
function compare(left: string | number | null, right: string | number | null): number {
  const rank = (value: string | number | null) => (value === null ? 0 : typeof value === "number" ? 1 : 2);
  if (rank(left) !== rank(right)) return rank(left) - rank(right);
  if (left === right || left === null || right === null) return 0;
  return left < right ? -1 : 1;
}
