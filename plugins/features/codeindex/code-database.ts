import Database from "better-sqlite3";
import type { Definition } from "./definitions.ts";

/** Kept in `user_version` once a run has ended; another number means that the file is built anew. */
const LAYOUT = 1;

/** A file of code as it was when it was read. */
export interface Stored {
  readonly path: string;
  readonly mtimeMs: number;
  readonly size: number;
  readonly language: string;
  /** Why nothing of it was read. */
  readonly problem?: string;
}

/** A definition with its file. */
export interface Placed extends Definition {
  readonly path: string;
}

/** One agent's index. Everything here blocks its thread. */
export interface CodeDatabase {
  readonly complete: boolean;
  /** Indexed files by path. */
  known(): Map<string, { readonly mtimeMs: number; readonly size: number }>;
  /** Replaces files, all or none. */
  put(files: readonly (Stored & { readonly definitions: readonly Definition[]; readonly words: string })[]): void;
  drop(paths: readonly string[]): void;
  finish(): void;
  counts(): { readonly files: number; readonly definitions: number; readonly skipped: number };
  /** By its name, as it is written; `loosely` in any case, or as a part of a name. */
  definitions(name: string, limit: number, loosely?: true): readonly Placed[];
  outline(path: string, limit: number): readonly Placed[];
  file(path: string): (Stored & { readonly id: number }) | undefined;
  /** Files in which a word stands. */
  having(word: string, limit: number): readonly Stored[];
  /** Paths that end so. */
  endingIn(path: string, limit: number): readonly string[];
  close(): void;
}

/** Opens the index at `file`, made when it is not there. Undefined when it is damaged or of another layout: remove it and try again. */
export function openCodeDatabase(file: string): CodeDatabase | undefined {
  let db: Database.Database | undefined;
  try {
    db = new Database(file);
    db.pragma("journal_mode = WAL");
    // A lost index is built again; waiting for the disk would buy nothing.
    db.pragma("synchronous = NORMAL");
    const layout = db.pragma("user_version", { simple: true });
    if (layout !== 0 && layout !== LAYOUT) {
      db.close();
      return undefined;
    }
    db.exec(`
      CREATE TABLE IF NOT EXISTS files (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, mtime REAL NOT NULL, size INTEGER NOT NULL, language TEXT NOT NULL, problem TEXT);
      CREATE TABLE IF NOT EXISTS definitions (file INTEGER NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL, line INTEGER NOT NULL, endLine INTEGER NOT NULL, container TEXT NOT NULL, text TEXT NOT NULL);
      CREATE INDEX IF NOT EXISTS by_name ON definitions (name COLLATE NOCASE);
      CREATE INDEX IF NOT EXISTS by_file ON definitions (file);
      CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(text, content = '', contentless_delete = 1, detail = none, tokenize = "unicode61 remove_diacritics 0 tokenchars '_$'");
    `);
    return wrap(db);
  } catch (error) {
    db?.close();
    if (["SQLITE_CORRUPT", "SQLITE_NOTADB"].includes((error as { code?: string }).code ?? "")) return undefined;
    throw error;
  }
}

const FILE = "SELECT id, path, mtime AS mtimeMs, size, language, problem FROM files";
const DEFINITION = "SELECT path, name, kind, line, endLine, container, text FROM definitions JOIN files ON files.id = definitions.file";

function wrap(db: Database.Database): CodeDatabase {
  const known = db.prepare<[], [string, number, number]>("SELECT path, mtime, size FROM files").raw();
  const idOf = db.prepare<[string], number>("SELECT id FROM files WHERE path = ?").pluck();
  const dropFile = db.prepare<[number]>("DELETE FROM files WHERE id = ?");
  const dropDefinitions = db.prepare<[number]>("DELETE FROM definitions WHERE file = ?");
  const dropWords = db.prepare<[number]>("DELETE FROM words WHERE rowid = ?");
  const putFile = db.prepare<[string, number, number, string, string | null]>(
    "INSERT INTO files (path, mtime, size, language, problem) VALUES (?, ?, ?, ?, ?)",
  );
  const putDefinition = db.prepare<[number, string, string, number, number, string, string]>("INSERT INTO definitions VALUES (?, ?, ?, ?, ?, ?, ?)");
  const putWords = db.prepare<[number, string]>("INSERT INTO words (rowid, text) VALUES (?, ?)");
  const exact = db.prepare<[string, string, number], Placed>(`${DEFINITION} WHERE name = ? COLLATE NOCASE AND name = ? ORDER BY path, line LIMIT ?`);
  const loose = db.prepare<[string, number], Placed>(`${DEFINITION} WHERE name LIKE ? ESCAPE '\\' ORDER BY length(name), path, line LIMIT ?`);
  const outline = db.prepare<[string, number], Placed>(`${DEFINITION} WHERE path = ? ORDER BY line LIMIT ?`);
  const file = db.prepare<[string], Stored & { id: number }>(`${FILE} WHERE path = ?`);
  const having = db.prepare<[string, number], Stored>(`${FILE} WHERE id IN (SELECT rowid FROM words WHERE words MATCH ?) ORDER BY path LIMIT ?`);
  const ending = db.prepare<[string, number], string>("SELECT path FROM files WHERE path LIKE ? ESCAPE '\\' ORDER BY length(path) LIMIT ?").pluck();
  const counts = db.prepare<[], { files: number; definitions: number; skipped: number }>(
    "SELECT (SELECT count(*) FROM files) AS files, (SELECT count(*) FROM definitions) AS definitions, (SELECT count(*) FROM files WHERE problem IS NOT NULL) AS skipped",
  );
  const plain = (text: string) => text.replace(/[\\%_]/g, "\\$&");
  const drop = (path: string): void => {
    const id = idOf.get(path);
    if (id === undefined) return;
    dropWords.run(id);
    dropDefinitions.run(id);
    dropFile.run(id);
  };
  return {
    get complete() {
      return db.pragma("user_version", { simple: true }) === LAYOUT;
    },
    known: () => new Map(known.all().map(([path, mtimeMs, size]) => [path, { mtimeMs, size }])),
    put: db.transaction((files: Parameters<CodeDatabase["put"]>[0]) => {
      for (const { path, mtimeMs, size, language, problem, definitions, words } of files) {
        drop(path);
        const id = Number(putFile.run(path, mtimeMs, size, language, problem ?? null).lastInsertRowid);
        for (const { name, kind, line, endLine, container, text } of definitions) putDefinition.run(id, name, kind, line, endLine, container, text);
        if (words !== "") putWords.run(id, words);
      }
    }),
    drop: db.transaction((paths: readonly string[]) => {
      for (const path of paths) drop(path);
    }),
    finish: () => void db.pragma(`user_version = ${LAYOUT}`),
    counts: () => counts.get() ?? { files: 0, definitions: 0, skipped: 0 },
    definitions: (name, limit, loosely) => (loosely ? loose.all(`%${plain(name)}%`, limit) : exact.all(name, name, limit)),
    outline: (path, limit) => outline.all(path, limit),
    file: (path) => file.get(path),
    having(word, limit) {
      const [longest] = (word.match(/[\p{L}\p{N}_$]+/gu) ?? []).toSorted((left, right) => right.length - left.length);
      return longest === undefined ? [] : having.all(`"${longest}"`, limit);
    },
    endingIn: (path, limit) => ending.all(`%${plain(path)}`, limit),
    close: () => void db.close(),
  };
}
