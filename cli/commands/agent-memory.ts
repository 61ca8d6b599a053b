import { spawnSync } from "node:child_process";
import { text as readAll } from "node:stream/consumers";
import type { Cli } from "../cli.ts";
import { fail } from "../errors.ts";
import { table } from "../table.ts";

interface Shown {
  readonly file: string;
  readonly text: string;
  readonly size: number;
  readonly redacted: number;
  readonly cut?: true;
  readonly tag: string;
  readonly path?: string;
}

interface Listed {
  readonly files: readonly { readonly file: string; readonly size: number; readonly changedAt: string }[];
  readonly more?: true;
}

/** `svc agent memory <what> <id> [file]`. */
export async function memory(
  cli: Cli,
  { what, id, file, text }: { readonly what: string | undefined; readonly id: string; readonly file: string | undefined; readonly text: unknown },
): Promise<void> {
  const path = `/agents/${encodeURIComponent(id)}/memory`;
  if (what === "list") return list(cli, path, id);
  if (what !== "show" && what !== "edit" && what !== "remove")
    throw fail("SVC_CLI_USAGE", { reason: `'${what}' cannot be done with a memory; give list, show, edit or remove.` });
  if (file === undefined) throw fail("SVC_CLI_USAGE", { reason: `Name the file to ${what}; see svc agent memory list ${id}` });
  const query = `${path}?file=${encodeURIComponent(file)}`;
  if (what === "show") {
    const shown = (await cli.request("GET", query)) as Shown;
    const left = [...(shown.redacted > 0 ? [`${shown.redacted} credentials left out`] : []), ...(shown.cut ? [`${shown.size} bytes in all`] : [])];
    if (left.length > 0) cli.say(`(${left.join(", ")})`);
    return cli.print(shown.text, shown);
  }
  if (what === "remove") {
    await cli.request("DELETE", query);
    return cli.print(`${file} is removed from the memory of ${id}.`, { id, file, removed: true });
  }
  return edit(cli, { path, query, id, file, text });
}

async function list(cli: Cli, path: string, id: string): Promise<void> {
  const { files, more } = (await cli.request("GET", path)) as Listed;
  const rows = files.map(({ file, size, changedAt }) => [file, `${size} bytes`, changedAt]);
  if (more) cli.say(`(the first ${files.length}; there are others)`);
  cli.print(rows.length === 0 ? `${id} has none: MEMORY.md, and files below memory/ of its workspace.` : table([["FILE", "SIZE", "CHANGED"], ...rows]), files);
}

interface Editing {
  readonly path: string;
  readonly query: string;
  readonly id: string;
  readonly file: string;
  readonly text: unknown;
}

/** On a terminal the person's editor opens the file itself: the displayed text lacks credentials. */
async function edit(cli: Cli, { path, query, id, file, text }: Editing): Promise<void> {
  const there = await (cli.request("GET", query) as Promise<Shown>).catch((error) => {
    if ((error as { code?: string }).code === "SVC_MEMORY_UNKNOWN") return undefined;
    throw error;
  });
  if (text === undefined && process.stdin.isTTY === true && !cli.json) {
    if (there === undefined) await cli.request("PUT", path, { file, text: "", tag: "none" });
    const { path: real = "" } = (await cli.request("GET", query)) as Shown;
    const [program = "vi", ...args] = (process.env.VISUAL || process.env.EDITOR || "vi").split(" ");
    const { error, status } = whileItRuns(() => spawnSync(program, [...args, real], { stdio: "inherit" }));
    if (error !== undefined || status !== 0)
      throw fail("SVC_CLI_TASK_FAILED", {
        reason: `${program} ${error === undefined ? `ended with ${status}` : `could not be started: ${error.message}`}; set EDITOR, or give --text`,
      });
  } else {
    const next = text === undefined ? await readAll(process.stdin) : `${String(text).trimEnd()}\n`;
    await cli.request("PUT", path, { file, text: next, tag: there?.tag ?? "none" });
  }
  cli.print(`${file} of ${id} is written.`, { id, file });
}

/** Ctrl-C is for the program in the terminal: without a listener it would end this one, and leave the two at one keyboard. */
function whileItRuns<T>(work: () => T): T {
  const ignore = () => {};
  process.on("SIGINT", ignore);
  try {
    return work();
  } finally {
    process.off("SIGINT", ignore);
  }
}
