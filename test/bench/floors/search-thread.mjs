/** Answers each FTS5 expression with the ten best rows of an index and their marked text, as somebody would who must not hold up the loop. */
import { parentPort, workerData } from "node:worker_threads";
import Database from "better-sqlite3";

const find = new Database(workerData, { readonly: true }).prepare(
  "SELECT path, line, -rank AS score, highlight(pieces, 0, '[', ']') AS marked FROM pieces WHERE pieces MATCH ? ORDER BY rank LIMIT 10",
);
parentPort.on("message", (match) => parentPort.postMessage(find.all(match)));
