import { createRequire } from "node:module";
import type { Writable } from "node:stream";
import type { Log } from "@svc/sdk";
import { CONTROLS } from "./control-characters.ts";
import { describeError } from "./log-facts.ts";
import { type LogLimits, openLogFile, readLogLimits, writeLine } from "./log-file.ts";

/** The kernel's log, and one child for each room and plugin. */
export interface RootLog extends Log {
  child(id: string): RootLog;
  /** Reopens the log file after a rotation; no effect if lines do not go to a file. */
  reopen(): void;
}

/** Options of a log. */
export interface LogOptions {
  readonly level?: string;
  /** `none` writes and loads nothing. Anything but `stderr` and `none` is a file, created with mode 0600. */
  readonly destination: "none" | "stderr" | string | Writable;
  /** When a file is rotated; 10 MB and three files unless given. */
  readonly limits?: () => LogLimits;
  /** For people: one readable line instead of JSON. */
  readonly pretty?: boolean;
  /** Returns the values to redact; called for each line, because a reload may change them: then it must return another object. */
  readonly secrets: () => Iterable<string>;
}

/** Facts with these names are never written, whatever they hold; deeper ones the scrubber finds by their names. */
const SECRET_FACTS = ["authorization", "cookie", "token", "apiKey", "password", "secret", "credential", "credentials"];
const SECRET_NAME = String.raw`[\w-]*(?:token|secret|password|passwd|api[-_]?key|authorization|cookie|credential)`;
/** Matches a string or list under a secret name at any depth, also in JSON nested in a string, at any level of escaping. */
const NAMED = new RegExp(String.raw`"(${SECRET_NAME})":\s*(?:"(?:[^"\\]|\\.)*"|\[[^\]]*(?:\]|$))`, "gi");
const NAMED_INSIDE = new RegExp(String.raw`(?<!\\)(\\+)"(${SECRET_NAME})\1":\s*\1"(?:(?!\1").)*\1"`, "gi");
const SHAPES = /svc_live_[0-9a-f]+|([?&](?:token|access_token|key|api_key)=)[^&\s"\\]+|(\b(?:bearer\s+|basic\s+(?=[a-z+/]*[\d=])))[\w.~+/-]{6,}=*/gi;
/** Shorter values are words, not secrets: replacing them would make the log unreadable. */
const SHORTEST_SECRET = 6;

/** Takes secret values, values with secret names and anything of a token's shape out of a line. */
export function createScrubber(secrets: () => Iterable<string>): (line: string) => string {
  let compiled: Iterable<string> | undefined;
  let values: RegExp | undefined;
  return (line) => {
    const given = secrets();
    if (given !== compiled) {
      compiled = given;
      values = patternOf(given);
    }
    const clean = values === undefined ? line : line.replace(values, "***");
    return clean
      .replace(NAMED, '"$1":"***"')
      .replace(NAMED_INSIDE, '$1"$2$1":$1"***$1"')
      .replace(SHAPES, (_whole, query: string | undefined, scheme: string | undefined) => `${query ?? scheme ?? ""}***`);
  };
}

/** Number of nested JSON encodings in which a secret with quotes or line breaks is still found. */
const DEEPEST_JSON = 4;

/** Builds the pattern of the secrets as they are and as they are encoded in JSON and URLs. Longest first: one may be a prefix of another. */
function patternOf(secrets: Iterable<string>): RegExp | undefined {
  const forms = new Set<string>();
  for (const secret of secrets) {
    if (secret.length < SHORTEST_SECRET) continue;
    forms.add(encodeURIComponent(Buffer.from(secret).toString()));
    for (let form = secret, depth = 0; depth <= DEEPEST_JSON; depth += 1, form = JSON.stringify(form).slice(1, -1)) forms.add(form);
  }
  if (forms.size === 0) return undefined;
  const longestFirst = [...forms].sort((one, other) => other.length - one.length);
  return new RegExp(longestFirst.map((form) => form.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&")).join("|"), "g");
}

const SILENT: RootLog = { debug() {}, info() {}, warn() {}, error() {}, reopen() {}, child: () => SILENT };

/** Structured lines through pino, scrubbed as the last step before they leave. */
export function createLog({ level = "info", destination, pretty = false, secrets, limits = () => readLogLimits({}) }: LogOptions): RootLog {
  if (destination === "none") return SILENT;
  // Loaded here and not at the top: a kernel embedded without a log does not pay for it.
  const { pino } = createRequire(import.meta.url)("pino") as typeof import("pino");
  const file = typeof destination === "string" && destination !== "stderr" ? openLogFile(destination, limits) : undefined;
  const sink = file ?? (typeof destination === "string" ? { write: (line: string) => writeLine(2, line) } : destination);
  const scrub = createScrubber(secrets);
  const write = (line: string): void => {
    const clean = scrub(line);
    sink.write(pretty ? forPeople(clean) : escapeControls(clean));
  };
  const root = pino({ level, base: null, redact: { paths: SECRET_FACTS, censor: "***" }, serializers: { err: describeError } }, { write });
  return wrap(root, () => file?.reopen());
}

/** The part of a configuration that the log reads, again whenever it may have changed. */
export interface LoggedConfiguration {
  /** Values that no line may hold. */
  readonly checked: { readonly secrets: Iterable<string> };
  readonly value: Readonly<Record<string, unknown>>;
}

/** Returns the log that an embedding program passed, or one with its options; without options a silent one. */
export function logOf(given: RootLog | Omit<LogOptions, "secrets" | "limits"> | undefined, configuration: () => LoggedConfiguration): RootLog {
  if (given !== undefined && "child" in given) return given;
  const { destination = "none", ...rest } = given ?? {};
  return createLog({ ...rest, destination, secrets: () => configuration().checked.secrets, limits: () => readLogLimits(configuration().value) });
}

type PinoLogger = import("pino").Logger;

function wrap(logger: PinoLogger, reopen: () => void): RootLog {
  const write = (level: "debug" | "info" | "warn" | "error") => (facts: object | string, text?: string) =>
    typeof facts === "string" ? logger[level](facts) : logger[level](facts instanceof Error ? { err: facts } : facts, text);
  return {
    debug: write("debug"),
    info: write("info"),
    warn: write("warn"),
    error: write("error"),
    reopen,
    child: (id) => wrap(logger.child({ plugin: id }), reopen),
  };
}

/** JSON escapes C0 controls only. The line's own end stays. */
const escapeControls = (line: string): string =>
  `${line.trimEnd().replace(CONTROLS, (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, "0")}`)}\n`;

const cleaned = (text: string): string => text.replace(new RegExp(`${CONTROLS.source}+`, "g"), " ");

const LEVELS: Readonly<Record<number, string>> = { 20: "debug", 30: "info", 40: "warn", 50: "error", 60: "fatal" };

/** Formats one line of JSON for people; any other line is returned unchanged. `dated` adds the day before the time. */
export function forPeople(line: string, dated = false): string {
  let parsed: { [fact: string]: unknown; level?: number; time?: number; plugin?: string; name?: string; msg?: string; err?: { message?: string } };
  try {
    parsed = JSON.parse(line);
  } catch {
    return `${cleaned(line.trimEnd())}\n`;
  }
  // A line that a program has printed by itself may be JSON, too.
  if (typeof parsed !== "object" || parsed === null) return `${cleaned(line.trimEnd())}\n`;
  const { level = 30, time = 0, plugin, name, msg, err, ...facts } = parsed;
  const message = err?.message !== undefined && msg?.includes(err.message) ? undefined : err?.message;
  const rest = Object.entries(facts).map(([fact, value]) => `${fact}=${typeof value === "string" ? value : JSON.stringify(value)}`);
  const text = [[msg, message].filter(Boolean).join(": "), ...rest].join(" ");
  const at = new Date(time);
  const clock = Number.isNaN(at.getTime())
    ? "--:--:--"
    : at
        .toISOString()
        .slice(dated ? 0 : 11, 19)
        .replace("T", " ");
  const who = plugin ?? name;
  return `${cleaned(`${clock} ${(LEVELS[level] ?? "").padEnd(5)} ${who === undefined ? "" : `${who}: `}${text}`)}\n`;
}
