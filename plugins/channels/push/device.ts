import { createHash, randomBytes } from "node:crypto";
import { svcError } from "@svc/sdk";
import { areUsable, type ReceiverKeys } from "./encryption.ts";
import type { PushHosts } from "./push-hosts.ts";

/** A phone or a desktop whose browser gets notices. Times in Unix milliseconds. */
export interface Device {
  /** `tok_` and 24 hex digits; names only devices here, though ids of access tokens begin alike (CHAN-05). */
  readonly id: string;
  readonly name: string;
  /** Where its push service takes notices. Who knows it could try to write to the device, so it is not shown. */
  readonly endpoint: string;
  /** Base64url, as the browser gave them. */
  readonly p256dh: string;
  readonly auth: string;
  /** The public key of this daemon that it subscribed with. */
  readonly key: string;
  /** SHA-256 of what the device proves itself with, in hex. */
  readonly secret: string;
  readonly addedAt: number;
  readonly lastAt?: number;
  /** Why the last notice did not reach its push service; gone with the next one that does. */
  readonly lastError?: string;
}

/** A browser's description of its subscription: `PushSubscription.toJSON()`. */
export interface Subscription {
  readonly endpoint: string;
  readonly keys: { readonly p256dh: string; readonly auth: string };
}

/** A subscription in the body of a request. */
export const SUBSCRIPTION = {
  type: "object",
  required: ["endpoint", "keys"],
  properties: {
    endpoint: { type: "string", minLength: 1, maxLength: 2_000 },
    keys: {
      type: "object",
      required: ["p256dh", "auth"],
      properties: { p256dh: { type: "string", maxLength: 200 }, auth: { type: "string", maxLength: 100 } },
    },
  },
} as const;

const MOST_NAME = 60;
const DEVICE_ID = /^tok_[0-9a-f]{24}$/;
/** Format of a device's bearer. */
const BEARER = /^svc_push_[0-9a-f]{64}$/;

/** Whether a chat names one device. */
export const isDeviceId = (id: string): boolean => DEVICE_ID.test(id);
/** Whether a bearer can be a device's at all. */
export const isBearer = (text: string): boolean => BEARER.test(text);
/** Returns SHA-256 in hex: the stored form of a secret. */
export const digestOf = (text: string): string => createHash("sha256").update(text).digest("hex");

/** A new device and what it proves itself with from now on, which is kept nowhere else. */
export function makeDevice(subscription: Subscription, name: string, key: string, now: number): { readonly device: Device; readonly bearer: string } {
  const bearer = `svc_push_${randomBytes(32).toString("hex")}`;
  const id = `tok_${randomBytes(12).toString("hex")}`;
  const shown =
    name
      .replace(/[\p{Cc}\p{Cf}]/gu, " ")
      .trim()
      .slice(0, MOST_NAME) || "phone";
  return { device: { id, name: shown, ...partsOf(subscription), key, secret: digestOf(bearer), addedAt: now }, bearer };
}

/** The parts of a subscription as they are stored. */
export const partsOf = ({ endpoint, keys: { p256dh, auth } }: Subscription): Pick<Device, "endpoint" | "p256dh" | "auth"> => ({ endpoint, p256dh, auth });

/** The keys to encrypt with. */
export const keysOf = ({ p256dh, auth }: Pick<Device, "p256dh" | "auth">): ReceiverKeys => ({
  p256dh: Buffer.from(p256dh, "base64url"),
  auth: Buffer.from(auth, "base64url"),
});

/** Throws `SVC_PUSH_SUBSCRIPTION` (400, with the field) for a subscription that nothing can or may be sent to. */
export function requireUsable(subscription: Subscription, hosts: PushHosts): void {
  const refuse = (field: string, reason: string) => svcError("SVC_PUSH_SUBSCRIPTION", `This subscription cannot be used: ${reason}.`, { status: 400, field });
  const refusal = hosts.refusal(subscription.endpoint);
  if (refusal !== undefined) throw refuse("endpoint", refusal);
  if (!areUsable(keysOf(subscription.keys))) throw refuse("keys", "its keys are not those of a browser");
}
