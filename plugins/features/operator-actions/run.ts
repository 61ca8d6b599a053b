import { resolve } from "node:path";
import { type GuardedFetch, type Spawn, svcError } from "@svc/sdk";
import type { Definition } from "./definition.ts";
import { fillHttp, type HttpWork } from "./http-work.ts";
import { type Value, withDefaults } from "./inputs.ts";
import type { ActionRunResult } from "./result.ts";
import { createVariables, type Variables } from "./secrets.ts";
import { fillShell, isTooLong, type ShellWork } from "./shell-work.ts";

/** Dependencies of a run. */
export interface Deps {
  readonly spawn: Spawn;
  readonly fetch: GuardedFetch;
  /** Relative working folders start here. */
  readonly folder: string;
  /** The same for each repetition of the call: the work may tell one by it. */
  readonly key?: string;
  env(name: string): string | undefined;
}

type Outcome = Omit<ActionRunResult, "durationMs">;

const STREAM_BYTES = 32 * 1024;

/** Runs an action with typed values. Throws when the values do not fit, a variable of an HTTP call is unset, or `signal` aborts. */
export async function runAction(
  { work, inputs, timeoutMs }: Definition,
  given: Readonly<Record<string, Value>>,
  deps: Deps,
  signal: AbortSignal,
): Promise<ActionRunResult> {
  signal.throwIfAborted();
  const started = performance.now();
  const values = withDefaults(inputs, given);
  const variables = createVariables(deps.env);
  const outcome =
    work.kind === "shell" ? await runShell(work, values, variables, timeoutMs, deps, signal) : await runHttp(work, values, variables, timeoutMs, deps, signal);
  signal.throwIfAborted();
  return { ...outcome, output: variables.hide(outcome.output), errors: variables.hide(outcome.errors), durationMs: Math.round(performance.now() - started) };
}

async function runShell(
  work: ShellWork,
  values: ReadonlyMap<string, Value>,
  variables: Variables,
  timeoutMs: number,
  deps: Deps,
  signal: AbortSignal,
): Promise<Outcome> {
  const call = fillShell(work, values, variables.read);
  if (isTooLong(call)) throw svcError("SVC_OPERATOR_ACTION_VALUE", "The action's command would be longer than the system takes; pass less.", { status: 400 });
  const { command, env, cwd = "." } = call;
  try {
    const child = deps.spawn("/bin/sh", ["-c", command], {
      cwd: resolve(deps.folder, cwd),
      env: deps.key === undefined ? env : { SVC_IDEMPOTENCY_KEY: deps.key, ...env },
      stdin: "ignore",
      signal,
      timeoutMs,
      maxOutputBytes: STREAM_BYTES,
    });
    await child.started;
    const { code, signal: killed, stdout, stderr, truncated, reason } = await child.ended;
    const why = reason === "timeout" ? `It was stopped after ${timeoutMs} ms.` : killed ? `It was ended by ${killed}.` : "";
    const errors = [stderr, why].filter(Boolean).join("\n");
    return { ok: code === 0 && reason === undefined, status: code, output: stdout, errors, ...(truncated ? { truncated } : {}) };
  } catch (error) {
    return notReached(error);
  }
}

async function runHttp(
  work: HttpWork,
  values: ReadonlyMap<string, Value>,
  variables: Variables,
  timeoutMs: number,
  deps: Deps,
  signal: AbortSignal,
): Promise<Outcome> {
  const { url, origin, method, headers, body } = fillHttp(work, values, (name) => {
    const value = variables.read(name);
    if (value !== undefined) return value;
    throw svcError(
      "SVC_OPERATOR_ACTION_ENV",
      `The action needs the variable ${name}, which the daemon's environment does not have; set it and start the daemon again.`,
      { status: 409 },
    );
  });
  try {
    // The operator wrote the origin, and no input can change it: it may be on this machine.
    const answer = await deps.fetch(url, {
      method,
      headers: deps.key === undefined ? headers : { "idempotency-key": deps.key, ...headers },
      signal,
      timeoutMs,
      maxBytes: STREAM_BYTES,
      trustedOrigins: [origin],
      ...(body === undefined ? {} : { body }),
    });
    const ok = answer.status >= 200 && answer.status < 300;
    return {
      ok,
      status: answer.status,
      output: answer.text(),
      errors: ok ? "" : `The server answered ${answer.status} ${answer.statusText}`.trim(),
      ...(answer.truncated ? { truncated: true } : {}),
    };
  } catch (error) {
    return notReached(error);
  }
}

const notReached = (error: unknown): Outcome => ({ ok: false, status: null, output: "", errors: (error as Error).message });
