import type { SettingEdit } from "@svc/sdk";
import { type FormPath, isFields, overlap, pathText, same, valueAt, withValue } from "./form-path.ts";

/** One change of a document. */
export interface Change {
  readonly path: FormPath;
  /** Undefined: it was not there, or is taken out. */
  readonly before: unknown;
  readonly after: unknown;
}

/**
 * Returns the changes from `before` to `after`, as few and as deep as possible, so that everything beside them keeps its formatting. Applied one
 * after the other they give `after`; entries are removed from the end of a list.
 */
export function changesBetween(before: unknown, after: unknown, path: FormPath = []): readonly Change[] {
  if (same(before, after)) return [];
  if (isFields(before) && isFields(after)) {
    const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
    return keys.flatMap((key) => changesBetween(own(before, key), own(after, key), [...path, key]));
  }
  if (Array.isArray(before) && Array.isArray(after)) return changesOfList(before, after, path);
  return [{ path, before, after }];
}

const own = (value: Readonly<Record<string, unknown>>, key: string): unknown => (Object.hasOwn(value, key) ? value[key] : undefined);

function changesOfList(before: readonly unknown[], after: readonly unknown[], path: FormPath): readonly Change[] {
  if (after.length < before.length) {
    const gone = leaving(before, after);
    if (gone === undefined) return [{ path, before, after }];
    return gone.reverse().map((at) => ({ path: [...path, at], before: before[at], after: undefined }));
  }
  const places = after.map((_, at) => at);
  return places.flatMap((at) => {
    if (at >= before.length) return [{ path: [...path, at], before: undefined, after: after[at] }];
    return changesBetween(before[at], after[at], [...path, at]);
  });
}

/** The places of the entries that are left out; undefined where others have changed, too. */
function leaving(before: readonly unknown[], after: readonly unknown[]): number[] | undefined {
  const gone: number[] = [];
  let at = 0;
  for (const [place, entry] of before.entries()) {
    if (at < after.length && same(entry, after[at])) at += 1;
    else gone.push(place);
  }
  return at === after.length ? gone : undefined;
}

/** Changes as the server takes them. Of a value with `${NAME}` only those at a path of `references` may read the environment. */
export function editsOf(changes: readonly Change[], references: ReadonlySet<string> = new Set()): readonly SettingEdit[] {
  return changes.map(({ path, after }) => ({
    path,
    ...(after === undefined ? {} : { value: after }),
    ...(referencesIn(after).length > 0 && references.has(pathText(path)) ? { reference: true as const } : {}),
  }));
}

/** The variables that a value names. */
export function referencesIn(value: unknown): readonly string[] {
  return [...(JSON.stringify(value) ?? "").matchAll(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g)].map(([, name]) => name as string);
}

/** A change that both sides made, to different values. */
export interface Conflict {
  readonly path: FormPath;
  readonly base: unknown;
  readonly yours: unknown;
  readonly theirs: unknown;
}

/** Result of merging one's changes into a concurrently changed document. */
export interface Merged {
  /** Their document with one's changes that do not touch theirs. */
  readonly value: unknown;
  readonly conflicts: readonly Conflict[];
  /** Their changes. */
  readonly theirs: readonly Change[];
}

/** Puts one's changes on what somebody else has made of the same document. Nothing is lost: what both changed is a conflict, and theirs stands meanwhile. */
export function mergeChanges(base: unknown, yours: unknown, theirs: unknown): Merged {
  const own = changesBetween(base, yours);
  const others = changesBetween(base, theirs);
  const conflicts: Conflict[] = [];
  let value = theirs;
  for (const change of own) {
    const scope = scopeOf(change.path, base, yours, theirs);
    const rival = others.map(({ path }) => scopeOf(path, base, yours, theirs)).find((path) => overlap(path, scope));
    if (rival === undefined) {
      value = withValue(value, change.path, change.after);
      continue;
    }
    // The wider of the two paths holds both changes whole.
    const path = rival.length < scope.length ? rival : scope;
    const conflict = { path, base: valueAt(base, path), yours: valueAt(yours, path), theirs: valueAt(theirs, path) };
    const known = conflicts.some((one) => same(one.path, path));
    if (!known && !same(conflict.yours, conflict.theirs)) conflicts.push(conflict);
  }
  return { value, conflicts, theirs: others };
}

/** Where a change is judged: a list that got or lost entries on either side is one thing, since its places mean others then. */
function scopeOf(path: FormPath, base: unknown, yours: unknown, theirs: unknown): FormPath {
  for (let length = 0; length < path.length; length += 1) {
    const above = path.slice(0, length);
    const lists = [base, yours, theirs].map((value) => valueAt(value, above));
    if (lists.some(Array.isArray) && new Set(lists.map((list) => (Array.isArray(list) ? list.length : -1))).size > 1) return above;
  }
  return path;
}
