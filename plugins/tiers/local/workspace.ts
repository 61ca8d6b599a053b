import type { Confined, Files } from "@svc/sdk";
import { piecesOf } from "./pieces.ts";
import { createRanking, type Ranking } from "./ranking.ts";

/** A passage that fits the question. `line` counts from 1. */
export interface Found {
  readonly file: string;
  readonly line: number;
  readonly text: string;
  /** The heading that it stands under. */
  readonly heading?: string;
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
  /** Undefined for a file that is no text: it is remembered, so that it is not read again. */
  readonly passages: readonly Found[] | undefined;
}

interface Index {
  readonly files: ReadonlyMap<string, Kept>;
  readonly passages: readonly Found[];
  readonly ranking: Ranking<Found>;
}

const LARGEST_FILE = 1_000_000;
const MOST_FILES = 5_000;
const MOST_BYTES = 16_000_000;
const LONGEST_LINE = 2_000;
/** Files written for the agent, which its user does not know. */
const INSTRUCTIONS = /^(?:agents|identity|claude|gemini|copilot-instructions|skill)\.md$/i;
const SKIPPED = new Set(["node_modules", ".git", ".svc", "dist", "build", "target", "__pycache__"]);

/** The text of workspaces, kept from question to question. */
export interface Library {
  /** The workspace in that folder, read again only where files changed. Who asks while it is being read waits for the same reading. */
  open(folder: string): Promise<Workspace>;
}

/** Reading stops when `signal` aborts. */
export function createLibrary(files: () => Files, signal: AbortSignal): Library {
  const indexes = new Map<string, Index>();
  const readings = new Map<string, Promise<Workspace>>();

  async function readAgain(folder: string): Promise<Workspace> {
    const before = indexes.get(folder);
    const { kept, changed } = await look(files().under(folder), before?.files ?? new Map(), signal);
    let index = before;
    if (index === undefined || changed) {
      const passages = [...kept.values()].flatMap((file) => file.passages ?? []);
      index = { files: kept, passages, ranking: await createRanking(passages, ({ file, heading = "", text }) => `${file} ${heading} ${text}`, signal) };
      indexes.set(folder, index);
    }
    const { ranking, passages } = index;
    const texts = [...kept.values()].filter((file) => file.passages !== undefined);
    return { files: texts.length, passages: passages.length, search: (question, limit) => ranking.best(question, limit) };
  }

  return {
    open(folder) {
      let reading = readings.get(folder);
      if (reading === undefined) {
        reading = readAgain(folder).finally(() => readings.delete(folder));
        readings.set(folder, reading);
      }
      return reading;
    },
  };
}

async function look(confined: Confined, before: ReadonlyMap<string, Kept>, signal: AbortSignal): Promise<{ kept: Map<string, Kept>; changed: boolean }> {
  const kept = new Map<string, Kept>();
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
      if (kept.size >= MOST_FILES || bytes >= MOST_BYTES || signal.aborted) return;
      if (name.startsWith(".") || SKIPPED.has(name) || INSTRUCTIONS.test(name)) continue;
      const path = folder === "." ? name : `${folder}/${name}`;
      if (kind === "folder") await visit(path);
      if (kind !== "file" || size > LARGEST_FILE) continue;
      bytes += size;
      const old = before.get(path);
      if (old !== undefined && old.mtimeMs === mtimeMs && old.size === size) {
        kept.set(path, old);
        continue;
      }
      fresh += 1;
      kept.set(path, { mtimeMs, size, passages: await read(confined, path) });
    }
  };
  await visit(".");
  return { kept, changed: fresh > 0 || kept.size !== before.size };
}

/** The paragraphs of a text file; undefined for a file that is not text. */
async function read(confined: Confined, path: string): Promise<readonly Found[] | undefined> {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(await confined.read(path, LARGEST_FILE));
  } catch {
    return undefined;
  }
  if (text.includes("\0")) return undefined;
  const found: Found[] = [];
  let start = 1;
  let paragraph: string[] = [];
  let heading: string | undefined;
  const close = () => {
    const body = paragraph.join("\n").trim();
    if (body !== "") found.push({ file: path, line: start, text: body, ...(heading === undefined ? {} : { heading }) });
    paragraph = [];
  };
  for (const [at, line] of text.split(/\r?\n/).entries()) {
    if (/^#{1,6}\s/.test(line)) {
      close();
      heading = line.replace(/^#+\s+/, "").slice(0, 200);
    }
    const long = line.length > LONGEST_LINE;
    if (long || line.trim() === "" || paragraph.length >= 12) close();
    if (line.trim() === "") continue;
    if (long) for (const piece of piecesOf(line, Math.ceil(line.length / LONGEST_LINE))) found.push({ file: path, line: at + 1, text: piece });
    else if (paragraph.push(line) === 1) start = at + 1;
  }
  close();
  return found;
}
