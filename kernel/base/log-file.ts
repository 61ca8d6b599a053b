import { readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";

/** Limits of a log file's size, and of the number of files with the current one. Read when they matter: a reload may change them. */
export interface LogLimits {
  readonly logMegabytes: number;
  readonly logFiles: number;
}

/** Of `retention` of svc.json. */
export function readLogLimits(config: Readonly<Record<string, unknown>>): LogLimits {
  const { logMegabytes = 10, logFiles = 3 } = (config.retention ?? {}) as Partial<LogLimits>;
  return { logMegabytes, logFiles };
}

/** Where lines go: a file that is rotated by its size. */
export interface LogFile {
  write(line: string): void;
  flushSync(): void;
  /** Reopens the file after a rotation (as by logrotate), so that lines go to a new one. */
  reopen(): void;
}

const MEGABYTE = 1_048_576;

/** Lines are in the file when `write` returns. `<file>.1` is the one before, `.2` the one before that. Mode 0600; folders are made. */
export function openLogFile(file: string, limits: () => LogLimits): LogFile {
  const { pino } = createRequire(import.meta.url)("pino") as typeof import("pino");
  const sink = pino.destination({ dest: file, sync: true, mkdir: true, mode: 0o600 });
  let bytes = sizeOf(file);
  return {
    write(line) {
      const length = Buffer.byteLength(line);
      if (bytes > 0 && bytes + length > limits().logMegabytes * MEGABYTE) {
        rotate(file, limits().logFiles);
        sink.reopen();
        bytes = sizeOf(file);
      }
      bytes += length;
      sink.write(line);
    },
    flushSync: () => sink.flushSync(),
    reopen() {
      sink.reopen();
      bytes = sizeOf(file);
    },
  };
}

/** If renaming fails, continue in the same file: an overlong log is better than none. */
function rotate(file: string, files: number): void {
  try {
    for (const number of earlier(file)) {
      const from = `${file}.${number}`;
      if (number >= files - 1) rmSync(from, { force: true });
      else renameSync(from, `${file}.${number + 1}`);
    }
    if (files > 1) renameSync(file, `${file}.1`);
    else rmSync(file, { force: true });
  } catch {
    // As above.
  }
}

/** The numbers of the files from before, the oldest first. */
function earlier(file: string): readonly number[] {
  const prefix = `${basename(file)}.`;
  return readdirSync(dirname(join(file)))
    .filter((name) => name.startsWith(prefix) && /^\d+$/.test(name.slice(prefix.length)))
    .map((name) => Number(name.slice(prefix.length)))
    .sort((one, other) => other - one);
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
