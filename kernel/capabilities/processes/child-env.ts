import { isLoaderVariable } from "@svc/sdk";
import { fail } from "../../base/errors.ts";

/** By this variable the daemon finds its children again, whatever process group or session they moved to. */
export const RUN_VARIABLE = "SVC_RUN";
/** By this variable a program that a child starts can say for which task that was: a claim, no proof. */
export const TASK_VARIABLE = "SVC_TASK_ID";

const INHERITED = new Set(["PATH", "HOME", "LANG", "TZ", "TMPDIR", "TERM"]);

/**
 * The whole environment of a child: PATH, HOME, LANG, LC_*, TZ, TMPDIR and TERM of the daemon, the caller's variables, the mark, and its task. No
 * other variable of the daemon reaches it. Throws `SVC_SPAWN_ENV`.
 */
export function childEnvironment(
  command: string,
  inherited: Readonly<Record<string, string | undefined>>,
  given: Readonly<Record<string, string>>,
  mark: string,
  taskId?: string,
): Record<string, string> {
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(inherited)) {
    if (value !== undefined && (INHERITED.has(name) || name.startsWith("LC_"))) env[name] = value;
  }
  for (const [name, value] of Object.entries(given)) {
    const reason = refusal(name, value);
    if (reason !== undefined) throw fail("SVC_SPAWN_ENV", { command, name, reason });
    env[name] = value;
  }
  env[RUN_VARIABLE] = mark;
  if (taskId !== undefined) env[TASK_VARIABLE] = taskId;
  return env;
}

function refusal(name: string, value: string): string | undefined {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) return "a name has letters, digits and '_' only";
  if (name === RUN_VARIABLE || name === TASK_VARIABLE) return "the daemon sets it";
  if (isLoaderVariable(name)) return "it makes programs load code";
  return value.includes("\0") ? "its value holds a NUL" : undefined;
}
