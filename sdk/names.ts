/** Whether one of the patterns matches the whole name; `*` matches any characters, as in `http.*`. */
export const coversName = (patterns: readonly string[], name: string): boolean => patterns.some((pattern) => covers(pattern, name));

/** Matches part by part, without a regular expression: patterns come from configurations, and names may be long. */
function covers(pattern: string, name: string): boolean {
  const [start = "", ...parts] = pattern.split("*");
  const end = parts.pop();
  if (end === undefined) return name === start;
  if (!name.startsWith(start) || !name.endsWith(end) || name.length < start.length + end.length) return false;
  const last = name.length - end.length;
  let at = start.length;
  for (const part of parts) {
    const found = name.indexOf(part, at);
    if (found === -1 || found + part.length > last) return false;
    at = found + part.length;
  }
  return true;
}
