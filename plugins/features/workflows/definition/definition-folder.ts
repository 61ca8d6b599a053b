import { createHash } from "node:crypto";
import { isAbsolute, join, relative, resolve } from "node:path";
import { type Confined, codeOf, type Files } from "@svc/sdk";

/** The folder `workflows.dir`, and only what lies in it. */
export interface DefinitionFolder {
  exists(): Promise<boolean>;
  /** The files of a folder below it, `""` for itself; none where it is not there. */
  list(below?: string): Promise<readonly { readonly name: string; readonly size: number; readonly mtimeMs: number }[]>;
  /** Undefined if the file does not exist. Throws for text that is not UTF-8, and `SVC_FILE_TOO_LARGE`. */
  read(file: string, maxBytes: number): Promise<string | undefined>;
  write(file: string, text: string): Promise<void>;
  /** As `Confined.change`, with texts. */
  change(file: string, maxBytes: number, edit: (before: string | undefined) => string | undefined | Promise<string | undefined>): Promise<void>;
  remove(file: string): Promise<void>;
  /** Returns the name of a file for people. */
  shown(file: string): string;
  /** Takes what other daemons on the store have changed, and hands over what changed here; left out where there are none. */
  sync?(): Promise<boolean>;
}

/** `dir` is relative to the folder of svc.json. */
export function openFolder(files: Files, dir: string): DefinitionFolder {
  const data = files.data.roots[0];
  const base = files.under(".").roots[0] ?? ".";
  const [first, ...below] = dir.split(/[/\\]/);
  // `.svc` is the data folder, wherever that lies.
  const folder = first === ".svc" && data !== undefined ? join(data, ...below) : resolve(base, dir);
  // The data folder is the daemon's own: it is reached through its own capability only.
  const confined: Confined = data !== undefined && isBelow(folder, data) ? files.data : files.under(folder);
  const at = (file: string) => join(folder, file);
  const read = async (file: string, maxBytes: number) => decode(await confined.read(at(file), maxBytes));
  return {
    exists: async () => (await missing(confined.list(folder))) !== undefined,
    async list(below = "") {
      const entries = await missing(confined.list(at(below)));
      return (entries ?? []).filter(({ kind }) => kind === "file");
    },
    read: (file, maxBytes) => missing(read(file, maxBytes)),
    write: (file, text) => confined.write(at(file), text),
    change: (file, maxBytes, edit) => confined.change(at(file), maxBytes, (before) => edit(before === undefined ? undefined : decode(before))),
    remove: (file) => confined.remove(at(file)),
    shown: (file) => join(dir, file),
  };
}

/** Stands for the bytes of a file: for `ETag` and `If-Match`. */
export const etagOf = (text: string): string => `"${createHash("sha256").update(text).digest("hex").slice(0, 32)}"`;

function isBelow(folder: string, data: string): boolean {
  const path = relative(data, folder);
  return path !== "" && !path.startsWith("..") && !isAbsolute(path);
}

const decode = (bytes: Uint8Array): string => new TextDecoder("utf-8", { fatal: true }).decode(bytes);

async function missing<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (codeOf(error) === "SVC_FILE_MISSING") return undefined;
    throw error;
  }
}
