import { createReadStream, existsSync, statSync, watchFile } from "node:fs";
import { open } from "node:fs/promises";
import type { Cli } from "../cli.ts";
import { fail } from "../errors.ts";

const LEVELS: Readonly<Record<number, string>> = { 20: "debug", 30: "info", 40: "warn", 50: "error" };

/** Print the last lines of the log, and go on as they come when `follow` says so. */
export async function showLog(cli: Cli, lines: number, follow: boolean): Promise<void> {
  if (!existsSync(cli.logFile)) throw fail("SVC_CLI_MISSING", { what: `log at ${cli.logFile}`, next: "svc daemon start" });
  const size = statSync(cli.logFile).size;
  for (const line of (await tail(cli.logFile, size, lines)).filter((text) => text !== "")) show(cli, line);
  if (!follow) return;
  let at = size;
  await new Promise<void>((resolve) => {
    process.once("SIGINT", resolve);
    watchFile(cli.logFile, { interval: 250 }, async (now) => {
      if (now.size < at) at = 0;
      if (now.size === at) return;
      const from = at;
      at = now.size;
      let text = "";
      for await (const chunk of createReadStream(cli.logFile, { start: from, end: now.size - 1, encoding: "utf8" })) text += chunk;
      for (const line of text.split("\n").filter(Boolean)) show(cli, line);
    });
  });
  process.exit();
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

function show(cli: Cli, line: string): void {
  let entry: { level?: number; time?: number | string; name?: string; plugin?: string; msg?: string; err?: { message?: string } };
  try {
    entry = JSON.parse(line);
  } catch {
    cli.print(line, { text: line });
    return;
  }
  const time = new Date(entry.time ?? 0).toISOString().slice(0, 19).replace("T", " ");
  const from = entry.plugin ?? entry.name ?? "";
  cli.print(
    `${time} ${(LEVELS[entry.level ?? 30] ?? "info").padEnd(5)} ${from === "" ? "" : `${from}: `}${entry.msg ?? ""}${entry.err?.message === undefined ? "" : ` (${entry.err.message})`}`,
    entry,
  );
}
