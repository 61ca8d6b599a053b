import { createHash, randomBytes } from "node:crypto";

/** A scoped token as it is kept (000:L43-56): its secret is not in it, and cannot be made from it. Times in ISO 8601. */
export interface Token {
  /** `tok_...` */
  readonly id: string;
  readonly name: string;
  readonly scope: readonly string[];
  /** The visible start of the secret. */
  readonly prefix: string;
  /** SHA-256 of the secret, hexadecimal. */
  readonly hash: string;
  readonly createdAt: string;
  /** Unset: never. */
  readonly expiresAt?: string;
  /** The record stays after it. */
  readonly revokedAt?: string;
  readonly lastUsedAt?: string;
}

/** Whether a token is accepted, and if not, why. */
export type TokenStatus = "active" | "expired" | "revoked";

/** The most days until a token ends. */
export const LONGEST_DAYS = 36_500;

const DAY_MS = 86_400_000;
const PREFIX_CHARS = 6;
const SECRET = /^svc_live_[0-9a-f]{64}$/;

/** A new token and its secret, which exists nowhere else. `days` left out: it never expires. */
export function makeToken(name: string, scope: readonly string[], days: number | undefined, now: number): { readonly token: Token; readonly secret: string } {
  const secret = `svc_live_${randomBytes(32).toString("hex")}`;
  const token: Token = {
    id: `tok_${randomBytes(8).toString("hex")}`,
    name,
    scope,
    prefix: secret.slice(0, "svc_live_".length + PREFIX_CHARS),
    hash: hashOf(secret),
    createdAt: new Date(now).toISOString(),
    ...(days === undefined ? {} : { expiresAt: new Date(now + days * DAY_MS).toISOString() }),
  };
  return { token, secret };
}

/** Status by the current time: there is no sweep. */
export function statusOf({ revokedAt, expiresAt }: Pick<Token, "revokedAt" | "expiresAt">, now: number): TokenStatus {
  if (revokedAt !== undefined) return "revoked";
  return expiresAt !== undefined && Date.parse(expiresAt) <= now ? "expired" : "active";
}

/** The SHA-256 of a secret in hexadecimal: all that is stored of it. */
export const hashOf = (secret: string): string => createHash("sha256").update(secret).digest("hex");

/** Could it be one of our secrets at all? */
export const isSecret = (text: string): boolean => SECRET.test(text);

/** Returns the public part of a token, with its status. */
export function shown({ hash: _hash, ...rest }: Token): Omit<Token, "hash"> & { readonly status: TokenStatus } {
  return { ...rest, status: statusOf(rest, Date.now()) };
}
