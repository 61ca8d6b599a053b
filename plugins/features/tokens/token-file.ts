import { chmodSync, closeSync, openSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Confined, codeOf, svcError } from "@svc/sdk";
import type { Token } from "./token.ts";

/** The tokens of a data folder, in `tokens.json`. Daemon and command line work on it at the same time. */
export interface TokenFile {
  readonly path: string;
  /**
   * Reads the current file: on every call, so that no change is missed. No file: no tokens. Throws `SVC_TOKENS_CORRUPT` for one that cannot be parsed
   * completely, `SVC_TOKENS_NEWER` for one of a later version, `SVC_TOKENS_FORBIDDEN` for one that this user may not read, and the system's error if
   it cannot be read otherwise.
   */
  read(): readonly Token[];
  /**
   * Reads, edits and writes as one step against every other process; undefined leaves the file as it is. One that cannot be understood
   * is kept as `tokens.json.corrupt.<ms>`, its tokens are gone, and `edit` starts from none. Answers with the name of that copy.
   * Throws `SVC_TOKENS_FORBIDDEN`, `SVC_TOKENS_NEWER`.
   */
  change(edit: (tokens: readonly Token[]) => readonly Token[] | undefined): Promise<string | undefined>;
  /** Takes the file from all other users (0600). Answers the mode that it had where that was another one. Throws `SVC_TOKENS_FORBIDDEN`. */
  closeToOthers(): number | undefined;
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
        throw explained(error, path, "read it");
      }
      if (known?.bytes.equals(bytes) !== true) known = { bytes, tokens: parse(bytes, path) };
      return known.tokens;
    },
    async change(edit) {
      let copy: string | undefined;
      requireReadable(path);
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
    closeToOthers() {
      try {
        const mode = (statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o777;
        if ((mode & 0o077) === 0) return undefined;
        chmodSync(path, 0o600);
        return mode;
      } catch (error) {
        throw explained(error, path, "close it to other users");
      }
    },
  };
}

function requireReadable(path: string): void {
  try {
    closeSync(openSync(path, "r"));
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw explained(error, path, "read it");
  }
}

/** `SVC_TOKENS_FORBIDDEN` in place of what the system says where a user may not `act`; any other error unchanged. */
function explained(error: unknown, path: string, act: string): unknown {
  if (codeOf(error) !== "EACCES" && codeOf(error) !== "EPERM") return error;
  const me = process.geteuid?.();
  const told = (file: string, owner: number): Error => {
    const next = owner === me ? `chmod ${file === path ? "600" : "700"} ${file}` : `chown ${me} ${file}`;
    const message = `${file} belongs to user ${owner}, and svc runs as user ${me}, who may not ${act}; run: ${next}`;
    return svcError("SVC_TOKENS_FORBIDDEN", message, { status: 500, cause: error });
  };
  try {
    return told(path, statSync(path).uid);
  } catch {
    return told(dirname(path), statSync(dirname(path)).uid);
  }
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
