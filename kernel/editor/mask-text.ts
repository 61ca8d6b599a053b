import { CREDENTIAL_NAME, RANDOM } from "../base/config-text/secrets.ts";

/** Tokens (strings, punctuation, bare words) of a text that should be JSON but may be invalid: a string ends at the end of its line. */
const TOKEN = /"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?|[{}[\]:,]|[^\s{}[\]:,"']+/g;
/** Names of variables, and literals other than strings. */
const REFERENCE = /^(?:\$\{[A-Za-z_][A-Za-z0-9_]*\})+$/;
const PLAIN = /^(?:true|false|null|-?\d+(?:\.\d+)?)$/;
/** Maps whose values may all be credentials. */
const PRIVATE_MAP = /^(?:env|headers)$/;
const SCHEME = /\b(bearer|basic|token)\s+\S+/i;

interface NestedValue {
  readonly hidden: boolean;
  key?: string;
  /** The key and its colon were read, but no value yet: the next token is the value, though another colon may follow. */
  waits?: boolean;
}

const tells = (name: string): boolean => CREDENTIAL_NAME.test(name);

/**
 * Returns the text of a configuration with its secrets replaced by `***`, line by line: values below secret names, of `env` and `headers`, and
 * whatever looks random. The text need not be valid JSON: broken configurations are shown, too.
 */
export function maskText(text: string): string {
  const frames: NestedValue[] = [{ hidden: false }];
  let masked = "";
  let copied = 0;
  for (const found of text.matchAll(TOKEN)) {
    const [token] = found;
    const top = frames.at(-1) as NestedValue;
    const telling = top.hidden || (top.key !== undefined && tells(top.key));
    if (token === "{" || token === "[") frames.push({ hidden: telling || (top.key !== undefined && PRIVATE_MAP.test(top.key)) });
    else if (token === "}" || token === "]") {
      if (frames.length > 1) frames.pop();
    } else if (token === ",") delete top.key;
    else if (token === ":") top.waits = true;
    else {
      const word = token.replace(/^["']|["']$/g, "");
      const end = found.index + token.length;
      if (!(telling && top.waits) && /^\s*:/.test(text.slice(end, end + 20))) {
        top.key = word;
        continue;
      }
      top.waits = false;
      if (word === "" || REFERENCE.test(word) || PLAIN.test(token) || !(telling || RANDOM.test(word) || SCHEME.test(word))) continue;
      const quote = /^["']/.test(token) ? (token[0] as string) : "";
      masked += `${text.slice(copied, found.index)}${quote}***${quote}`;
      copied = end;
    }
  }
  return masked + text.slice(copied);
}
