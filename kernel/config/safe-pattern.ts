/**
 * Why a regular expression from the configuration cannot be used; undefined when it can. Refused are texts that are no expression
 * and a repetition inside a repetition, such as `^(a+)+$`: one message could keep the daemon busy for hours.
 */
export function patternTrouble(pattern: string): string | undefined {
  try {
    new RegExp(pattern, "u");
  } catch {
    try {
      new RegExp(pattern);
    } catch (error) {
      return (error as Error).message;
    }
  }
  return repeatsRepetition(pattern)
    ? "it repeats a group that repeats something itself, which can take hours on a short text; write it without the nesting"
    : undefined;
}

const TOKEN = /\\.|\[(?:\\.|[^\]\\])*\]|\((?:\?(?:[:=!]|<[=!]|<[^>]*>))?|\)|[*+]|\{\d+(?:,\d*)?\}|[\s\S]/g;

function repeatsRepetition(pattern: string): boolean {
  const groups: boolean[] = [];
  let repeating = false;
  let inner = false;
  for (const [token] of pattern.matchAll(TOKEN)) {
    if (token.startsWith("(")) {
      groups.push(repeating);
      repeating = false;
      inner = false;
    } else if (token === ")") {
      inner = repeating;
      repeating = (groups.pop() ?? false) || repeating;
    } else if (token === "*" || token === "+" || (token.startsWith("{") && isMany(token))) {
      if (inner) return true;
      repeating = true;
      inner = false;
    } else inner = false;
  }
  return false;
}

/** `{2,}` and `{1,500}` repeat; `{3}` and `{1,3}` only write something out. */
const isMany = (quantifier: string): boolean => {
  const [, , comma, most] = /^\{(\d+)(,?)(\d*)\}$/.exec(quantifier) ?? [];
  return comma === "," ? most === "" || Number(most) > 10 : false;
};
