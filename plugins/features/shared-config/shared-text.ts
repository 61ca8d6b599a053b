import type { SettingEdit } from "@svc/sdk";

type Document = Readonly<Record<string, unknown>>;
/** Where a setting is, from the top. */
export type Path = readonly string[];

/** Settings that every machine has of its own, whatever `sharedConfig.local` says. */
const OWN: readonly Path[] = [["$schema"], ["node"], ["store"]];

/** The paths that stay on each machine. A dot separates keys. */
export const ownPaths = (local: readonly string[]): readonly Path[] => [...OWN, ...local.map((path) => path.split("."))];

/** The settings that all daemons have in common, as one text: the same for the same settings, whatever the order of their keys. */
export const sharedText = (document: Document, own: readonly Path[]): string => `${JSON.stringify(common(document, own, []), null, 2)}\n`;

/** Where a credential is written out: it must not leave the machine. Values are shown as `***` where they are one. */
export function writtenOut(value: unknown, path = ""): readonly string[] {
  if (typeof value === "string") return value === "***" || /^[a-z][\w+.-]*:\/\/[^\s/@:]*:\*\*\*@/i.test(value) ? [path] : [];
  if (Array.isArray(value)) return value.flatMap((entry, at) => writtenOut(entry, `${path}[${at}]`));
  if (!isRecord(value)) return [];
  return Object.entries(value).flatMap(([key, inner]) => writtenOut(inner, path === "" ? key : `${path}.${key}`));
}

/** The changes that make one text of settings the other: each as deep as it can be, a list as a whole. */
export function editsBetween(before: string, after: string): readonly SettingEdit[] {
  return differences(JSON.parse(before) as Document, JSON.parse(after) as Document, []);
}

function differences(before: Document, after: Document, path: Path): readonly SettingEdit[] {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((key): readonly SettingEdit[] => {
    const [was, is, at] = [before[key], after[key], [...path, key]];
    if (!Object.hasOwn(after, key)) return [{ path: at }];
    if (isRecord(was) && isRecord(is)) return differences(was, is, at);
    return JSON.stringify(was) === JSON.stringify(is) ? [] : [{ path: at, value: is, reference: true }];
  });
}

function common(value: unknown, own: readonly Path[], path: Path): unknown {
  if (Array.isArray(value)) return value.map((entry) => common(entry, [], path));
  if (!isRecord(value)) return value;
  const keys = Object.keys(value).sort();
  return Object.fromEntries(keys.filter((key) => !isOwn([...path, key], own)).map((key) => [key, common(value[key], own, [...path, key])]));
}

const isOwn = (path: Path, own: readonly Path[]): boolean => own.some((one) => one.length === path.length && one.every((key, at) => key === path[at]));

const isRecord = (value: unknown): value is Document => typeof value === "object" && value !== null && !Array.isArray(value);
