import { randomUUID } from "node:crypto";

/** Names of methods and messages in one generation of the protocol. */
export interface Generation {
  readonly headers: Readonly<Record<string, string>>;
  readonly send: string;
  readonly stream: string;
  readonly resume: string;
  readonly cancel: string;
  /** The parameters of a message. `id`: of this turn, the same over its retries. */
  ask(text: string, id: string, contextId: string | undefined): object;
}

const V0_1: Generation = {
  headers: {},
  send: "tasks/send",
  stream: "tasks/sendSubscribe",
  resume: "tasks/resubscribe",
  cancel: "tasks/cancel",
  ask: (text, id, contextId) => ({ id, sessionId: contextId ?? randomUUID(), message: { role: "user", parts: [{ type: "text", text }] } }),
};

const V0_3: Generation = {
  headers: { "a2a-version": "0.3" },
  send: "message/send",
  stream: "message/stream",
  resume: "tasks/resubscribe",
  cancel: "tasks/cancel",
  ask: (text, id, contextId) => ({
    message: { kind: "message", role: "user", messageId: id, ...(contextId === undefined ? {} : { contextId }), parts: [{ kind: "text", text }] },
    configuration: { blocking: true },
  }),
};

const V1_0: Generation = {
  headers: { "a2a-version": "1.0" },
  send: "SendMessage",
  stream: "SendStreamingMessage",
  resume: "SubscribeToTask",
  cancel: "CancelTask",
  ask: (text, id, contextId) => ({ message: { role: "ROLE_USER", messageId: id, ...(contextId === undefined ? {} : { contextId }), parts: [{ text }] } }),
};

/** Used part of a card. */
export interface Card {
  readonly generation: Generation;
  readonly streaming: boolean;
  /** Where it wants to be called. */
  readonly address?: string;
}

/** Reads a card of any generation. A card that says nothing of its version, as the first ones did, is of the first. */
export function readCard(value: unknown): Card {
  const { protocolVersion, supportedInterfaces, capabilities, url } = (typeof value === "object" && value !== null ? value : {}) as Readonly<
    Record<string, unknown>
  >;
  const interfaces = (Array.isArray(supportedInterfaces) ? supportedInterfaces : []) as readonly Readonly<Record<string, unknown>>[];
  const rpc = interfaces.filter((one) => one?.["protocolBinding"] === "JSONRPC" && typeof one["url"] === "string");
  const newest = rpc.find((one) => String(one["protocolVersion"]).startsWith("1"));
  const version = String(protocolVersion ?? (rpc[0]?.["protocolVersion"] as string | undefined) ?? "");
  // Where both are offered 0.3 is spoken: more servers have seen it.
  const generation = version === "" ? (newest === undefined ? V0_1 : V1_0) : version.startsWith("1") ? V1_0 : V0_3;
  const address = generation === V1_0 ? (newest?.["url"] ?? url) : (url ?? rpc[0]?.["url"]);
  return {
    generation,
    streaming: (capabilities as { streaming?: unknown } | undefined)?.streaming === true,
    ...(typeof address === "string" ? { address } : {}),
  };
}
