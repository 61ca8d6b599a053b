import { existsSync, statSync } from "node:fs";
import { open } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { forPeople } from "@svc/kernel/log";
import { type Cli, plain } from "../cli.ts";
import { fail } from "../errors.ts";

/** Prints the last lines of the log, and follows it if `follow` is true. */
export async function showLog(cli: Cli, lines: number, follow: boolean): Promise<void> {
  const elsewhere = await writesElsewhere(cli);
  if (!existsSync(cli.logFile)) throw elsewhere ?? fail("SVC_CLI_MISSING", { what: `log at ${cli.logFile}`, next: "svc daemon start" });
  if (elsewhere !== undefined) cli.say(`${elsewhere.message} This is the log of an earlier one in the background.`);
  const { size, ino } = statSync(cli.logFile);
  const last = (await tail(cli.logFile, size, lines)).filter((text) => text !== "");
  const before = earlier(cli);
  const older = last.length >= lines || before === undefined ? [] : (await tail(before.file, before.size, lines - last.length)).filter((text) => text !== "");
  for (const line of [...older, ...last]) show(cli, line);
  if (!follow) return;
  const interrupted = new AbortController();
  process.once("SIGINT", () => interrupted.abort());
  await followLog(cli, { size, ino }, interrupted.signal);
  process.exit();
}

const FOLLOW_MS = 250;

/** Prints the lines that come after `shown`, through rotations, until it is interrupted. */
async function followLog(cli: Cli, shown: { readonly size: number; readonly ino: number }, interrupted: AbortSignal): Promise<void> {
  let { size: at, ino } = shown;
  while (!interrupted.aborted) {
    try {
      const now = statSync(cli.logFile);
      if (now.ino !== ino) {
        // Rotated: the end of the file that was followed is the one before now.
        const moved = earlier(cli);
        if (moved?.ino === ino) await showFrom(cli, moved.file, at, moved.size);
        ({ ino } = now);
        at = 0;
      }
      if (now.size < at) at = 0;
      if (now.size > at) at += await showFrom(cli, cli.logFile, at, now.size);
    } catch (error) {
      // Between two files there is none, and the file may be rotated once more while it is read.
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
    await pause(FOLLOW_MS, undefined, { signal: interrupted }).catch(() => undefined);
  }
}

/** Prints the whole lines in these bytes of a file, and returns their bytes. */
async function showFrom(cli: Cli, file: string, from: number, to: number): Promise<number> {
  const handle = await open(file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(to - from), 0, to - from, from);
    const whole = buffer.subarray(0, buffer.lastIndexOf("\n", bytesRead - 1) + 1);
    for (const line of whole.toString("utf8").split("\n").filter(Boolean)) show(cli, line);
    return whole.length;
  } finally {
    await handle.close();
  }
}

/** The log file from before the last rotation. */
function earlier(cli: Cli): { readonly file: string; readonly size: number; readonly ino: number } | undefined {
  const file = `${cli.logFile}.1`;
  const found = statSync(file, { throwIfNoEntry: false });
  return found && { file, size: found.size, ino: found.ino };
}

/** Detects a daemon in the foreground, which has no log file: it writes to its terminal. */
async function writesElsewhere(cli: Cli): Promise<Error | undefined> {
  const note = cli.note();
  if (note === undefined || note.log !== undefined) return undefined;
  const { lockHolder } = await import("@svc/kernel/folder");
  if (lockHolder(cli.dataFolder)?.pid !== note.pid) return undefined;
  return fail("SVC_CLI_LOG_ELSEWHERE", { pid: note.pid });
}

/** The last lines, read backwards in blocks so that a long log costs no more than a short one. */
async function tail(file: string, size: number, lines: number): Promise<string[]> {
  const handle = await open(file);
  try {
    let text = Buffer.alloc(0);
    for (let start = size; start > 0 && text.toString("latin1").split("\n").length <= lines + 1; ) {
      const length = Math.min(65_536, start);
      start -= length;
      const block = Buffer.alloc(length);
      await handle.read(block, 0, length, start);
      text = Buffer.concat([block, text]);
    }
    return text
      .toString("utf8")
      .split("\n")
      .slice(-(lines + 1));
  } finally {
    await handle.close();
  }
}

/** For people as in a terminal, the day before the time; under `--json` one object a line. */
function show(cli: Cli, line: string): void {
  process.stdout.write(cli.json ? `${asJson(line)}\n` : plain(forPeople(line, true)));
}

function asJson(line: string): string {
  try {
    return JSON.stringify(JSON.parse(line));
  } catch {
    return JSON.stringify({ text: line });
  }
}
