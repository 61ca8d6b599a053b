import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Confined, svcError } from "@svc/sdk";
import type { Token } from "./token.ts";

/** The tokens of a data folder, in `tokens.json`. Daemon and command line work on it at the same time. */
export interface TokenFile {
  readonly path: string;
  /**
   * What the file says now: it is read on every call, so that no change is missed. No file: no tokens. Throws `SVC_TOKENS_CORRUPT` for
   * one that cannot be understood in full, and the system's error for one that cannot be read.
   */
  read(): readonly Token[];
  /**
   * Reads, edits and writes as one step against every other process; undefined leaves the file as it is. One that cannot be understood
   * is kept as `tokens.json.corrupt.<ms>`, its tokens are gone, and `edit` starts from none. Answers with the name of that copy.
   */
  change(edit: (tokens: readonly Token[]) => readonly Token[] | undefined): Promise<string | undefined>;
}

const NAME = "tokens.json";
const MAX_BYTES = 16_777_216;
const VERSION = 1;
const NONE: readonly Token[] = [];

export function openTokenFile(data: Confined): TokenFile {
  const path = join(data.roots[0] as string, NAME);
  let known: { readonly bytes: Buffer; readonly tokens: readonly Token[] } | undefined;
  return {
    path,
    read() {
      let bytes: Buffer;
      try {
        // At once and whole: a file of a few kilobytes in the system's cache, on the way of every request with a token.
        bytes = readFileSync(path);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return NONE;
        throw error;
      }
      if (known?.bytes.equals(bytes) !== true) known = { bytes, tokens: parse(bytes, path) };
      return known.tokens;
    },
    async change(edit) {
      let copy: string | undefined;
      await data.change(NAME, MAX_BYTES, async (before) => {
        let tokens = NONE;
        try {
          tokens = before === undefined ? NONE : parse(before, path);
        } catch {
          copy = `${NAME}.corrupt.${Date.now()}`;
          await data.write(copy, before as Uint8Array);
        }
        const after = edit(tokens) ?? (copy === undefined ? undefined : NONE);
        return after === undefined ? undefined : `${JSON.stringify({ version: VERSION, tokens: after }, null, 2)}\n`;
      });
      return copy;
    },
  };
}

function parse(bytes: Uint8Array, path: string): readonly Token[] {
  try {
    const { version, tokens } = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)) as { version: unknown; tokens: unknown };
    if (version === VERSION && Array.isArray(tokens) && tokens.every(isToken)) return tokens;
  } catch {
    // Said below: the file's content is no matter for an error message.
  }
  throw svcError("SVC_TOKENS_CORRUPT", `${path} is damaged: no token is accepted until it is repaired or new ones are made with svc token create.`, {
    status: 500,
  });
}

/** One record that is not whole makes the file corrupt: a token without its `revokedAt` would live again. */
function isToken(value: unknown): value is Token {
  if (typeof value !== "object" || value === null) return false;
  const { id, name, scope, prefix, hash, createdAt, expiresAt, revokedAt, lastUsedAt } = value as Record<string, unknown>;
  const isTime = (time: unknown) => typeof time === "string" && !Number.isNaN(Date.parse(time));
  return (
    [id, name, prefix].every((text) => typeof text === "string" && text !== "") &&
    Array.isArray(scope) &&
    scope.every((one) => typeof one === "string") &&
    typeof hash === "string" &&
    /^[0-9a-f]{64}$/.test(hash) &&
    isTime(createdAt) &&
    [expiresAt, revokedAt, lastUsedAt].every((time) => time === undefined || isTime(time))
  );
}
