/** Codes of JSON-RPC 2.0 and of A2A. */
export const RPC = {
  parse: -32700,
  invalid: -32600,
  method: -32601,
  params: -32602,
  internal: -32603,
  unknownTask: -32001,
  notCancelable: -32002,
  noNotifications: -32003,
  unsupported: -32004,
  contentType: -32005,
  noExtendedCard: -32007,
  version: -32009,
} as const;

/** An error as JSON-RPC tells it. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: number;

  constructor(kind: keyof typeof RPC, message: string) {
    super(message);
    this.code = RPC[kind];
  }
}

/** A call that has the right shape. */
export interface RpcCall {
  /** Unset for a notification, which gets no answer. */
  readonly id?: string | number | null;
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

/** An answer to a call. */
export type RpcAnswer = { readonly jsonrpc: "2.0"; readonly id: string | number | null } & ({ readonly result: unknown } | { readonly error: RpcFault });

interface RpcFault {
  readonly code: number;
  readonly message: string;
}

const MOST_LEVELS = 32;

/** Reads a call out of the bytes of a request. Throws `RpcError`; its answer carries the call's id where that could be read. */
export function parseCall(raw: Uint8Array): RpcCall {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(raw), withoutPrototype);
  } catch {
    throw new RpcError("parse", "The body is no JSON.");
  }
  if (Array.isArray(value)) throw new RpcError("invalid", "A batch is not served; send each call by itself.");
  if (typeof value !== "object" || value === null) throw new RpcError("invalid", "The body is no JSON-RPC call.");
  const { jsonrpc, id, method, params = {} } = value as Record<string, unknown>;
  const named = id === undefined || id === null || typeof id === "string" || typeof id === "number";
  const fault = (kind: "invalid" | "params", message: string) => Object.assign(new RpcError(kind, message), named && id !== undefined ? { id } : {});
  if (jsonrpc !== "2.0") throw fault("invalid", "'jsonrpc' must be \"2.0\".");
  if (!named) throw fault("invalid", "'id' must be a text, a number or null.");
  if (typeof method !== "string") throw fault("invalid", "'method' must be a text.");
  if (typeof params !== "object" || params === null || Array.isArray(params)) throw fault("params", "'params' must be an object.");
  if (isDeeper(value, MOST_LEVELS)) throw fault("params", `'params' must not be deeper than ${MOST_LEVELS} levels.`);
  return { ...(id === undefined ? {} : { id: id as string | number | null }), method, params: params as Record<string, unknown> };
}

/** A key `__proto__` would change what an object inherits. */
const withoutPrototype = (key: string, value: unknown): unknown => (key === "__proto__" ? undefined : value);

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((one) => isDeeper(one, levels - 1));
}

/** The answer of a call. */
export const answerTo = (id: RpcCall["id"], result: unknown): RpcAnswer => ({ jsonrpc: "2.0", id: id ?? null, result });

/** The answer of a call that failed; any other error is told by its message alone. */
export function failureOf(id: RpcCall["id"], error: unknown): RpcAnswer {
  const { code = RPC.internal, message = "internal error" } = error instanceof RpcError ? error : { message: (error as Error).message };
  return { jsonrpc: "2.0", id: id ?? (error as { id?: RpcCall["id"] }).id ?? null, error: { code, message } };
}
