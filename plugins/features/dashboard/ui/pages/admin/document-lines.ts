import { type FormPath, pathText } from "../../forms/form-path.ts";

/** The first and the last line of each value of a JSON text, by its path; comments of svc.json are passed over. Lines from 1. */
export function linesByPath(text: string): ReadonlyMap<string, readonly [first: number, last: number]> {
  const found = new Map<string, readonly [number, number]>();
  let at = 0;
  let line = 1;
  const skip = () => {
    for (;;) {
      const rest = text.slice(at, at + 2);
      if (rest === "//") while (at < text.length && text[at] !== "\n") at += 1;
      else if (rest === "/*") {
        while (at < text.length && text.slice(at, at + 2) !== "*/") step();
        at += 2;
      } else if (at < text.length && /[\s,:\uFEFF]/.test(text[at] as string)) step();
      else return;
    }
  };
  const step = () => {
    if (text[at] === "\n") line += 1;
    at += 1;
  };
  const string = (): string => {
    const start = at;
    at += 1;
    while (at < text.length && text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
    at += 1;
    try {
      return JSON.parse(text.slice(start, at)) as string;
    } catch {
      return text.slice(start + 1, at - 1);
    }
  };
  const value = (path: FormPath, first: number): void => {
    skip();
    const opening = text[at];
    if (opening === "{" || opening === "[") {
      at += 1;
      for (let index = 0; ; index += 1) {
        skip();
        if (at >= text.length) break;
        if (text[at] === "}" || text[at] === "]") {
          at += 1;
          break;
        }
        const from = line;
        value([...path, opening === "[" ? index : text[at] === '"' ? string() : word()], from);
      }
    } else if (opening === '"') string();
    else if (word() === "") at += 1;
    found.set(pathText(path), [first, line]);
  };
  const word = (): string => {
    const start = at;
    while (at < text.length && !/[\s,:{}[\]"]/.test(text[at] as string)) at += 1;
    return text.slice(start, at);
  };
  value([], 1);
  return found;
}
