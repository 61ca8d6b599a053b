import { Refused } from "./guard-options.ts";

/*
 * Of sed's language the commands that only print: `p`, `d`, `q`, `=` and `s` without the flags that write or execute, each with up to
 * two addresses. Everything else is refused, also labels, groups, comments and regular expressions over two lines.
 */

/** Throws `Refused` where a script could do more than print. */
export function requirePrinting(script: string): void {
  let at = 0;
  const refuse = (): never => {
    throw new Refused(`of sed only p, d, q, = and s are known to only print, not '${script.slice(at, at + 20)}'`);
  };
  const sign = () => script[at] ?? "";
  const blanks = () => {
    while (/[ \t]/.test(sign())) at += 1;
  };

  /** From behind a delimiter to behind the next one that no backslash precedes. */
  function until(delimiter: string): void {
    for (; sign() !== delimiter; at += 1) {
      if (sign() === "" || sign() === "\n") refuse();
      if (sign() === "\\") {
        at += 1;
        if (sign() === "" || sign() === "\n") refuse();
      }
    }
    at += 1;
  }

  function address(): boolean {
    if (/[0-9]/.test(sign())) {
      while (/[0-9~]/.test(sign())) at += 1;
      return true;
    }
    if (sign() === "$") {
      at += 1;
      return true;
    }
    if (sign() !== "/") return false;
    at += 1;
    until("/");
    if (sign() === "I") at += 1;
    return true;
  }

  function command(): void {
    if (address()) {
      blanks();
      if (sign() === ",") {
        at += 1;
        blanks();
        if (sign() === "+" || sign() === "~") at += 1;
        if (!address()) refuse();
        blanks();
      }
    }
    if (sign() === "!") {
      at += 1;
      blanks();
    }
    const name = sign();
    at += 1;
    if (name === "s") {
      const delimiter = sign();
      if (!/[/|#,:@%_+-]/.test(delimiter)) refuse();
      at += 1;
      until(delimiter);
      until(delimiter);
      while (/[gpIi0-9]/.test(sign())) at += 1;
    } else if (!/^[pdq=]$/.test(name)) {
      at -= 1;
      refuse();
    }
    blanks();
    if (sign() !== "" && sign() !== ";" && sign() !== "\n") refuse();
  }

  for (;;) {
    while (/[ \t;\n]/.test(sign())) at += 1;
    if (at >= script.length) return;
    command();
  }
}
