import { channelError, type FetchAnswer, type SvcError } from "@svc/sdk";

const NEVER_CONNECTED = /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH/;

/** Converts an error answer, or a broken exchange, for the kernel. Omits the topic and the token. */
export function failureOf(problem: FetchAnswer | unknown): SvcError {
  if (!isAnswer(problem)) {
    const { code, cause } = (problem ?? {}) as { code?: string; cause?: { code?: string } };
    const reason = cause?.code ?? code ?? "no answer";
    return channelError(NEVER_CONNECTED.test(reason) ? "retry" : "unknown", `the topic server was not reached: ${reason}`);
  }
  const { status, headers } = problem;
  const text = `the topic server answered ${status}${reasonIn(problem)}`;
  if (status === 429) return channelError("retry", text, waitMs(headers["retry-after"]));
  if (status >= 500 || status === 408) return channelError("retry", text);
  return channelError("permanent", text);
}

const isAnswer = (problem: unknown): problem is FetchAnswer =>
  typeof (problem as FetchAnswer | undefined)?.status === "number" && typeof (problem as FetchAnswer).text === "function";

/** The server's own words, where it gives them. */
function reasonIn(answer: FetchAnswer): string {
  try {
    const { error } = JSON.parse(answer.text()) as { error?: unknown };
    return typeof error === "string" ? `: ${error.slice(0, 200)}` : "";
  } catch {
    return "";
  }
}

/** Seconds or a date, in milliseconds from now; undefined where it names neither. */
function waitMs(header: string | undefined): number | undefined {
  if (header === undefined) return undefined;
  const seconds = Number(header);
  const ms = Number.isFinite(seconds) ? seconds * 1_000 : Date.parse(header) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}
