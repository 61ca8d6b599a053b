import { accessSync, constants, existsSync, readFileSync, type Stats, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { halfRestored } from "../backup/half-restored.ts";
import type { Cli } from "../cli.ts";
import { whyNoRoom } from "../disk-room.ts";
import { explainFiles } from "../system-error.ts";
import { isVirtual } from "../virtual-folder.ts";
import { error, type Finding, ok, warning } from "./finding.ts";

/** Checks the folder of svc.json and the data folder in it for access and for room. */
export function checkPlace(cli: Cli): Finding[] {
  const half = halfRestored(cli);
  return [...(half === undefined ? [] : [error(half.message)]), ...dataFolder(cli), ...environment(cli.folder)];
}

function dataFolder({ folder, dataFolder: data }: Cli): Finding[] {
  const there = look(data);
  if (there === undefined) {
    const refused = whyNotWritable(folder) ?? whyNoRoom(folder);
    return refused === undefined ? [ok(`${folder} can be written; the first start makes ${data}`)] : [error(refused)];
  }
  if (!there.isDirectory()) return [error(`${data} is a file, not a folder; move it away: mv ${data} ${data}.old`)];
  const refused = whyNotWritable(data);
  if (refused !== undefined) return [error(refused)];
  const full = whyNoRoom(data);
  if (full !== undefined)
    return [existsSync(join(data, "ballast")) ? warning(`${full}; a start has the room of ${data}/ballast, which is soon used up`) : error(full)];
  return (there.mode & 0o077) === 0 ? [ok(`${data} can be written`)] : [warning(`${data} is readable by others; run: chmod 700 ${data}`)];
}

/** Reports lines of `.env` that are not assignments: Node ignores them silently. The mode of the file is checked with the configuration. */
function environment(folder: string): Finding[] {
  const file = join(folder, ".env");
  if (!existsSync(file)) return [];
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (failure) {
    return [error(`${file} cannot be read: ${(failure as Error).message}; make it a file that this user may read: chmod 600 ${file}`)];
  }
  const lines = unassigned(text);
  if (lines.length === 0) return [ok(`${file} is well formed`)];
  return [warning(`${file}: line ${lines.join(", ")} is no NAME=value and is ignored; write one variable a line`)];
}

/** Returns the numbers of the lines without an assignment. A quoted value may span several lines. */
function unassigned(text: string): number[] {
  const found: number[] = [];
  let open: string | undefined;
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (open !== undefined) {
      if (line.includes(open)) open = undefined;
      continue;
    }
    if (/^\s*(?:#.*)?$/.test(line)) continue;
    const value = /^\s*(?:export\s+)?[A-Za-z_][\w.-]*\s*=\s*(.*)$/.exec(line)?.[1];
    if (value === undefined) found.push(index + 1);
    else if (/^["'`]/.test(value) && !value.slice(1).includes(value.charAt(0))) open = value.charAt(0);
  }
  return found;
}

/** Can each agent's workspace be made or used? */
export function checkWorkspaces(folder: string, agents: unknown): Finding[] {
  return Object.entries((agents ?? {}) as Record<string, { workspace?: unknown } | null>).flatMap(([id, agent]) => {
    if (typeof agent?.workspace !== "string") return [];
    const path = resolve(folder, agent.workspace);
    const there = look(path);
    if (there?.isDirectory() === true) return [];
    const next = `set agents.${id}.workspace to a folder that can`;
    if (there !== undefined) return [error(`agent ${id}: the workspace ${path} is a file; ${next.replace("that can", "of its own")}`)];
    const above = nearestFolder(path);
    const refused = isVirtual(path) ? "no folder can be made there" : whyNotWritable(above);
    if (refused !== undefined) return [error(`agent ${id}: the workspace ${path} cannot be made (${refused}); ${next}`)];
    return [warning(`agent ${id}: the workspace ${path} does not exist; the start makes it`)];
  });
}

function nearestFolder(path: string): string {
  for (let at = dirname(path); ; at = dirname(at)) if (existsSync(at) || at === dirname(at)) return at;
}

function look(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}

function whyNotWritable(folder: string): string | undefined {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    return look(folder)?.isDirectory() === true ? undefined : `${folder} is a file, not a folder; move it away`;
  } catch (failure) {
    const { message } = explainFiles(Object.assign(failure as NodeJS.ErrnoException, { path: join(folder, "x") })) as Error;
    return message;
  }
}
