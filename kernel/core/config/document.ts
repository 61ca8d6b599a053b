import { isUtf8 } from "node:buffer";
import { readFileSync } from "node:fs";
import { codeOf } from "@svc/sdk";
import { type ConfigPath, valueAt } from "../../base/config-path.ts";
import { expandValue, referencesBelow, referencesIn, variable } from "../../base/config-text/expand.ts";
import { copyPlain, type ParsedText, type Position, parseText } from "../../base/config-text/parse.ts";
import { fail } from "../../base/errors.ts";

/** Source of a configuration. `text` is parsed in place of the file's content. */
export type DocumentSource = { readonly file: string; readonly text?: string } | { readonly value: object };

/** One configuration as it was written, before anything was checked. */
export interface ConfigDocument {
  /** Unset for a value passed in code, as `text` is. */
  readonly file?: string;
  /** The file's content with its `${NAME}` references, without a byte order mark. */
  readonly text?: string;
  readonly raw: Readonly<Record<string, unknown>>;
  /** `raw` with `${NAME}` replaced from the environment, a missing one by nothing. Holds secrets. */
  readonly expanded: Readonly<Record<string, unknown>>;
  /** The position of a key or a list's entry; undefined for an absent one, and for a value given in code. */
  locate(path: ConfigPath): Position | undefined;
  /** The environment variables that the text at `path` refers to. */
  references(path: ConfigPath): readonly string[];
  /** Variables the document refers to that are empty or not set. */
  readonly missing: readonly string[];
}

/**
 * Reads and expands a configuration; nothing is validated but its form. Throws `SVC_CONFIG_MISSING`, `SVC_CONFIG_UNREADABLE`,
 * `SVC_CONFIG_SYNTAX` (with `file`, `line`, `column`) or `SVC_CONFIG_KEY`.
 */
export function openDocument(source: DocumentSource, env: NodeJS.ProcessEnv): ConfigDocument {
  if ("value" in source) return describe(copyPlain(source.value), env, {}, () => undefined);
  const { file } = source;
  const text = withoutMark(source.text ?? readText(file));
  const parsed: ParsedText = parseText(text, file);
  return describe(parsed.raw, env, { file, text }, parsed.locate);
}

/** Reads a configuration file. Throws `SVC_CONFIG_MISSING` or `SVC_CONFIG_UNREADABLE`. */
export function readText(file: string): string {
  try {
    return withoutMark(decode(readFileSync(file), file));
  } catch (error) {
    if (codeOf(error) === "SVC_CONFIG_SYNTAX") throw error;
    if (codeOf(error) === "ENOENT") throw fail("SVC_CONFIG_MISSING", { file, cause: error });
    throw fail("SVC_CONFIG_UNREADABLE", { file, reason: (error as Error).message, cause: error });
  }
}

/** Invalid UTF-8 would be lost with the next change of the file, so the file is refused. */
function decode(bytes: Buffer, file: string): string {
  const refuse = (where: string, reason: string) => fail("SVC_CONFIG_SYNTAX", { where, reason, file });
  const wide = bytes.length >= 2 && ((bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff) || bytes[0] === 0 || bytes[1] === 0);
  if (wide) throw refuse(file, "it is written in UTF-16; save it as UTF-8");
  if (isUtf8(bytes)) return bytes.toString("utf8");
  const lines = bytes.toString("latin1").split("\n");
  const line = lines.findIndex((one) => !isUtf8(Buffer.from(one, "latin1")));
  throw refuse(`${file}:${line + 1}`, "this line is not UTF-8 (written in Latin-1 or Windows-1252?); save the file as UTF-8");
}

const withoutMark = (text: string): string => (text.startsWith("\uFEFF") ? text.slice(1) : text);

function describe(
  raw: Record<string, unknown>,
  env: NodeJS.ProcessEnv,
  origin: { readonly file?: string; readonly text?: string },
  locate: ConfigDocument["locate"],
): ConfigDocument {
  return {
    ...origin,
    raw,
    expanded: expandValue(raw, env) as Record<string, unknown>,
    locate,
    references(path) {
      const at = valueAt(raw, path);
      return typeof at === "string" ? referencesIn(at) : [];
    },
    missing: referencesBelow(raw).filter((name) => variable(env, name) === ""),
  };
}
