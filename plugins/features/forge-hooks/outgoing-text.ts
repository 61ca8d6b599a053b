import type { MentionGrammar } from "@svc/sdk";
import { READ_CHARS, readNote } from "./note-text.ts";
import { CODE } from "./text-scan.ts";

/** Rules for an agent's text before it is posted. */
export interface OutgoingRules {
  readonly grammar: MentionGrammar;
  /** Names that may be told of the comment: who asked. */
  readonly told: readonly string[];
  /** Values that must not leave: tokens and secrets that are known here. */
  readonly secrets: readonly string[];
}

const SECRETS = [
  /\bglpat-[A-Za-z0-9_-]{16,}/g,
  /\bgl(?:dt|rt|ptt|cbt|soat|agent)-[A-Za-z0-9_-]{16,}/g,
  /\bgh[pousr]_[A-Za-z0-9]{20,}/g,
  /\bgithub_pat_[A-Za-z0-9_]{20,}/g,
  /\bsvc_live_[A-Za-z0-9_-]{16,}/g,
  /\bwhsec_[A-Za-z0-9+/=]{16,}/g,
  /\bxox[abprs]-[A-Za-z0-9-]{10,}/g,
  /\bAKIA[A-Z0-9]{16}\b/g,
];
const REMOVED = "[removed: a secret]";
const PEM_BEGIN = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----/g;
const PEM_END = /-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----/g;
/** A space without width: behind `@` it makes a word of a name. */
const QUIET = "\u200b";
/** Shorter values are words by chance. */
const LEAST_SECRET = 8;

/**
 * Returns the text as it may be posted: no secret, no line that the forge would run as a command (`/merge`), no mention but of the asker, no marker
 * but our own. Idempotent.
 */
export function outgoingText(text: string, rules: OutgoingRules): string {
  return quiet(lines(withoutSecrets(text, rules.secrets)), rules);
}

/** The same words without what must not leave the machine. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  let clean = withoutKeys(text);
  for (const secret of secrets) if (secret.length >= LEAST_SECRET) clean = clean.replaceAll(secret, REMOVED);
  for (const pattern of SECRETS) clean = clean.replace(pattern, REMOVED);
  return clean;
}

/** Private keys go with all between their first and last line; one that is cut off goes to the end. */
function withoutKeys(text: string): string {
  let [clean, from] = ["", 0];
  for (const { index } of text.matchAll(PEM_BEGIN)) {
    if (index < from) continue;
    PEM_END.lastIndex = index;
    const end = PEM_END.exec(text);
    clean += text.slice(from, index) + REMOVED;
    from = end === null ? text.length : end.index + end[0].length;
  }
  return clean + text.slice(from);
}

/** Forges run lines that begin with `/`, in comments of programs and in some fences too. A space in front makes them words. */
const lines = (text: string): string =>
  text
    .replace(/\r\n?/g, "\n")
    .replace(/^(?=\/)/gm, " ")
    .replaceAll("<!-- svc1", "<!- svc1");

/** `@` tells people: a sign without width behind it makes it a word. Code keeps its text, and who asked is told. */
function quiet(text: string, { grammar, told }: OutgoingRules): string {
  const parts: string[] = [];
  // Text beyond the parsed part counts as plain.
  const { places } = readNote(text, grammar);
  const free = told.map((name) => name.toLowerCase());
  let from = 0;
  for (let at = text.indexOf("@"); at !== -1; at = text.indexOf("@", at + 1)) {
    if (text[at + 1] === QUIET || (at < READ_CHARS && places[at] === CODE)) continue;
    const name = /^[A-Za-z0-9_][\w.-]{0,254}/
      .exec(text.slice(at + 1, at + 256))?.[0]
      ?.toLowerCase()
      .replace(/[.]+$/, "");
    if (name !== undefined && free.includes(name)) continue;
    parts.push(text.slice(from, at + 1), QUIET);
    from = at + 1;
  }
  return [...parts, text.slice(from)].join("");
}

/** Pieces of at most `most` units, cut at line breaks where there are some, never within a pair of surrogates. */
export function piecesOf(text: string, most: number): readonly string[] {
  const pieces: string[] = [];
  let rest = text;
  while (rest.length > most) {
    const line = rest.lastIndexOf("\n", most);
    let cut = line > most / 2 ? line : most;
    const before = rest.charCodeAt(cut - 1);
    if (before >= 0xd800 && before <= 0xdbff) cut -= 1;
    pieces.push(rest.slice(0, cut));
    rest = rest.slice(cut).replace(/^\n/, "");
  }
  return [...pieces, rest];
}
