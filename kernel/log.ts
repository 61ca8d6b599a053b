import { createRequire } from "node:module";
import { Writable } from "node:stream";
import type { Log } from "@svc/sdk";

/** The kernel's log, and one child for each room and plugin. */
export interface RootLog extends Log {
  child(id: string): RootLog;
  /** Everything written so far has left the process. */
  flush(): void;
}

export interface LogOptions {
  readonly level?: string;
  /** `none` writes nothing and loads nothing. Anything but `stderr` and `none` is a file, made with mode 0600. */
  readonly destination: "none" | "stderr" | string | Writable;
  /** For people: one readable line instead of JSON. */
  readonly pretty?: boolean;
  /** Values that must never be written, asked for at each line because a reload may change them. */
  readonly secrets: () => Iterable<string>;
}

/** Keys whose values are never written, wherever they stand. */
const SECRET_KEYS = [
  "authorization",
  "cookie",
  "set-cookie",
  "token",
  "apiKey",
  "api_key",
  "password",
  "secret",
  "webhookSecret",
  "botToken",
  "appToken",
  "fireToken",
  "credential",
];
const SHAPES = /svc_live_[0-9a-f]+|([?&](?:token|access_token|key|api_key)=)[^&\s"\\]+|(\b[Bb]earer\s+)[\w.~+/-]+=*/g;
/** Shorter values are words, not secrets: replacing them would make the log unreadable. */
const SHORTEST_SECRET = 6;

/** Takes the secret values and anything of a token's shape out of a line. */
export function scrub(line: string, secrets: Iterable<string>): string {
  let clean = line;
  for (const secret of secrets) {
    if (secret.length < SHORTEST_SECRET) continue;
    clean = clean.replaceAll(secret, "***");
    // As it stands inside a JSON string, should it hold characters that JSON escapes.
    const quoted = JSON.stringify(secret).slice(1, -1);
    if (quoted !== secret) clean = clean.replaceAll(quoted, "***");
    const encoded = encodeURIComponent(secret);
    if (encoded !== secret) clean = clean.replaceAll(encoded, "***");
  }
  return clean.replace(SHAPES, (_whole, query: string | undefined, bearer: string | undefined) => `${query ?? bearer ?? ""}***`);
}

const SILENT: RootLog = { debug() {}, info() {}, warn() {}, error() {}, flush() {}, child: () => SILENT };

/** Structured lines through pino, scrubbed as the last step before they leave. */
export function createLog({ level = "info", destination, pretty = false, secrets }: LogOptions): RootLog {
  if (destination === "none") return SILENT;
  // Loaded here and not at the top: a kernel embedded without a log does not pay for it.
  const { pino } = createRequire(import.meta.url)("pino") as typeof import("pino");
  const sink =
    typeof destination === "string"
      ? pino.destination({ dest: destination === "stderr" ? 2 : destination, sync: true, mkdir: true, mode: 0o600 })
      : destination;
  const out = new Writable({
    decodeStrings: false,
    write(line: string | Buffer, _encoding, done) {
      const clean = scrub(String(line), secrets());
      sink.write(pretty ? forPeople(clean) : clean);
      done();
    },
  });
  const paths = SECRET_KEYS.flatMap((key) =>
    [key, `*.${key}`, `*.*.${key}`, `*.*.*.${key}`].map((path) => path.replace(/(^|\.)([\w]*-[\w-]*)$/, '$1["$2"]').replace('.["', '["')),
  );
  const root = pino({ level, base: null, redact: { paths, censor: "***" }, serializers: { err: describeError } }, out);
  return wrap(root, () => ("flushSync" in sink ? (sink as { flushSync(): void }).flushSync() : undefined));
}

type PinoLogger = import("pino").Logger;

function wrap(logger: PinoLogger, flush: () => void): RootLog {
  const write = (level: "debug" | "info" | "warn" | "error") => (facts: object | string, text?: string) =>
    typeof facts === "string" ? logger[level](facts) : logger[level](facts instanceof Error ? { err: facts } : facts, text);
  return {
    debug: write("debug"),
    info: write("info"),
    warn: write("warn"),
    error: write("error"),
    flush,
    child: (id) => wrap(logger.child({ plugin: id }), flush),
  };
}

/** An error without the request or response objects that vendors hang on theirs. */
function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { code } = error as { code?: unknown };
  return {
    type: error.name,
    message: error.message,
    ...(code === undefined ? {} : { code }),
    stack: error.stack,
    ...(error.cause === undefined ? {} : { cause: describeError(error.cause) }),
  };
}

const LEVELS: Readonly<Record<number, string>> = { 20: "debug", 30: "info", 40: "warn", 50: "error", 60: "fatal" };

function forPeople(line: string): string {
  const { level, time, plugin, msg, err } = JSON.parse(line) as { level: number; time: number; plugin?: string; msg?: string; err?: { message?: string } };
  const text = [msg, err?.message]
    .filter(Boolean)
    .join(": ")
    .replace(/[\u0000-\u001f\u007f-\u009f]/g, " ");
  return `${new Date(time).toISOString().slice(11, 19)} ${(LEVELS[level] ?? "").padEnd(5)} ${plugin === undefined ? "" : `${plugin}: `}${text}\n`;
}
