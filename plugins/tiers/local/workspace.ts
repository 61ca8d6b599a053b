import type { Confined, PluginContext } from "@svc/sdk";
import { createRanking, type Ranking } from "./ranking.ts";

/** A passage that fits the question. `line` counts from 1. */
export interface Found {
  readonly file: string;
  readonly line: number;
  readonly text: string;
}

/** The searchable text of a workspace as it was at the last look. */
export interface Workspace {
  readonly files: number;
  readonly passages: number;
  search(question: string, limit: number): readonly Found[];
}

interface Kept {
  readonly mtimeMs: number;
  readonly size: number;
  readonly passages: readonly Found[];
}

const LARGEST_FILE = 1_000_000;
const MOST_FILES = 5_000;
const MOST_BYTES = 64_000_000;
const SKIPPED = new Set(["node_modules", ".git", ".svc", "dist", "build", "target", "__pycache__"]);

const known = new WeakMap<PluginContext, Map<string, { files: Map<string, Kept>; ranking: Ranking<Found> }>>();

/** The workspace's text, read again only where files changed. */
export async function workspaceOf(ctx: PluginContext, folder: string): Promise<Workspace> {
  const workspaces = known.get(ctx) ?? new Map<string, { files: Map<string, Kept>; ranking: Ranking<Found> }>();
  known.set(ctx, workspaces);
  const before = workspaces.get(folder);
  const { files, changed } = await look(ctx.files.under(folder), before?.files ?? new Map());
  const passages = [...files.values()].flatMap((file) => file.passages);
  const ranking = before === undefined || changed ? createRanking(passages, ({ file, text }) => `${file} ${text}`) : before.ranking;
  workspaces.set(folder, { files, ranking });
  return { files: files.size, passages: passages.length, search: (question, limit) => ranking.best(question, limit) };
}

async function look(confined: Confined, before: ReadonlyMap<string, Kept>): Promise<{ files: Map<string, Kept>; changed: boolean }> {
  const files = new Map<string, Kept>();
  let bytes = 0;
  let fresh = 0;
  const visit = async (folder: string): Promise<void> => {
    let entries: Awaited<ReturnType<Confined["list"]>>;
    try {
      entries = await confined.list(folder);
    } catch {
      // A folder that cannot be read holds nothing to answer from.
      return;
    }
    for (const { name, kind, size, mtimeMs } of entries) {
      if (files.size >= MOST_FILES || bytes >= MOST_BYTES) return;
      if (name.startsWith(".") || SKIPPED.has(name)) continue;
      const path = folder === "." ? name : `${folder}/${name}`;
      if (kind === "folder") await visit(path);
      if (kind !== "file" || size > LARGEST_FILE) continue;
      bytes += size;
      const old = before.get(path);
      if (old !== undefined && old.mtimeMs === mtimeMs && old.size === size) {
        files.set(path, old);
        continue;
      }
      fresh += 1;
      const passages = await read(confined, path);
      if (passages !== undefined) files.set(path, { mtimeMs, size, passages });
    }
  };
  await visit(".");
  return { files, changed: fresh > 0 || files.size !== before.size };
}

/** The paragraphs of a text file; undefined when it is none. */
async function read(confined: Confined, path: string): Promise<readonly Found[] | undefined> {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(await confined.read(path, LARGEST_FILE));
  } catch {
    return undefined;
  }
  if (text.includes("\0")) return undefined;
  const found: Found[] = [];
  let start = 0;
  let paragraph: string[] = [];
  const close = () => {
    const body = paragraph.join("\n").trim();
    if (body !== "") found.push({ file: path, line: start + 1, text: body });
    paragraph = [];
  };
  for (const [at, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === "" || paragraph.length >= 12) close();
    if (line.trim() === "") continue;
    if (paragraph.length === 0) start = at;
    paragraph.push(line);
  }
  close();
  return found;
}
