import { type HttpRequest, svcError } from "@svc/sdk";

/** A body as it is handed to the agent. */
export interface Payload {
  /** The sender's words; undefined where there is no body, or one that is no text. */
  readonly text?: string;
  readonly bytes: number;
  /** Without its parameters, in lower case; empty where the sender names none. */
  readonly type: string;
  /** `push`, `build.failed`: from a header, else from the body. */
  readonly event?: string;
  /** Parsed body, if it is JSON or a form. */
  readonly value?: unknown;
  /** `text` is the body as it was sent, to the character. */
  readonly verbatim?: true;
}

const EVENT_HEADERS = ["x-event-type", "x-forge-event", "x-github-event", "x-gitlab-event"];
const EVENT_KEYS = ["type", "event", "object_kind"];
const DELIVERY_HEADERS = ["webhook-id", "x-forge-delivery", "x-github-delivery", "x-delivery-id", "idempotency-key", "x-gitlab-event-uuid"];
const MAX_EVENT = 100;
const MAX_ID = 200;

type Received = Pick<HttpRequest, "raw" | "headers">;

const headerOf = (headers: HttpRequest["headers"], names: readonly string[], most: number): string | undefined => {
  const found = names.map((name) => headers[name]).find((value) => typeof value === "string" && value.trim() !== "");
  return typeof found === "string" && found.length <= most ? found.trim() : undefined;
};

/** Reads the payload as it was sent: no key is lost and no space moved. Throws `SVC_WEBHOOK_BODY` (400) for invalid JSON. */
export function payloadOf({ raw = new Uint8Array(), headers }: Received): Payload {
  const type =
    String(headers["content-type"] ?? "")
      .split(";")[0]
      ?.trim()
      .toLowerCase() ?? "";
  const named = headerOf(headers, EVENT_HEADERS, MAX_EVENT);
  const facts = { bytes: raw.length, type, ...(named === undefined ? {} : { event: named }) };
  const text = textOf(raw);
  const json = type === "application/json" || type.endsWith("+json");
  if (text === undefined && json) throw broken("it is no UTF-8 text");
  if (text === undefined || text.trim() === "") return facts;
  const form = type === "application/x-www-form-urlencoded" ? formOf(text) : undefined;
  const value = form === undefined ? jsonOf(text, json) : form.value;
  const event = named ?? eventOf(value);
  return {
    ...facts,
    ...(form === undefined ? { text, verbatim: true } : { text: form.text }),
    ...(event === undefined ? {} : { event }),
    ...(value === undefined ? {} : { value }),
  };
}

/**
 * Returns the key of a delivery, for deduplication: the sender's own id, else the digest of the raw bytes, so that another order of the query or
 * another spelling of the signature is the same delivery.
 */
export async function deliveryOf({ raw = new Uint8Array(), headers }: Received): Promise<string> {
  const id = headerOf(headers, DELIVERY_HEADERS, MAX_ID);
  if (id !== undefined) return `id:${id}`;
  return `sha256:${Buffer.from(await crypto.subtle.digest("SHA-256", raw as Uint8Array<ArrayBuffer>)).toString("hex")}`;
}

const broken = (reason: string) => svcError("SVC_WEBHOOK_BODY", `The body is announced as JSON and cannot be read: ${reason}.`, { status: 400 });

/** Undefined for bytes that are no text. */
function textOf(raw: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(raw);
    return text.includes("\0") ? undefined : text;
  } catch {
    return undefined;
  }
}

/** A body that is declared as JSON must be JSON; others are tried for their event. */
function jsonOf(text: string, required: boolean): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    // The parser's message may quote the body, which is the sender's.
    if (required) throw broken(`it is no JSON, ${error instanceof SyntaxError ? "its syntax is wrong" : "it is too deep"}`);
    return undefined;
  }
}

/** A form as lines of name and value. One with a field `payload` of JSON is that JSON, as some senders wrap it. */
function formOf(body: string): { readonly text: string; readonly value: unknown } {
  const fields = [...new URLSearchParams(body)];
  const payload = fields.length === 1 && fields[0]?.[0] === "payload" ? fields[0][1] : undefined;
  const value = payload === undefined ? undefined : jsonOf(payload, false);
  if (payload !== undefined && value !== undefined) return { text: payload, value };
  return { text: fields.map(([name, text]) => `${name}: ${text}`).join("\n"), value: Object.fromEntries(fields) };
}

function eventOf(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  return EVENT_KEYS.map((key) => (value as Record<string, unknown>)[key]).find(
    (one): one is string => typeof one === "string" && one !== "" && one.length <= MAX_EVENT,
  );
}
