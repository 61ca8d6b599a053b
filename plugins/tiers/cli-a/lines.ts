import { type Fields, fieldsOf } from "@svc/sdk/engine";

/** The object on a line, `undefined` for a line that is no message at all, `"broken"` for one that began as a message. */
export function readLine(line: string): Fields | "broken" | undefined {
  if (!line.startsWith("{")) return undefined;
  try {
    return fieldsOf(JSON.parse(line));
  } catch {
    return "broken";
  }
}
