import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { parseEnv } from "node:util";
import type { Cli } from "../cli.ts";
import { fail } from "../errors.ts";
import { keepSecret } from "./env-file.ts";

/** Source of credentials whose variables are not set. */
export type SecretSource = "terminal" | "input" | "environment";

/** Credentials that have a value. */
export interface Provided {
  /** Whether some were not set and had to be entered. */
  readonly asked: boolean;
  /** Undoes the stored variables. */
  forget(): Promise<void>;
}

/**
 * Ensures that each variable has a value, and stores the entered ones in `.env`. Throws `SVC_CLI_USAGE` when a value is missing, and has stored
 * nothing then.
 */
export async function provideSecrets(cli: Cli, variables: readonly string[], source: SecretSource): Promise<Provided> {
  const { loadEnvironment } = await import("@svc/kernel/folder");
  const env = loadEnvironment(cli.folder, process.env);
  const missing = variables.filter((name) => (env[name] ?? "") === "");
  const values = await valuesOf(missing, variables, source);
  const undo: (() => Promise<void>)[] = [];
  for (const [at, name] of missing.entries()) undo.unshift(await keepSecret(cli.folder, name, values[at] as string));
  if (missing.length > 0 && !cli.json) cli.say(`${missing.join(", ")}: kept in ${join(cli.folder, ".env")}`);
  return {
    asked: missing.length > 0,
    async forget() {
      for (const back of undo) await back();
    },
  };
}

/** The variables that only this command has: the daemon may have been started without them. */
export function onlyHere(cli: Cli, variables: readonly string[]): readonly string[] {
  let file: NodeJS.Dict<string> = {};
  try {
    file = parseEnv(readFileSync(join(cli.folder, ".env"), "utf8"));
  } catch {
    // Without a file all of them are.
  }
  return variables.filter((name) => file[name] === undefined);
}

async function valuesOf(missing: readonly string[], all: readonly string[], source: SecretSource): Promise<string[]> {
  if (source === "input" && missing.length === 0)
    throw fail("SVC_CLI_USAGE", { reason: `${all.join(", ")} is set already. Change it where it is set, in .env or in the environment.` });
  if (missing.length === 0) return [];
  if (source === "environment")
    throw fail("SVC_CLI_USAGE", { reason: `${missing.join(", ")} is not set. Put it into .env beside svc.json, or hand it over with: --secret-stdin < file` });
  const values = source === "input" ? (await readAll(process.stdin)).split(/\r?\n/) : await askAll(missing);
  const empty = missing.find((_name, at) => (values[at]?.trim() ?? "") === "");
  if (empty !== undefined) throw fail("SVC_CLI_USAGE", { reason: `No value was given for ${empty}; nothing was changed.` });
  return values.slice(0, missing.length).map((value) => value.trim());
}

async function readAll(input: NodeJS.ReadableStream): Promise<string> {
  let text = "";
  for await (const chunk of input) text += chunk;
  return text;
}

/** Typed characters are not echoed. */
async function askAll(names: readonly string[]): Promise<string[]> {
  const reader = createInterface({ input: process.stdin, output: new Writable({ write: (_chunk, _encoding, done) => done() }), terminal: true });
  reader.on("SIGINT", () => reader.close());
  const lines = reader[Symbol.asyncIterator]();
  const values: string[] = [];
  try {
    for (const name of names) {
      process.stderr.write(`${name} (not shown): `);
      const { done, value } = await lines.next();
      process.stderr.write("\n");
      if (done) break;
      values.push(value);
    }
  } finally {
    reader.close();
  }
  return values;
}
