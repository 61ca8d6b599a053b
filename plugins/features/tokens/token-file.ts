import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Confined, codeOf, svcError } from "@svc/sdk";
import type { Token } from "./token.ts";

/** The tokens of a data folder, in `tokens.json`. Daemon and command line work on it at the same time. */
export interface TokenFile {
  readonly path: string;
  /**
   * What the file says now: it is read on every call, so that no change is missed. No file: no tokens. Throws `SVC_TOKENS_CORRUPT` for
   * one that cannot be understood in full, `SVC_TOKENS_NEWER` for one of a later version, and the system's error where it cannot be read.
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

/** Opens `tokens.json` in the data folder; it is read again when its bytes have changed. */
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
        if (codeOf(error) === "ENOENT") return NONE;
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
        } catch (error) {
          if (codeOf(error) !== "SVC_TOKENS_CORRUPT") throw error;
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

/** Throws `SVC_TOKENS_NEWER` or `SVC_TOKENS_CORRUPT`. */
function parse(bytes: Uint8Array, path: string): readonly Token[] {
  let content: { version?: unknown; tokens?: unknown } | null = null;
  try {
    content = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    // Said below: what the file holds is no matter for an error message.
  }
  const { version, tokens } = content ?? {};
  if (version === VERSION && Array.isArray(tokens) && tokens.every(isToken)) return tokens;
  if (typeof version === "number" && version > VERSION)
    throw svcError("SVC_TOKENS_NEWER", `${path} was written by a newer svc (version ${version}); start that one. No token is accepted.`, { status: 500 });
  const next = "No token is accepted; make new ones with svc token create.";
  throw svcError("SVC_TOKENS_CORRUPT", `${path} is damaged. ${next}`, { status: 500 });
}

const isTime = (value: unknown): boolean => typeof value === "string" && !Number.isNaN(Date.parse(value));
const isOptionalTime = (value: unknown): boolean => value === undefined || isTime(value);
const isText = (value: unknown): boolean => typeof value === "string" && value !== "";

const FIELDS: { readonly [K in keyof Required<Token>]: (value: unknown) => boolean } = {
  id: isText,
  name: isText,
  scope: (value) => Array.isArray(value) && value.every((one) => typeof one === "string"),
  prefix: isText,
  hash: (value) => typeof value === "string" && /^[0-9a-f]{64}$/.test(value),
  createdAt: isTime,
  expiresAt: isOptionalTime,
  revokedAt: isOptionalTime,
  lastUsedAt: isOptionalTime,
};

/** Strict, unknown keys too: were `revokedAt` misspelled by a flipped bit, its token would live again. */
function isToken(value: unknown): value is Token {
  if (typeof value !== "object" || value === null || Object.keys(value).some((key) => !Object.hasOwn(FIELDS, key))) return false;
  return Object.entries(FIELDS).every(([key, fits]) => fits((value as Record<string, unknown>)[key]));
}
