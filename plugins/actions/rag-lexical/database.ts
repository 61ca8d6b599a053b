import Database from "better-sqlite3";
import type { Document, Hit, Seen } from "./protocol.ts";
import { CLOSE, locate, OPEN } from "./query.ts";

/** Kept in `user_version` once a run has ended; another number means the file is rebuilt. */
const LAYOUT = 1;
const SWEEP_BATCH = 200;

/** One agent's index: an FTS5 table of pieces and what each file looked like when it was put in. Everything here blocks its thread. */
export interface IndexDatabase {
  readonly complete: boolean;
  begin(): void;
  changed(seen: readonly Seen[]): string[];
  put(documents: readonly Document[]): void;
  sweep(): number;
  end(): { files: number; pieces: number };
  search(match: string, limit: number): Hit[];
  close(): void;
}

/** Opens an index that is there. Undefined when it is not. Throws SQLite's errors. */
export function openIndex(file: string): IndexDatabase | undefined {
  try {
    return wrap(open(file, true));
  } catch (error) {
    if (codeOf(error) === "SQLITE_CANTOPEN") return undefined;
    throw error;
  }
}

/** Opens an index to write it, made when it is not there. Undefined when the file is damaged or of another layout: remove it and try again. */
export function makeIndex(file: string): IndexDatabase | undefined {
  try {
    const db = open(file, false);
    const layout = db.pragma("user_version", { simple: true });
    if (layout === 0 || layout === LAYOUT) return wrap(db);
    db.close();
    return undefined;
  } catch (error) {
    if (["SQLITE_CORRUPT", "SQLITE_NOTADB"].includes(codeOf(error))) return undefined;
    throw error;
  }
}

const codeOf = (error: unknown) => (error as { code?: string }).code ?? "";

function open(file: string, mustExist: boolean): Database.Database {
  const db = new Database(file, { fileMustExist: mustExist });
  try {
    db.pragma("journal_mode = WAL");
    // A lost index is rebuilt; waiting for the disk would buy nothing.
    db.pragma("synchronous = NORMAL");
    if (mustExist) return db;
    db.exec(`
      CREATE TABLE IF NOT EXISTS files (path TEXT PRIMARY KEY, mtime REAL NOT NULL, size INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL) WITHOUT ROWID;
      CREATE VIRTUAL TABLE IF NOT EXISTS pieces USING fts5(text, path UNINDEXED, line UNINDEXED, tokenize = 'unicode61 remove_diacritics 2');
    `);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function wrap(db: Database.Database): IndexDatabase {
  const known = db.prepare<[string], { mtime: number; size: number; first: number; last: number }>("SELECT mtime, size, first, last FROM files WHERE path = ?");
  const dropPieces = db.prepare<[number, number]>("DELETE FROM pieces WHERE rowid BETWEEN ? AND ?");
  const dropFile = db.prepare<[string]>("DELETE FROM files WHERE path = ?");
  const putFile = db.prepare<[string, number, number, number, number]>("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?)");
  const putPiece = db.prepare<[number, string, string, number]>("INSERT INTO pieces (rowid, text, path, line) VALUES (?, ?, ?, ?)");
  // Ordered by the table itself, so that the marks are only made for the rows that are returned.
  const find = db.prepare<[string, string, string, number], { path: string; line: number; score: number; marked: string }>(
    "SELECT path, line, -rank AS score, highlight(pieces, 0, ?, ?) AS marked FROM pieces WHERE pieces MATCH ? ORDER BY rank LIMIT ?",
  );
  const count = db.prepare<[], { files: number; pieces: number }>("SELECT count(*) AS files, coalesce(sum(last - first + 1), 0) AS pieces FROM files");
  const paths = db.prepare<[], string>("SELECT path FROM files").pluck();
  const highest = db.prepare<[], number | null>("SELECT max(last) FROM files").pluck();

  let seen = new Set<string>();
  let gone: string[] | undefined;
  let next = 0;
  const drop = (path: string): void => {
    const file = known.get(path);
    if (!file) return;
    if (file.last >= file.first) dropPieces.run(file.first, file.last);
    dropFile.run(path);
  };
  return {
    get complete() {
      return db.pragma("user_version", { simple: true }) === LAYOUT;
    },
    begin() {
      seen = new Set();
      gone = undefined;
      next = (highest.get() ?? 0) + 1;
    },
    changed(list) {
      const out: string[] = [];
      for (const { path, mtimeMs, size } of list) {
        seen.add(path);
        const before = known.get(path);
        if (!before || before.mtime !== mtimeMs || before.size !== size) out.push(path);
      }
      return out;
    },
    put: db.transaction((documents: readonly Document[]) => {
      for (const { path, mtimeMs, size, pieces } of documents) {
        drop(path);
        const first = next;
        for (const piece of pieces) putPiece.run(next++, piece.text, path, piece.line);
        putFile.run(path, mtimeMs, size, first, next - 1);
      }
    }),
    sweep: db.transaction(() => {
      gone ??= paths.all().filter((path) => !seen.has(path));
      const batch = gone.splice(0, SWEEP_BATCH);
      for (const path of batch) drop(path);
      return batch.length;
    }),
    end() {
      seen = new Set();
      db.pragma(`user_version = ${LAYOUT}`);
      return count.get() ?? { files: 0, pieces: 0 };
    },
    search: (match, limit) => find.all(OPEN, CLOSE, match, limit).map(({ path, line, score, marked }) => ({ path, score, ...locate(marked, line) })),
    close: () => void db.close(),
  };
}
