import { closeSync, mkdirSync, openSync, readdirSync, renameSync, rmSync, statSync, writeSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { codeOf } from "@svc/sdk";

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
  /** Reopens the file after a rotation (as by logrotate), so that lines go to a new one. */
  reopen(): void;
}

const MEGABYTE = 1_048_576;

/** A pipe whose reader is slow is waited for so often, 10 ms each time: a second. */
const MOST_WAITS = 100;

/**
 * Writes a line whole to a descriptor, before it returns. False where it cannot: on a full disk, or where the reader has gone. A line of the log that
 * is lost must not end the daemon.
 */
export function writeLine(descriptor: number, line: string): boolean {
  const bytes = Buffer.from(line);
  for (let at = 0, waits = 0; at < bytes.length; ) {
    try {
      at += writeSync(descriptor, bytes, at);
    } catch (error) {
      if (codeOf(error) !== "EAGAIN" || ++waits > MOST_WAITS) return false;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    }
  }
  return true;
}

/** Lines are in the file when `write` returns. `<file>.1` is the one before, `.2` the one before that. Mode 0600; folders are made. */
export function openLogFile(file: string, limits: () => LogLimits): LogFile {
  mkdirSync(dirname(file), { recursive: true });
  const open = () => openSync(file, "a", 0o600);
  let descriptor = open();
  let bytes = sizeOf(file);
  /** Where it cannot be opened anew, lines go on to the file that is open. */
  function reopen(): void {
    try {
      const former = descriptor;
      descriptor = open();
      closeSync(former);
    } catch {
      // As above.
    }
    bytes = sizeOf(file);
  }
  return {
    write(line) {
      const length = Buffer.byteLength(line);
      if (bytes > 0 && bytes + length > limits().logMegabytes * MEGABYTE) {
        rotate(file, limits().logFiles);
        reopen();
      }
      if (writeLine(descriptor, line)) bytes += length;
    },
    reopen,
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
