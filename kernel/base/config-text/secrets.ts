import type { ObjectSchema, Schema } from "@svc/sdk";
import { type ConfigPath, formatPath } from "../config-path.ts";
import { branches, member } from "../schema/schema-walk.ts";

/** A credential in a configuration. */
export interface SecretPlace {
  readonly path: ConfigPath;
  readonly value: string;
  /** The schema says so. Otherwise the key's name does, in a map of free names or where no schema knows the key. */
  readonly declared: boolean;
  /** False for a value that may be plain: it is masked only. */
  readonly known: boolean;
}

/** Password that an address may hold before its host; the first group is the part before it. */
export const PASSWORD = /^([a-z][\w+.-]*:\/\/[^\s/@:]*:)[^\s/@]+(?=@)/i;

/** Names of settings that hold a credential. */
export const CREDENTIAL_NAME = /(?:token|secret|passw(?:or)?d|passphrase|api[_-]?key|access[_-]?key|private[_-]?key|credential|authorization|cookie)s?$/i;

/** Every credential in `value`, empty ones too. */
export function secretPlaces(value: unknown, root: ObjectSchema): readonly SecretPlace[] {
  const places: SecretPlace[] = [];
  const visit = (at: unknown, schemas: readonly Schema[], path: ConfigPath, byName: boolean): void => {
    if (typeof at === "string") {
      const all = schemas.flatMap(branches);
      const declared = all.some((schema) => schema.secret === true);
      const masked = all.some((schema) => schema.masked === true);
      if (declared || byName || masked) places.push({ path, value: at, declared, known: declared || byName });
      return;
    }
    if (typeof at !== "object" || at === null) return;
    const isList = Array.isArray(at);
    for (const [key, inner] of Object.entries(at)) {
      const segment = isList ? Number(key) : key;
      const { schemas: below, named } = member(schemas, segment);
      // The items of a list below such a name (`tokens: [...]` without a known schema) count as credentials by that name.
      const isCredential = isList ? byName || isArgument(at, Number(key)) : !named && CREDENTIAL_NAME.test(key);
      visit(inner, below, [...path, segment], isCredential);
    }
  };
  visit(value, [root], [], false);
  return places;
}

/** An argument of a program that is a credential by its option: `--token x`, `--token=x`. */
function isArgument(list: readonly unknown[], at: number): boolean {
  const [own, before] = [list[at], list[at - 1]];
  if (typeof own !== "string") return false;
  const [option = ""] = own.split("=", 1);
  if (option.length < own.length && isOption(option)) return true;
  return typeof before === "string" && isOption(before) && !own.startsWith("-");
}

const isOption = (text: string): boolean => text.startsWith("-") && CREDENTIAL_NAME.test(text);

/** Shorter values look like ordinary words. */
const SHORTEST_SCRUBBED = 6;
const SHORTEST_SAFE = 16;
/** A value that may be plain is scrubbed only if it looks random: not a path, a sentence or a name. */
export const RANDOM = /^(?=.*\d)(?=.*[A-Za-z])[\w.~+-]{20,}=*$/;

/** The texts that must appear in no log and no answer: each credential, and a header's without its scheme. */
export function scrubbed(places: readonly SecretPlace[]): readonly string[] {
  const values = places
    .filter(({ known, value }) => known || RANDOM.test(value))
    .flatMap(({ value }) => [value, value.replace(/^(?:bearer|basic|token)\s+/i, "")]);
  return [...new Set(values)].filter((value) => value.length >= SHORTEST_SCRUBBED);
}

/** Returns the problems of the declared credentials (CFG-04). */
export function judgeSecrets(places: readonly SecretPlace[]): readonly { path: ConfigPath; message: string; severity: "error" | "warning" }[] {
  const problems: { path: ConfigPath; message: string; severity: "error" | "warning" }[] = [];
  const first = new Map<string, ConfigPath>();
  for (const { path, value } of places.filter(({ declared }) => declared)) {
    const trimmed = value.trim();
    // A provider without a key is unusable (001:L8); agents that do not need it run.
    const severity = path[0] === "providers" ? "warning" : "error";
    if (trimmed === "") {
      problems.push({ path, message: "is an empty secret, which refuses everything; set it or remove the key", severity });
      continue;
    }
    if (trimmed === "undefined" || trimmed === "null") {
      problems.push({ path, message: `is the word '${trimmed}', which a script wrote in place of the secret`, severity });
      continue;
    }
    if (value.length < SHORTEST_SAFE) {
      problems.push({ path, message: `is a secret of fewer than ${SHORTEST_SAFE} characters, which can be guessed`, severity: "warning" });
    }
    const same = first.get(value);
    if (same === undefined) first.set(value, path);
    else problems.push({ path, message: `is the same secret as ${formatPath(same)}; who learns one has both`, severity: "warning" });
  }
  return problems;
}
