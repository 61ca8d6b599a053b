import { type FetchAnswer, type GuardedFetch, svcError, type TaskResult, type Trace } from "@svc/sdk";
import type { AgentView, Daemon, HistoryQuery } from "./daemon.ts";
import { fail } from "./errors.ts";

/** Connection to another daemon. */
export interface OtherDaemonOptions {
  readonly name: string;
  readonly url: string;
  readonly token?: string | undefined;
  readonly fetch: GuardedFetch;
}

const READ_MS = 5_000;
/** Longer than any run: the daemon ends its runs itself. */
const RUN_MS = 7 * 86_400_000;
const MAX_BYTES = 16_777_216;

/** A daemon somewhere else, asked over HTTP. Its token goes to this one origin: no redirect is followed. */
export function createOtherDaemon({ name, url, token, fetch }: OtherDaemonOptions): Daemon {
  const base = url.replace(/\/+$/, "");

  async function ask(path: string, timeoutMs: number, body?: unknown): Promise<{ readonly status: number; readonly body: unknown }> {
    let answer: FetchAnswer;
    try {
      answer = await fetch(`${base}${path}`, {
        method: body === undefined ? "GET" : "POST",
        headers: {
          accept: "application/json",
          ...(token === undefined || token === "" ? {} : { authorization: `Bearer ${token}` }),
          ...(body === undefined ? {} : { "content-type": "application/json" }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        timeoutMs,
        maxBytes: MAX_BYTES,
        maxRedirects: 0,
        trustedOrigins: [new URL(base).origin],
      });
    } catch (error) {
      throw fail("SVC_DASHBOARD_NO_DAEMON", { url, reason: (error as Error).message.replace(/\.$/, ""), cause: error });
    }
    try {
      return { status: answer.status, body: answer.body.length === 0 ? {} : JSON.parse(answer.text()) };
    } catch {
      throw fail("SVC_DASHBOARD_NO_DAEMON", { url, reason: `what answers there is no daemon (${answer.status}, and no JSON)` });
    }
  }

  /** An answer for our own caller: that the daemon refuses us is our trouble, not the caller's. */
  async function take<T>(path: string, timeoutMs: number, sent?: unknown): Promise<T> {
    const { status, body } = await ask(path, timeoutMs, sent);
    if (status < 400) return body as T;
    if (status === 401 || status === 403) throw fail("SVC_DASHBOARD_REFUSED", { url, answered: status });
    const { error, code } = (body ?? {}) as { error?: unknown; code?: unknown };
    throw svcError(typeof code === "string" ? code : "SVC_DASHBOARD_NO_DAEMON", typeof error === "string" ? error : `The daemon answered ${status}.`, {
      status,
    });
  }

  return {
    name,
    url,
    agents: async () => (await take<{ agents: AgentView[] }>("/agents", READ_MS)).agents,
    history: async (query) => (await take<{ traces: Trace[] }>(`/traces${search(query)}`, READ_MS)).traces,
    run: ({ agent, text, chat, sender, token: caller }) =>
      take<TaskResult>("/task", RUN_MS, {
        agent,
        message: text,
        // There is no field for an account: the token's id keeps the conversations of two callers apart.
        context: { channel: "public-api", chatId: `${caller}/${chat}`, ...(sender === undefined ? {} : { sender }) },
      }),
    act: ({ task, kind, body }) => ask(`/api/tasks/${encodeURIComponent(task)}/${kind}`, READ_MS, body),
  };
}

function search(query: HistoryQuery): string {
  const given = Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]);
  return given.length === 0 ? "" : `?${new URLSearchParams(given)}`;
}
