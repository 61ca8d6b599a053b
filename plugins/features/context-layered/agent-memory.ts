import { createHash } from "node:crypto";
import { basename, dirname } from "node:path";
import { type Confined, codeOf } from "@svc/sdk";
import { contextError } from "./context-errors.ts";
import { redacted } from "./redacted.ts";

/** A file that an agent remembers in. */
export interface MemoryFile {
  /** From the workspace: `MEMORY.md`, `memory/people.md`. */
  readonly file: string;
  readonly size: number;
  /** ISO 8601. */
  readonly changedAt: string;
}

/** An agent's memory, in files of its workspace that it owns (000:L253). */
export interface AgentMemory {
  /** `more`: there are others. */
  list(): Promise<{ readonly files: readonly MemoryFile[]; readonly more?: true }>;
  /** At most 64 KiB of a file, without what looks like a credential. */
  show(file: string): Promise<MemoryText>;
  /** Replaces a file, or makes it. With `tag`, that of the text that was read, it throws `SVC_MEMORY_CHANGED` where the file is another one. */
  edit(file: string, text: string, tag: string | undefined): Promise<void>;
  remove(file: string): Promise<void>;
  /** Where the file is, for an editor of this machine. */
  pathOf(file: string): Promise<string>;
}

/** A file of a memory as it is shown. */
export interface MemoryText {
  readonly file: string;
  readonly text: string;
  readonly size: number;
  /** Number of redacted credentials. */
  readonly redacted: number;
  /** The end is missing. */
  readonly cut?: true;
  /** Stands for the file's bytes. */
  readonly tag: string;
}

const MOST = 500;
const DEEPEST = 4;
const MAX_READ = 4 * 1_048_576;
const SHOWN = 65_536;
const NAME = /^(?:MEMORY\.md|memory\/(?:[^/\0]+\/){0,3}[^/\0]+\.(?:md|txt))$/;

/** Opens the memory of an agent. */
export function openMemory(agent: string, workspace: Confined): AgentMemory {
  const fits = (file: string): string => {
    if (!NAME.test(file) || file.split("/").some((part) => part.startsWith("."))) throw contextError("SVC_MEMORY_FILE", { file });
    return file;
  };
  const here = async <T>(file: string, work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      if (codeOf(error) === "SVC_FILE_MISSING") throw contextError("SVC_MEMORY_UNKNOWN", { agent, file });
      throw error;
    }
  };

  async function* below(folder: string, depth: number): AsyncGenerator<MemoryFile> {
    const entries = await workspace.list(folder === "" ? "." : folder).catch(() => []);
    for (const { name, kind, size, mtimeMs } of entries.toSorted((left, right) => (left.name < right.name ? -1 : 1))) {
      const file = folder === "" ? name : `${folder}/${name}`;
      if (kind === "file" && NAME.test(file) && !name.startsWith(".")) yield { file, size, changedAt: new Date(mtimeMs).toISOString() };
      else if (kind === "folder" && !name.startsWith(".") && (folder === "" ? name === "memory" : depth < DEEPEST)) yield* below(file, depth + 1);
    }
  }

  return {
    async list() {
      const files: MemoryFile[] = [];
      for await (const file of below("", 0)) {
        if (files.length >= MOST) return { files, more: true };
        files.push(file);
      }
      return { files };
    },
    async show(file) {
      const bytes = await here(file, workspace.read(fits(file), MAX_READ));
      // Judged whole: a credential that the end of the piece cuts through would not be known as one.
      const { text, count } = redacted(new TextDecoder().decode(bytes.subarray(0, 2 * SHOWN)));
      const cut = text.length > SHOWN || bytes.length > 2 * SHOWN;
      return { file, text: text.slice(0, SHOWN), size: bytes.length, redacted: count, ...(cut ? { cut: true } : {}), tag: tagOf(bytes) };
    },
    async edit(file, text, tag) {
      await workspace.change(fits(file), MAX_READ, (before) => {
        if (tag !== undefined && tag !== (before === undefined ? "none" : tagOf(before))) throw contextError("SVC_MEMORY_CHANGED", { agent, file });
        return text;
      });
    },
    async remove(file) {
      // Looked for and not read: it may be of any size.
      const entries = await here(file, workspace.list(dirname(fits(file))));
      if (!entries.some(({ name, kind }) => name === basename(file) && kind === "file")) throw contextError("SVC_MEMORY_UNKNOWN", { agent, file });
      await workspace.remove(file);
    },
    pathOf: (file) => here(file, workspace.resolve(fits(file))),
  };
}

const tagOf = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex").slice(0, 32);
