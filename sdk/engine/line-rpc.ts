import { reasonOf, svcError } from "../errors.ts";
import type { FailureKind } from "../failure.ts";
import type { ChildEnd, Spawn } from "../processes.ts";
import { type Fields, fieldsOf, textOf } from "./fields.ts";

/** Listener for the program's messages about one conversation. */
export interface RpcListener {
  onNotification(method: string, params: Fields): void;
  /** Answers a request of the program, at once or when it is known; undefined when the method is not offered. */
  onRequest(method: string, params: Fields): Fields | undefined | Promise<Fields | undefined>;
  /** The program has ended, or its output cannot be parsed. */
  onGone(reason: RpcGone): void;
}

/** @deprecated The listener as plugins of generation 1 have it. */
export interface FormerRpcListener {
  told(method: string, params: Fields): void;
  asked(method: string, params: Fields): Fields | undefined;
  gone(reason: RpcGone): void;
}

const currentListener = (listener: RpcListener | FormerRpcListener): RpcListener =>
  "told" in listener
    ? {
        onNotification: (method, params) => listener.told(method, params),
        onRequest: (method, params) => listener.asked(method, params),
        onGone: (reason) => listener.gone(reason),
      }
    : listener;

/** Why a program answers nothing any more. */
export type RpcGone = { readonly kind: "ended"; readonly end: ChildEnd } | { readonly kind: "broken"; readonly why: string };

/** How to start and address a program. */
export interface RpcOptions {
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly taskId?: string;
  /** Begins each error of ours: `tier acme`. */
  readonly who: string;
  /** Hint for when the program does not answer: `is it Acme Code 2.1 or newer?`. */
  readonly hint: string;
  /** Adds `jsonrpc: "2.0"` to each message. */
  readonly versioned?: boolean;
  /** The member of `params` that names the conversation a message is about. */
  readonly conversationKey: string;
  /** Receives notifications about a conversation without a listener. */
  unheard?(conversation: string, method: string, params: Fields): void;
  /** Receives each line of its standard error. */
  onErrorLine?(line: string): void;
}

/** A program that speaks JSON-RPC in lines on its standard input and output, for many conversations at once. */
export interface LineRpc {
  readonly alive: boolean;
  readonly ended: Promise<ChildEnd>;
  readonly started: Promise<void>;
  /**
   * Rejects with `SVC_RPC_REFUSED`, which carries the program's `reply`, for an error answer, with `SVC_RPC_SILENT` without an answer within
   * `limitMs` (default 30,000; 0 waits for as long as the program runs), and with `SVC_RPC_GONE` and a `kind` when the program has ended.
   */
  request(method: string, params: Fields, limitMs?: number): Promise<Fields>;
  notify(method: string, params?: Fields): void;
  /** Registers a listener for a conversation; returns the function that removes it. */
  listen(conversation: string, listener: RpcListener | FormerRpcListener): () => void;
  /** Closes its standard input, waits 2 s for its end, then ends its process tree. */
  leave(): Promise<void>;
  /** Ends its process tree. */
  stop(): Promise<void>;
}

const REQUEST_MS = 30_000;
const LEAVE_MS = 2_000;
/** A message may hold a whole tool result. */
const LINE_BYTES = 8 * 1024 * 1024;
/** Lines in a row that are no messages: a program that prints only these is not the one we speak with. */
const NOISE_LIMIT = 100;

/** Describes for the sender why an ended program gives no answer: its exit code does not explain it, the end of its standard error may. */
export function describeGone(gone: RpcGone): { readonly kind: FailureKind; readonly message: string } {
  if (gone.kind === "broken") return { kind: "protocol", message: `The program's output cannot be read: ${gone.why}.` };
  const { code, signal, stderr, reason } = gone.end;
  if (reason === "protocol") return { kind: "protocol", message: "The program printed a line longer than 8 MB." };
  const words = stderr.trim() === "" ? "" : ` It said: ${stderr.trim().slice(-400)}`;
  return { kind: "no-result", message: `The program ended before its answer (${signal === null ? `exit code ${code}` : `signal ${signal}`}).${words}` };
}

/** Starts the program; `started` settles when it came up or failed. */
export function openLineRpc(spawn: Spawn, options: RpcOptions): LineRpc {
  const { program, args, cwd, env, taskId, who, hint, versioned = false, conversationKey } = options;
  const listeners = new Map<string, RpcListener>();
  const open = new Map<number, { resolve: (result: Fields) => void; reject: (error: unknown) => void }>();
  let gone: RpcGone | undefined;
  let ids = 0;
  let noise = 0;
  const child = spawn(program, args, {
    cwd,
    env,
    ...(taskId === undefined ? {} : { taskId }),
    stdin: "pipe",
    maxLineBytes: LINE_BYTES,
    onLine: take,
    ...(options.onErrorLine === undefined ? {} : { onErrorLine: options.onErrorLine }),
  });
  void child.ended.then((end) => lose({ kind: "ended", end }));

  const send = (message: Fields): void => {
    // The end of the program is reported separately.
    child.write(`${JSON.stringify(versioned ? { jsonrpc: "2.0", ...message } : message)}\n`).catch(() => undefined);
  };

  function lose(reason: RpcGone): void {
    if (gone !== undefined) return;
    gone = reason;
    for (const { reject } of open.values()) reject(lost(reason));
    open.clear();
    for (const listener of listeners.values()) listener.onGone(reason);
  }

  function take(line: string): void {
    if (!line.startsWith("{")) {
      if (line.trim() !== "" && ++noise > NOISE_LIMIT)
        lose({ kind: "broken", why: `it prints lines that are no messages, over ${NOISE_LIMIT} of them in a row` });
      return;
    }
    let message: Fields;
    try {
      message = fieldsOf(JSON.parse(line));
    } catch {
      lose({ kind: "broken", why: `a line of ${line.length} characters is no JSON` });
      return;
    }
    noise = 0;
    const params = fieldsOf(message.params);
    const method = textOf(message.method);
    const conversation = textOf(params[conversationKey]) ?? "";
    const listener = listeners.get(conversation);
    if (method === undefined) settle(message);
    else if (message.id === undefined) listener === undefined ? options.unheard?.(conversation, method, params) : listener.onNotification(method, params);
    else {
      const { id } = message;
      const reply = (result: Fields | undefined): void =>
        send(result === undefined ? { id, error: { code: -32601, message: `not offered: ${method}` } } : { id, result });
      const result = listener?.onRequest(method, params);
      if (result instanceof Promise) result.then(reply, (error) => send({ id, error: { code: -32603, message: reasonOf(error) } }));
      else reply(result);
    }
  }

  function settle({ id, result, error }: Fields): void {
    const waiting = open.get(id as number);
    open.delete(id as number);
    if (error === undefined) waiting?.resolve(fieldsOf(result));
    else waiting?.reject(svcError("SVC_RPC_REFUSED", textOf(fieldsOf(error).message) ?? "refused", { reply: fieldsOf(error) }));
  }

  const lost = (reason: RpcGone) => svcError("SVC_RPC_GONE", describeGone(reason).message, { kind: describeGone(reason).kind });

  async function request(method: string, params: Fields, limitMs = REQUEST_MS): Promise<Fields> {
    if (gone !== undefined) throw lost(gone);
    const id = ++ids;
    let timer: NodeJS.Timeout | undefined;
    try {
      return await new Promise<Fields>((resolve, reject) => {
        open.set(id, { resolve, reject });
        const silent = () => reject(svcError("SVC_RPC_SILENT", `${who}: ${program} did not answer ${method}; ${hint}`));
        if (limitMs > 0) timer = setTimeout(silent, limitMs).unref();
        send({ id, method, params });
      });
    } finally {
      open.delete(id);
      clearTimeout(timer);
    }
  }

  async function stop(): Promise<void> {
    await child.stop();
    await child.ended;
  }

  return {
    get alive() {
      return gone === undefined;
    },
    ended: child.ended,
    started: child.started,
    request,
    notify: (method, params) => send({ method, ...(params === undefined ? {} : { params }) }),
    listen(conversation, given) {
      const listener = currentListener(given);
      listeners.set(conversation, listener);
      if (gone !== undefined) listener.onGone(gone);
      return () => {
        if (listeners.get(conversation) === listener) listeners.delete(conversation);
      };
    },
    async leave() {
      child.closeStdin();
      await Promise.race([child.ended, new Promise((resolve) => setTimeout(resolve, LEAVE_MS).unref())]);
      await stop();
    },
    stop,
  };
}
