// Each repetition before the keyword is bounded: agents write the searched text, and a text of hyphens must not block the event loop.
/** Shapes of credentials that vendors give out, and values that stand behind a telling name. */
const SHAPES: readonly RegExp[] = [
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g,
  /\b(?:sk|pk|rk)[-_](?:[A-Za-z0-9]{1,24}[-_]){0,4}[A-Za-z0-9]{16,}/g,
  /\b(?:gh[opsur]_|github_pat_|glpat-|xox[abeoprs]-|xapp-|npm_|hf_|AKIA|ASIA|AIza|ya29\.)[A-Za-z0-9_.-]{10,}/g,
  /\beyJ[A-Za-z0-9_-]{8,512}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*/g,
  // The header of any length: looked for once in each run of its letters.
  /(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{512,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*/g,
  /\b\d{6,12}:[A-Za-z0-9_-]{30,}\b/g,
];
const NAMED =
  /(\b[\w-]{0,40}(?:token|secret|passw(?:or)?d|passphrase|api[_-]?key|access[_-]?key|private[_-]?key|authorization)\b["'`]?\s*(?:[:=]|\bis\b)\s*["'`]?(?:bearer\s+|basic\s+)?)([^\s"'`,;]{4,})/gi;
const BEARER = /\b(bearer\s+)[A-Za-z0-9._~+/-]{8,}=*/gi;

/** The text without what looks like a credential, and how many of them there were. What has no telling shape or name stays. */
export function redacted(text: string): { readonly text: string; readonly count: number } {
  let count = 0;
  const gone = () => {
    count += 1;
    return "[redacted]";
  };
  let clean = SHAPES.reduce((left, shape) => left.replace(shape, gone), text);
  clean = clean.replace(NAMED, (all, name: string, value: string) => (value.startsWith("[redacted]") ? all : name + gone()));
  clean = clean.replace(BEARER, (_, name: string) => name + gone());
  return { text: clean, count };
}
