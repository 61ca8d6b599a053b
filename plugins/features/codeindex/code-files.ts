import { closeSync, constants, type Dirent, existsSync, fstatSync, openSync, readdirSync, readlinkSync, readSync, realpathSync, statSync } from "node:fs";
import { join } from "node:path";
import { languageOf } from "./languages.ts";

/** A larger file is data, or was made by a program. */
export const LARGEST = 1_048_576;
/** Folders that hold copies, builds or other programs' state. Hidden ones are left out, too. */
const SKIPPED: ReadonlySet<string> = new Set(["node_modules", "dist", "build", "target", "coverage", "__pycache__", "vendor"]);
const DEEPEST = 64;
const BY_DESCRIPTOR = existsSync("/proc/self/fd");

/** A file of code as the walk found it. */
export interface Seen {
  readonly path: string;
  readonly size: number;
  readonly mtimeMs: number;
  readonly language: string;
}

/** The files of code below a real path, a folder at a time; links are not followed, whatever they lead to. Throws where the root cannot be read. */
export function* walk(root: string): Generator<readonly Seen[]> {
  const folders: { readonly path: string; readonly depth: number }[] = [{ path: "", depth: 0 }];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    let entries: Dirent[];
    try {
      entries = readdirSync(join(root, folder.path), { withFileTypes: true });
    } catch (error) {
      if (folder.path === "") throw error;
      continue;
    }
    const seen: Seen[] = [];
    for (const entry of entries) {
      if (entry.name.startsWith(".")) continue;
      const path = folder.path === "" ? entry.name : `${folder.path}/${entry.name}`;
      if (entry.isDirectory() && !SKIPPED.has(entry.name) && folder.depth < DEEPEST) folders.push({ path, depth: folder.depth + 1 });
      else if (entry.isFile()) {
        const language = languageOf(path);
        const about = language === undefined ? undefined : statSync(join(root, path), { throwIfNoEntry: false });
        if (language !== undefined && about?.isFile()) seen.push({ path, size: about.size, mtimeMs: about.mtimeMs, language });
      }
    }
    yield seen;
  }
}

/**
 * Reads the text of a file below the root, or returns why it cannot. The real path of the opened file is checked: a folder may have become a link
 * meanwhile.
 */
export function readCode(
  root: string,
  path: string,
): { readonly text: string; readonly size: number; readonly mtimeMs: number } | { readonly problem: string } {
  let file: number | undefined;
  try {
    file = openSync(join(root, path), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const where = BY_DESCRIPTOR ? readlinkSync(`/proc/self/fd/${file}`) : realpathSync(join(root, path));
    if (!where.startsWith(root.endsWith("/") ? root : `${root}/`)) return { problem: "it leads out of the workspace" };
    const { size, mtimeMs, isFile } = statOf(file);
    if (!isFile) return { problem: "it is no file" };
    if (size > LARGEST) return { problem: `it is larger than ${LARGEST} bytes` };
    const bytes = Buffer.alloc(size);
    let read = 0;
    for (let more = 1; read < size && more > 0; read += more) more = readSync(file, bytes, read, size - read, read);
    if (bytes.subarray(0, Math.min(read, 8_192)).includes(0)) return { problem: "it is binary" };
    return { text: bytes.toString("utf8", 0, read), size, mtimeMs };
  } catch (error) {
    return { problem: `it cannot be read (${(error as { code?: string }).code ?? "unknown"})` };
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

function statOf(file: number): { readonly size: number; readonly mtimeMs: number; readonly isFile: boolean } {
  const about = fstatSync(file);
  return { size: about.size, mtimeMs: about.mtimeMs, isFile: about.isFile() };
}
