import { createReadStream, existsSync, statSync, watchFile } from "node:fs";
import { open } from "node:fs/promises";
import { forPeople } from "@svc/kernel/log";
import { type Cli, plain } from "../cli.ts";
import { fail } from "../errors.ts";

/** Prints the last lines of the log, and follows it if `follow` is true. */
export async function showLog(cli: Cli, lines: number, follow: boolean): Promise<void> {
  const elsewhere = await writesElsewhere(cli);
  if (!existsSync(cli.logFile)) throw elsewhere ?? fail("SVC_CLI_MISSING", { what: `log at ${cli.logFile}`, next: "svc daemon start" });
  if (elsewhere !== undefined) cli.say(`${elsewhere.message} This is the log of an earlier one in the background.`);
  const { size } = statSync(cli.logFile);
  const last = (await tail(cli.logFile, size, lines)).filter((text) => text !== "");
  const before = earlier(cli);
  const older = last.length >= lines || before === undefined ? [] : (await tail(before.file, before.size, lines - last.length)).filter((text) => text !== "");
  for (const line of [...older, ...last]) show(cli, line);
  if (!follow) return;
  let at = size;
  await new Promise<void>((resolve) => {
    process.once("SIGINT", resolve);
    let shown = Promise.resolve();
    const showFrom = async (file: string, from: number, to: number) => {
      let text = "";
      if (to > from) for await (const chunk of createReadStream(file, { start: from, end: to - 1, encoding: "utf8" })) text += chunk;
      for (const line of text.split("\n").filter(Boolean)) show(cli, line);
    };
    watchFile(cli.logFile, { interval: 250 }, (now, then) => {
      const from = now.size < at || now.ino !== then.ino ? 0 : at;
      const rest = at;
      at = now.size;
      shown = shown
        .then(async () => {
          // Rotated: the end of the file that was followed is the one before now.
          const moved = now.ino === then.ino ? undefined : earlier(cli);
          if (moved !== undefined && moved.ino === then.ino) await showFrom(moved.file, rest, moved.size);
          await showFrom(cli.logFile, from, now.size);
        })
        // The file may be rotated once more while it is read.
        .catch(() => undefined);
    });
  });
  process.exit();
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
  const { lockHolder } = await import("@svc/kernel");
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
