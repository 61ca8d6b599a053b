import { generateKeyPairSync, type KeyPairKeyObjectResult, randomBytes, verify } from "node:crypto";
import type { Repository } from "./world.ts";

/** Permissions of an App as the API names them. */
export type Permissions = Readonly<Record<string, "read" | "write">>;

/** An App of the forge, as its owner sees it. */
export interface App {
  readonly id: number;
  readonly clientId: string;
  readonly slug: string;
  /** PEM, as it is downloaded. */
  readonly privateKey: string;
  readonly installations: Map<number, Installation>;
}

/** Where it is installed, and what it may do there. */
export interface Installation {
  readonly id: number;
  readonly repositories: Set<Repository>;
  permissions: Permissions;
  suspended: boolean;
}

/** A token that the App got for one of its installations. */
export interface InstallationToken {
  readonly token: string;
  readonly installation: Installation;
  readonly repositories: ReadonlySet<Repository>;
  readonly permissions: Permissions;
  readonly expiresAt: number;
}

/** The App with the key by which its tokens are judged. */
export interface JudgingApp extends App {
  readonly tokens: Map<string, InstallationToken>;
  /** Why the bearer of `authorization` is not this App; undefined when it is. */
  refusal(bearer: string, now: number): string | undefined;
  issue(installation: Installation, repositories: ReadonlySet<Repository>, permissions: Permissions, expiresAt: number): InstallationToken;
}

const LONGEST_SECONDS = 600;

/** One key for all Apps of a process: to make one takes a third of a second. */
let key: KeyPairKeyObjectResult | undefined;

export function createApp(id: number, slug: string): JudgingApp {
  key ??= generateKeyPairSync("rsa", { modulusLength: 2048 });
  const { privateKey, publicKey } = key;
  const clientId = `Iv23li${slug}${id}`;
  const tokens = new Map<string, InstallationToken>();
  return {
    id,
    clientId,
    slug,
    privateKey: privateKey.export({ type: "pkcs1", format: "pem" }) as string,
    installations: new Map(),
    tokens,
    refusal(bearer, now) {
      const [head = "", body = "", signature = ""] = bearer.split(".");
      const claims = parsed(body);
      if (parsed(head)?.alg !== "RS256" || claims === undefined) return "A JSON web token could not be decoded";
      const signed = verify("RSA-SHA256", Buffer.from(`${head}.${body}`), publicKey, Buffer.from(signature, "base64url"));
      if (!signed) return "A JSON web token could not be decoded";
      const { iat, exp, iss } = claims;
      const seconds = Math.floor(now / 1000);
      if (iss !== clientId && iss !== id && iss !== String(id)) return "'Issuer' claim ('iss') must be an Integer";
      if (!Number.isInteger(iat) || (iat as number) > seconds)
        return "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued";
      if (!Number.isInteger(exp) || (exp as number) <= seconds)
        return "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires";
      if ((exp as number) > seconds + LONGEST_SECONDS) return "'Expiration time' claim ('exp') is too far in the future";
      return undefined;
    },
    issue(installation, repositories, permissions, expiresAt) {
      const token: InstallationToken = { token: `ghs_${randomBytes(18).toString("hex")}`, installation, repositories, permissions, expiresAt };
      tokens.set(token.token, token);
      return token;
    },
  };
}

function parsed(part: string): Readonly<Record<string, unknown>> | undefined {
  try {
    return JSON.parse(Buffer.from(part, "base64url").toString()) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}
