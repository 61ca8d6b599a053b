import { createHash, timingSafeEqual } from "node:crypto";
import { type Authority, codeOf } from "@svc/sdk";
import { isSecret, statusOf, type Token } from "./token.ts";
import type { TokenFile } from "./token-file.ts";

/** Where tokens are read from, and who hears of their use. */
export interface AuthorityOptions {
  readonly file: TokenFile;
  /** A token was used; told once for each accepted request. */
  used(token: Token, now: number): void;
  /** The file cannot be understood. Told each time that it stands in the way. */
  corrupt(): void;
  readonly now?: () => number;
}

/** Judges the secrets of scoped tokens by the file as it is at that moment. Revoked and expired ones are unknown. */
export function createTokenAuthority({ file, used, corrupt, now = Date.now }: AuthorityOptions): Authority {
  let of: readonly Token[] = [];
  let digests: readonly Buffer[] = [];

  function tokens(): readonly Token[] {
    const read = file.read();
    if (read !== of) {
      digests = read.map(({ hash }) => Buffer.from(hash, "hex"));
      of = read;
    }
    return read;
  }

  return {
    name: "tokens",
    async verify(bearer) {
      if (!isSecret(bearer)) return undefined;
      let all: readonly Token[];
      try {
        all = tokens();
      } catch (error) {
        if (codeOf(error) !== "SVC_TOKENS_CORRUPT") throw error;
        corrupt();
        return undefined;
      }
      const digest = createHash("sha256").update(bearer).digest();
      let found: Token | undefined;
      // Compare every token, and each completely, so that the time reveals nothing about the stored ones.
      for (const [at, token] of all.entries()) if (timingSafeEqual(digests[at] as Buffer, digest)) found = token;
      const at = now();
      if (found === undefined || statusOf(found, at) !== "active") return undefined;
      used(found, at);
      return { kind: "token", id: found.id, name: found.name, scopes: found.scope };
    },
  };
}
