import type { Problem } from "./problem.ts";
import { readYaml, type YamlSource } from "./yaml-document.ts";

/** Format of a definition's text. */
export type Format = "json" | "yaml";

/** Bytes of a definition. */
export const MAX_BYTES = 1_048_576;

/** Reads a definition's text. Never throws for what it says. */
export function readSource(text: string, format: Format): YamlSource {
  if (Buffer.byteLength(text) > MAX_BYTES) return broken("The file is larger than 1 MB.");
  if (format === "yaml") return readYaml(text);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return broken(`The file is no JSON: ${(error as Error).message}`, placeIn(text, error as Error));
  }
  // JSON is YAML as well: read once more for places, repeated keys and hostile ones.
  const source = readYaml(text);
  const problems = source.problems.filter(({ code, message }) => code !== "SYNTAX" || /nested|more than/.test(message));
  return { ...source, value: problems.length === 0 ? value : undefined, problems };
}

function broken(message: string, place = { line: 1, column: 1 }): YamlSource {
  const problem: Problem = { message, pointer: "", ...place, severity: "error", code: "SYNTAX" };
  return { value: undefined, problems: [problem], place: () => place };
}

/** The engine tells the place in its message only. */
function placeIn(text: string, { message }: Error): { line: number; column: number } {
  const offset = Number(/position (\d+)/.exec(message)?.[1] ?? text.length);
  const before = text.slice(0, offset).split("\n");
  return { line: before.length, column: (before.at(-1) as string).length + 1 };
}
