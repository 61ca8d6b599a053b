import { createHash } from "node:crypto";
import type { GuardedFetch } from "@svc/sdk";
import { type Device, keysOf } from "./device.ts";
import { encrypt } from "./encryption.ts";
import { type Notice, payloadOf } from "./notice.ts";
import type { PushHosts } from "./push-hosts.ts";
import type { VapidKeys } from "./vapid-keys.ts";

/**
 * Answer of a push service. `gone`: the subscription has ended. `later`: to be retried, after `retryAfterMs` if it is set; `mayHaveArrived` after a
 * cut connection. `refused`: never, with the reason.
 */
export type Outcome =
  | { readonly kind: "taken" }
  | { readonly kind: "gone" }
  | { readonly kind: "later"; readonly reason: string; readonly retryAfterMs?: number; readonly mayHaveArrived?: true }
  | { readonly kind: "refused"; readonly reason: string };

/** Dependencies of sending. */
export interface PushServiceOptions {
  readonly fetch: GuardedFetch;
  readonly hosts: PushHosts;
  readonly keys: VapidKeys;
  readonly subject: string;
  readonly ttlSeconds: number;
}

const TIMEOUT_MS = 30_000;
/** Below what the strictest push service takes. */
const SMALL_PLAIN = 2_000;
const MOST_REASON = 200;
const NEVER_CONNECTED = /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH/;

/** Hands a notice to the push service of one device. Never throws. */
export async function sendTo(device: Device, notice: Notice, options: PushServiceOptions, signal: AbortSignal): Promise<Outcome> {
  // The list may have become shorter since the device was added.
  const refusal = options.hosts.refusal(device.endpoint);
  if (refusal !== undefined) return { kind: "refused", reason: refusal };
  try {
    const answer = await post(device, payloadOf(notice), notice, options, signal);
    return outcomeOf(answer.status === 413 ? await post(device, payloadOf(notice, SMALL_PLAIN), notice, options, signal) : answer);
  } catch (error) {
    // The address stays out of it: who knows it could try to write to the device.
    const { code, cause } = error as { code?: string; cause?: { code?: string } };
    const reason = cause?.code ?? code ?? "no answer";
    return { kind: "later", reason: `its push service was not reached: ${reason}`, ...(NEVER_CONNECTED.test(reason) ? {} : { mayHaveArrived: true }) };
  }
}

function post({ endpoint, ...device }: Device, plain: Uint8Array, { id, priority }: Notice, options: PushServiceOptions, signal: AbortSignal) {
  return options.fetch(endpoint, {
    method: "POST",
    headers: {
      authorization: options.keys.authorization(endpoint, options.subject),
      "content-encoding": "aes128gcm",
      "content-type": "application/octet-stream",
      ttl: String(options.ttlSeconds),
      urgency: (priority ?? 3) >= 4 ? "high" : "normal",
      // A notice that waits there for a phone that is off is replaced by the same one sent again.
      topic: createHash("sha256").update(id).digest("base64url").slice(0, 32),
    },
    body: encrypt(plain, keysOf(device)),
    signal,
    timeoutMs: TIMEOUT_MS,
    maxRedirects: 0,
    trustedOrigins: options.hosts.origins,
  });
}

function outcomeOf({ status, headers, text }: Awaited<ReturnType<GuardedFetch>>): Outcome {
  if (status === 200 || status === 201 || status === 202) return { kind: "taken" };
  if (status === 404 || status === 410) return { kind: "gone" };
  const words = text()
    .replace(/[\p{Cc}\p{Cf}]+/gu, " ")
    .trim()
    .slice(0, MOST_REASON);
  const reason = `its push service answered ${status}${words === "" ? "" : `: ${words}`}`;
  if (status !== 429 && status !== 408 && status < 500) return { kind: "refused", reason };
  const retryAfterMs = waitMs(headers["retry-after"]);
  return { kind: "later", reason, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
}

/** Seconds or a date, in milliseconds from now. */
function waitMs(header: string | undefined): number | undefined {
  if (header === undefined) return undefined;
  const seconds = Number(header);
  const ms = Number.isFinite(seconds) ? seconds * 1_000 : Date.parse(header) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}
