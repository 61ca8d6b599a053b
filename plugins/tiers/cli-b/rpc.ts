import { setTimeout as sleep } from "node:timers/promises";
import { type ChildEnd, type Spawn, svcError } from "@svc/sdk";

export type Fields = Record<string, unknown>;

export const fieldsOf = (value: unknown): Fields => (typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {});
export const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);
export const countOf = (value: unknown): number => (typeof value === "number" && Number.isFinite(value) && value >= 0 ? Math.round(value) : 0);

/** What the program tells or asks about one thread. */
export interface Listener {
  told(method: string, params: Fields): void;
  /** The answer to a question of the program. */
  asked(method: string, params: Fields): Fields | undefined;
  /** The program is gone, or cannot be understood any more. */
  gone(reason: Gone): void;
}

export type Gone = { readonly kind: "ended"; readonly end: ChildEnd } | { readonly kind: "broken"; readonly line: string };

/** A program that speaks JSON-RPC in lines on its standard input and output, for many threads at once. */
export interface Rpc {
  readonly alive: boolean;
  readonly ended: Promise<ChildEnd>;
  readonly started: Promise<void>;
  /** Rejects with `SVC_RPC_REFUSED` when the program says no, with `SVC_RPC_SILENT` when it says nothing within `limitMs`,
   * and with `SVC_RPC_GONE` and a `kind` when it is gone. */
  request(method: string, params: Fields, limitMs?: number): Promise<Fields>;
  notify(method: string, params?: Fields): void;
  /** Hears what concerns a thread until the returned function is called. */
  listen(thread: string, listener: Listener): () => void;
  leave(): Promise<void>;
  stop(): Promise<void>;
}

const REQUEST_MS = 30_000;
const LEAVE_MS = 2_000;
/** A message may hold a whole tool result. */
const LINE_BYTES = 8 * 1024 * 1024;
const NOISE_LIMIT = 100;

/** Why a program that is gone answers nothing: its exit code is no answer, its last words may be one. */
export function howItWent(gone: Gone): { readonly kind: "protocol" | "no-result"; readonly message: string } {
  if (gone.kind === "broken") return { kind: "protocol", message: `The program's output cannot be read: ${gone.line}` };
  const { code, signal, stderr, reason } = gone.end;
  if (reason === "protocol") return { kind: "protocol", message: "The program printed a line longer than 8 MB." };
  const words = stderr.trim() === "" ? "" : ` It said: ${stderr.trim().slice(-400)}`;
  return { kind: "no-result", message: `The program ended before its answer (${signal === null ? `exit code ${code}` : `signal ${signal}`}).${words}` };
}

/** Starts the program; `started` tells whether it came up. */
export function openRpc(
  spawn: Spawn,
  program: string,
  args: readonly string[],
  options: { readonly cwd: string; readonly env: Readonly<Record<string, string>>; readonly taskId?: string },
): Rpc {
  const listeners = new Map<string, Listener>();
  const open = new Map<number, { resolve: (result: Fields) => void; reject: (error: unknown) => void }>();
  let gone: Gone | undefined;
  let ids = 0;
  let noise = 0;
  const child = spawn(program, args, { ...options, stdin: "pipe", maxLineBytes: LINE_BYTES, onLine: take });
  void child.ended.then((end) => lose({ kind: "ended", end }));

  const send = (message: Fields): void => {
    // A program that has ended tells so itself.
    child.write(`${JSON.stringify(message)}\n`).catch(() => undefined);
  };

  function lose(reason: Gone): void {
    if (gone !== undefined) return;
    gone = reason;
    for (const { reject } of open.values()) reject(lost(reason));
    open.clear();
    for (const listener of listeners.values()) listener.gone(reason);
  }

  function take(line: string): void {
    if (!line.startsWith("{")) {
      if (line.trim() !== "" && ++noise > NOISE_LIMIT) lose({ kind: "broken", line: line.slice(0, 120) });
      return;
    }
    let message: Fields;
    try {
      message = fieldsOf(JSON.parse(line));
    } catch {
      lose({ kind: "broken", line: line.slice(0, 120) });
      return;
    }
    const params = fieldsOf(message.params);
    const method = textOf(message.method);
    const listener = listeners.get(textOf(params.threadId) ?? "");
    if (method === undefined) settle(message);
    else if (message.id === undefined) listener?.told(method, params);
    else {
      const result = listener?.asked(method, params);
      send(result === undefined ? { id: message.id, error: { code: -32601, message: `not offered: ${method}` } } : { id: message.id, result });
    }
  }

  function settle({ id, result, error }: Fields): void {
    const waiting = open.get(id as number);
    open.delete(id as number);
    if (error === undefined) waiting?.resolve(fieldsOf(result));
    else waiting?.reject(svcError("SVC_RPC_REFUSED", textOf(fieldsOf(error).message) ?? "refused"));
  }

  const lost = (reason: Gone) => svcError("SVC_RPC_GONE", howItWent(reason).message, { kind: howItWent(reason).kind });
  const silent = (method: string) => svcError("SVC_RPC_SILENT", `tier cli-b: ${program} did not answer ${method}; is it Codex 0.160 or newer?`);

  return {
    get alive() {
      return gone === undefined;
    },
    ended: child.ended,
    started: child.started,
    async request(method, params, limitMs = REQUEST_MS) {
      if (gone !== undefined) throw lost(gone);
      const id = ++ids;
      const timer = new AbortController();
      try {
        return await Promise.race([
          new Promise<Fields>((resolve, reject) => {
            open.set(id, { resolve, reject });
            send({ id, method, params });
          }),
          sleep(limitMs, undefined, { ref: false, signal: timer.signal }).then(() => Promise.reject(silent(method))),
        ]);
      } finally {
        open.delete(id);
        timer.abort();
      }
    },
    notify: (method, params) => send({ method, ...(params === undefined ? {} : { params }) }),
    listen(thread, listener) {
      listeners.set(thread, listener);
      if (gone !== undefined) listener.gone(gone);
      return () => {
        if (listeners.get(thread) === listener) listeners.delete(thread);
      };
    },
    async leave() {
      child.closeStdin();
      await Promise.race([child.ended, sleep(LEAVE_MS, undefined, { ref: false })]);
      await child.stop();
      await child.ended;
    },
    async stop() {
      await child.stop();
      await child.ended;
    },
  };
}
