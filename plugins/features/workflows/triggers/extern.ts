import { type FetchAnswer, type GuardedFetch, reasonOf, type SvcError, svcError } from "@svc/sdk";

/** The section `workflows.extern`: another service that runs workflows. */
export interface ExternSettings {
  /** Empty or unset: not connected. */
  readonly baseUrl?: string;
  readonly apiKey?: string;
}

/** A run of the other service, as it tells it. */
export interface ExternRun {
  readonly runId: string;
  readonly status: "running" | "paused" | "completed" | "failed" | "canceled";
  readonly output?: unknown;
  readonly error?: { readonly code: string; readonly message: string };
}

/** Runs of another service, for steps whose workflow is `extern:<id>`. */
export interface Extern {
  /**
   * Starts a run there; with the same key it is the same run. Throws `EXTERN_OFF` where no service is configured and `EXTERN_REFUSED`, which
   * trying again does not mend; anything else (`EXTERN_AWAY`) may be tried again.
   */
  start(id: string, input: unknown, key: string, signal: AbortSignal): Promise<ExternRun>;
  /** The run as it is now. Throws as `start`; a run that is unknown there is `EXTERN_REFUSED`. */
  look(runId: string, signal: AbortSignal): Promise<ExternRun>;
  /** Ends it there. False where it had ended, or is unknown. */
  cancel(runId: string, signal: AbortSignal): Promise<boolean>;
}

/** Prefix of a step's workflow that runs elsewhere. */
export const EXTERN = "extern:";

/** Milliseconds between looks at a run elsewhere, by how often it was looked at: 1 s at first, half a minute later. */
export const externPause = (looks: number): number => Math.min(30_000, 1_000 * 2 ** Math.min(looks, 5));

const STATES: readonly string[] = ["running", "paused", "completed", "failed", "canceled"];
const TIMEOUT_MS = 30_000;
/** As large as what one step may make. */
const MOST_BYTES = 4_000_000;

/** Makes the client. The address is the operator's: it may be on this machine, a redirect from it may not. */
export function createExtern(fetch: GuardedFetch, settings: () => ExternSettings | undefined): Extern {
  async function call(
    method: "GET" | "POST",
    path: string,
    signal: AbortSignal,
    body?: unknown,
    key?: string,
  ): Promise<{ readonly status: number; readonly value: unknown }> {
    const { baseUrl = "", apiKey = "" } = settings() ?? {};
    if (baseUrl === "") throw refusal("EXTERN_OFF", "No external workflow service is connected: set workflows.extern.baseUrl in svc.json.");
    const base = parsed(baseUrl);
    let answer: FetchAnswer;
    try {
      answer = await fetch(`${base.href.replace(/\/+$/, "")}${path}`, {
        method,
        headers: {
          accept: "application/json",
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...(apiKey === "" ? {} : { authorization: `Bearer ${apiKey}` }),
          ...(key === undefined ? {} : { "idempotency-key": key }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal,
        timeoutMs: TIMEOUT_MS,
        maxBytes: MOST_BYTES,
        maxRedirects: 0,
        trustedOrigins: [base.origin],
      });
    } catch (error) {
      if (signal.aborted) throw error;
      throw away(`it does not answer: ${reasonOf(error)}`);
    }
    const { status } = answer;
    if (status === 429 || status >= 500) throw away(`it answers ${status}`);
    const value = answer.truncated ? undefined : jsonOf(answer.text());
    if (status >= 300 && status !== 404 && status !== 409) {
      const said = (value as { error?: unknown } | undefined)?.error;
      throw refusal("EXTERN_REFUSED", `The external workflow service refuses (${status})${typeof said === "string" ? `: ${said.slice(0, 500)}` : ""}.`);
    }
    return { status, value };
  }

  return {
    async start(id, input, key, signal) {
      const { status, value } = await call("POST", `/workflows/${encodeURIComponent(id)}/run`, signal, { payload: input ?? {}, startKey: key }, key);
      if (status === 404) throw refusal("EXTERN_REFUSED", `The external workflow service has no workflow '${id}'.`);
      if (status === 409) throw refusal("EXTERN_REFUSED", `The external workflow service does not start '${id}' now: ${wordsOf(value)}`);
      return runOf(value);
    },
    async look(runId, signal) {
      const { status, value } = await call("GET", `/api/workflows/runs/${encodeURIComponent(runId)}`, signal);
      if (status === 404) throw refusal("EXTERN_REFUSED", `The external workflow service does not know the run '${runId}' (any more).`);
      return runOf(value, runId);
    },
    async cancel(runId, signal) {
      const { status } = await call("POST", `/api/workflows/runs/${encodeURIComponent(runId)}/status`, signal, { action: "cancel" });
      return status < 300;
    },
  };
}

/** Parses the other service's state of a run. */
function runOf(value: unknown, asked?: string): ExternRun {
  const { runId, id, status, output, error } = (value ?? {}) as Record<string, unknown>;
  const name = asked ?? runId ?? id;
  if (typeof name !== "string" || name === "" || name.length > 512) throw away("its answer names no run");
  if (typeof status !== "string" || !STATES.includes(status)) throw away("its answer has no state of a run");
  return {
    runId: name,
    status: status as ExternRun["status"],
    ...(output === undefined ? {} : { output }),
    ...(status === "failed" ? { error: errorOf(error) } : {}),
  };
}

function errorOf(error: unknown): NonNullable<ExternRun["error"]> {
  const { code, message } = (typeof error === "object" && error !== null ? error : { message: error }) as Record<string, unknown>;
  return { code: typeof code === "string" ? code.slice(0, 64) : "FAILED", message: typeof message === "string" ? message.slice(0, 2_000) : "no reason" };
}

const wordsOf = (value: unknown): string => String((value as { error?: unknown } | undefined)?.error ?? "no reason").slice(0, 500);

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function parsed(baseUrl: string): URL {
  if (!URL.canParse(baseUrl)) throw refusal("EXTERN_OFF", "workflows.extern.baseUrl in svc.json is no address; give one such as https://flows.example.com.");
  return new URL(baseUrl);
}

/** Trying again does not mend it. */
const refusal = (code: "EXTERN_OFF" | "EXTERN_REFUSED", message: string): SvcError => svcError(code, message, { retryable: false });
/** Error for a failure that a retry may resolve. */
const away = (reason: string): SvcError => svcError("EXTERN_AWAY", `The external workflow service is away: ${reason}.`, { retryable: true });
