import { readFile } from "node:fs/promises";
import { reasonOf, svcError, type WorkflowField } from "@svc/sdk";

/** Reads the arguments of a command, `name=value` words and `@file`: a file holds an object of JSON, words win over it. `typed` converts a word's value. */
export async function readPairs(words: readonly string[], typed: (name: string, text: string) => unknown): Promise<Record<string, unknown>> {
  const files: [string, unknown][] = [];
  const pairs: [string, unknown][] = [];
  for (const word of words) {
    if (word.startsWith("@")) {
      files.push(...Object.entries(await readObject(word.slice(1))));
      continue;
    }
    const at = word.indexOf("=");
    if (at < 1) throw svcError("SVC_CLI_USAGE", `'${word}' is neither name=value nor @file.`);
    const name = word.slice(0, at);
    pairs.push([name, typed(name, word.slice(at + 1))]);
  }
  return Object.fromEntries([...files, ...pairs]);
}

/** Converts a word to the type of a field of a workflow's input. Invalid text is kept: the daemon names the field. */
export function readInput(field: WorkflowField | undefined, text: string): unknown {
  switch (field?.type) {
    case "number":
    case "integer":
      return text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : text;
    case "boolean":
      return text === "true" ? true : text === "false" ? false : text;
    case "object":
    case "array":
      return jsonOr(text);
    default:
      return text;
  }
}

/** A value of JSON where the text is one, else the text. */
export function jsonOr(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

async function readObject(file: string): Promise<object> {
  let value: unknown;
  try {
    value = JSON.parse(await readFile(file, "utf8"));
  } catch (error) {
    throw svcError("SVC_CLI_USAGE", `${file} cannot be read as JSON: ${reasonOf(error)}`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw svcError("SVC_CLI_USAGE", `${file} must hold an object of JSON.`);
  return value;
}
