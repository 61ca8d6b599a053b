import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { codeOf } from "@svc/sdk";
import { fail } from "../errors.ts";

/**
 * The environment with the folder's `.env` added; a variable that is already set wins, even when it is empty. A new record: `env`
 * itself is not changed. No `.env` is fine; one that cannot be read throws `SVC_CONFIG_UNREADABLE`.
 */
export function loadEnvironment(folder: string, env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const file = join(folder, ".env");
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return { ...env };
    throw fail("SVC_CONFIG_UNREADABLE", { file, reason: (error as Error).message, cause: error });
  }
  const set = Object.entries(env).filter(([, value]) => value !== undefined);
  return { ...parseEnv(text), ...Object.fromEntries(set) };
}

/**
 * Seconds that a stop waits for running tasks (001:L208): `shutdown.drainTimeoutSeconds`, where 0 is 0; else the variable `SVC_DRAIN_TIMEOUT_MS`, in
 * milliseconds; else 300. A variable that is not a number counts as unset.
 */
export function drainSeconds(config: Readonly<Record<string, unknown>>, env: NodeJS.ProcessEnv): number {
  const configured = (config.shutdown as { drainTimeoutSeconds?: number } | undefined)?.drainTimeoutSeconds;
  if (configured !== undefined) return configured;
  const text = env.SVC_DRAIN_TIMEOUT_MS?.trim() ?? "";
  return /^\d+$/.test(text) ? Number(text) / 1000 : 300;
}
