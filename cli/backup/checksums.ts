import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { lstat, readdir, readlink } from "node:fs/promises";
import { join, relative } from "node:path";
import { pipeline } from "node:stream/promises";

/** Of each file of a backup the SHA-256 in hexadecimal, of each link where it leads; by path within the backup. */
export type Checksums = Readonly<Record<string, string>>;

/** More are counted, not named. */
const MOST_NAMED = 3;

/** The checksums of everything below `folder`, and what the files take together. */
export async function checksumsOf(folder: string): Promise<{ readonly files: number; readonly bytes: number; readonly checksums: Checksums }> {
  const checksums: Record<string, string> = {};
  let files = 0;
  let bytes = 0;
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isDirectory()) continue;
    const path = join(entry.parentPath, entry.name);
    checksums[relative(folder, path)] = await checksumOf(path, entry.isSymbolicLink());
    if (!entry.isFile()) continue;
    files += 1;
    bytes += (await lstat(path)).size;
  }
  return { files, bytes, checksums };
}

/** What is missing in `folder`, or not what it was, for people; undefined where all is there. What was added is not looked at. */
export async function whyIncomplete(folder: string, checksums: Checksums): Promise<string | undefined> {
  const wrong: string[] = [];
  for (const [path, expected] of Object.entries(checksums)) {
    const found = await checksumOf(join(folder, path), expected.startsWith(LINK)).catch((error: NodeJS.ErrnoException) => error);
    if (found instanceof Error) wrong.push(found.code === "ENOENT" ? `${path} is missing` : `${path} cannot be read (${found.code ?? found.message})`);
    else if (found !== expected) wrong.push(`${path} is not what was backed up`);
  }
  if (wrong.length === 0) return undefined;
  const more = wrong.length > MOST_NAMED ? `, and ${wrong.length - MOST_NAMED} more` : "";
  return `${wrong.slice(0, MOST_NAMED).join(", ")}${more}`;
}

const LINK = "-> ";

/** Read as a stream: a database may be larger than the memory. What has become a link or a pipe is not opened, and has none. */
async function checksumOf(path: string, isLink: boolean): Promise<string> {
  if (isLink) return LINK + (await readlink(path));
  if (!(await lstat(path)).isFile()) return "";
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
}
