import { read, tracked } from "./house.ts";

/** A test, or a group of them, as a file names it. */
export interface Title {
  readonly file: string;
  readonly text: string;
  /** Ids of rules and faults at the front of the text. */
  readonly ids: readonly string[];
  /** Whether it asserts something: for a group, whether something in its file does. */
  readonly asserts: boolean;
}

/** A call of `it`, `test` or `describe` with its title; `skip`, `todo` and `fails` are no tests. Arguments before the title (`each`, `skipIf`) may nest twice. */
const CALL = /\b(it|test|describe)((?:\.\w+(?:\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))?)*)\(\s*(["'`])((?:\\.|(?!\3)[^\\])*)\3/g;
/** What a title of a rule or fault looks like; findings of reviews have other prefixes or numbers without a zero. */
const ID = /\b[A-Z][A-Z0-9]*-\d{2}\b/g;
/** Assertions, and the repository's own judges and waits, which throw. */
const ASSERTION = /\b(?:expect|assert|judge|throw|rejects|\w+Contract|until|waitFor)\b/;

/** The titles of a test file. */
export function titlesIn(file: string, source: string): Title[] {
  const calls = [...source.matchAll(CALL)].filter(([, , modifiers = ""]) => !/\.(?:skip|todo|fails)(?!\w)/.test(modifiers));
  return calls.map((call, at) => {
    const [, what, , , text = ""] = call;
    const end = what === "describe" ? source.length : (calls[at + 1]?.index ?? source.length);
    return { file, text, ids: text.match(ID) ?? [], asserts: ASSERTION.test(source.slice(call.index, end)) };
  });
}

/** The titles of all tests of the repository, those of the rooms too. */
export const titles = (): Title[] => tracked(".test.ts", ".test.mjs").flatMap((file) => titlesIn(file, read(file)));

/** The ids of `test/house/<name>.txt`, one a line. */
export const idsOf = (name: "rules" | "faults"): string[] => read(`test/house/${name}.txt`).trim().split("\n");
