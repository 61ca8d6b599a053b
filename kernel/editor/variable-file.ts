import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { isLoaderVariable } from "@svc/sdk";
import { atomicWrite } from "../base/atomic-file.ts";
import { fail } from "../base/errors.ts";
import { inTurn, targetOf, unwritable } from "./file-turn.ts";

const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,199}$/;

/**
 * Sets a variable in the folder's `.env`, which the daemon reads at its start and at each reload: under a lock, atomically, readable by its owner
 * alone, and without changing the other lines. Throws `SVC_CONFIG_VARIABLE` for an invalid name or value, and for a variable that the environment of
 * the daemon sets, which would override the file.
 */
export async function keepVariable(folder: string, env: NodeJS.ProcessEnv, name: string, value: string): Promise<void> {
  const refuse = (reason: string) => fail("SVC_CONFIG_VARIABLE", { name, reason });
  if (!NAME.test(name)) throw refuse("names of variables are letters, digits and '_'");
  if (isLoaderVariable(name)) throw refuse("programs take code from it; set it in the environment of the daemon");
  if (value === "") throw refuse("it needs a value");
  if (env[name] !== undefined) throw refuse("the environment of the daemon sets it, which counts before .env; change it where the daemon is started");
  const line = `${name}=${quoted(name, value)}`;
  const file = join(folder, ".env");
  await inTurn(file, async () => {
    const target = targetOf(file);
    const text = existsSync(target) ? readFileSync(target, "utf8") : "";
    await atomicWrite(target, withVariable(text, name, line), { mode: 0o600 }).catch((error: unknown) => {
      throw unwritable(file, error);
    });
  });
}

/** Returns the text with that line in place of the last one that sets the variable, or at its end. */
function withVariable(text: string, name: string, line: string): string {
  const lines = text.split("\n");
  const setting = new RegExp(`^\\s*(?:export\\s+)?${name}\\s*=`);
  const at = lines.findLastIndex((one) => setting.test(one));
  const replaced = at === -1 ? "" : lines.with(at, line).join("\n");
  // A value over several lines has more than one to replace: then the variable is set once more, and the last one counts.
  if (at !== -1 && parseEnv(replaced)[name] === parseEnv(line)[name] && sameOthers(text, replaced, name)) return replaced;
  return `${text}${text === "" || text.endsWith("\n") ? "" : "\n"}${line}\n`;
}

function sameOthers(before: string, after: string, name: string): boolean {
  const [one, other] = [parseEnv(before), parseEnv(after)];
  return [...Object.keys(one), ...Object.keys(other)].every((key) => key === name || one[key] === other[key]);
}

/** Quotes a value so that it is read back unchanged: `#` and spaces need quotes, and the format has no escapes. */
function quoted(name: string, value: string): string {
  const written = ["", "'", "`", '"'].map((quote) => quote + value + quote).find((text) => parseEnv(`${name}=${text}\n`)[name] === value);
  if (written === undefined || value.includes("\n"))
    throw fail("SVC_CONFIG_VARIABLE", { name, reason: "its value cannot be written in .env; set it in the environment of the daemon" });
  return written;
}
