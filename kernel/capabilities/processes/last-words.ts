import { stripVTControlCharacters } from "node:util";
import { createScrubber } from "../../base/log.ts";

type Environment = Readonly<Record<string, string | undefined>>;

const CREDENTIAL = /(?:TOKEN|SECRET|PASSWORD|PASSWD|PASS|KEY|COOKIE|CREDENTIALS?)$/i;

/**
 * Returns a child's standard error in a form fit for the caller: without terminal control codes and without credentials of its own environment and
 * the daemon's, which it may have printed.
 */
export function lastWords(stderr: string, ...environments: readonly Environment[]): string {
  if (stderr === "") return "";
  const credentials = environments.flatMap((env) => Object.entries(env).flatMap(([name, value]) => (value && CREDENTIAL.test(name) ? [value] : [])));
  const plain = stripVTControlCharacters(stderr).replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "");
  return createScrubber(() => credentials)(plain);
}
