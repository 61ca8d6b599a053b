import { statSync } from "node:fs";
import { createRequire } from "node:module";
import { Worker } from "node:worker_threads";

const EVERY_MS = 250;
/** Pages of the log from which it should start over. */
const LONG = 1000;
/** Pages after whose pass the next one is short enough to have the writers wait for it. */
const SHORT = 500;
/** Pages of the log at which the writers wait for a pass of any length: they are faster than the disk. */
const CEILING = 16_384;
const CLOSE_MS = 2000;

/**
 * The worker's whole program, as text: a file of its own would be another one in the sources and in the build. A PASSIVE
 * checkpoint makes no writer wait.
 */
const PROGRAM = `
const { parentPort, workerData } = require("node:worker_threads");
const Database = require(workerData.module);
const database = new Database(workerData.file, { timeout: 200, fileMustExist: true });
database.pragma("synchronous = FULL");
parentPort.on("message", (message) => {
  if (message === "close") {
    database.close();
    parentPort.close();
    return;
  }
  try {
    const [{ log }] = database.pragma("wal_checkpoint(PASSIVE)");
    parentPort.postMessage({ log });
  } catch (error) {
    parentPort.postMessage({ code: error.code, message: error.message });
  }
});`;

/**
 * Moves committed changes from the log into the database off the main thread, every 250 ms while there are any. The log starts over
 * only when a pass ends with nothing new behind it: while writers overtake them, passes follow each other until one was short, and
 * the next runs while they are `paused`; so the log stays small and is written in place. The thread (7 MB, and 30 ms of the processor) starts when the
 * log first has `startBytes`, and keeps no process alive. `resume` is called at the end of a pause, `failed` with errors, SQLite's with their code,
 * `passed` after each pass, and every 250 ms of writing before the first one.
 */
export class Checkpointer {
  /** No transaction should begin until `resume` is called. */
  paused = false;
  readonly #file: string;
  readonly #startBytes: () => number;
  readonly #resume: () => void;
  readonly #failed: (error: Error) => void;
  readonly #tell: () => void;
  #worker: Worker | undefined;
  #timer: NodeJS.Timeout | undefined;
  #running = false;
  #overtaken = false;
  #needed = false;
  /** Pages of the log at the last pass. */
  #passed = 0;
  #closed = false;

  constructor(file: string, startBytes: () => number, resume: () => void, failed: (error: Error) => void, passed: () => void) {
    this.#file = file;
    this.#startBytes = startBytes;
    this.#resume = resume;
    this.#failed = failed;
    this.#tell = passed;
  }

  /** Something was committed; `needed`: and shall come into the file soon, however little it is. */
  dirty(needed = false): void {
    this.#needed ||= needed;
    this.#overtaken = true;
    if (this.#timer !== undefined || this.#running || this.#closed) return;
    this.#timer = setTimeout(this.#run, EVERY_MS);
    this.#timer.unref();
  }

  /** Clears the dirty state: the next commit sets it again. */
  rest(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#overtaken = false;
  }

  /** Resolves when the thread has closed its handle, after 2 s at the latest. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    const worker = this.#worker;
    if (worker === undefined) return;
    const ended = new Promise((resolve) => worker.once("exit", resolve));
    worker.ref();
    worker.postMessage("close");
    const late = setTimeout(() => void worker.terminate(), CLOSE_MS);
    await ended;
    clearTimeout(late);
  }

  readonly #run = (): void => {
    this.#timer = undefined;
    this.#overtaken = false;
    if (this.#worker === undefined && !this.#needed && this.#logBytes() < this.#startBytes()) {
      this.#tell();
      return;
    }
    this.#running = true;
    this.#worker ??= this.#start();
    this.#worker.postMessage("run");
  };

  #logBytes(): number {
    return statSync(`${this.#file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  }

  #start(): Worker {
    const module = createRequire(import.meta.url).resolve("better-sqlite3");
    const workerData = { file: this.#file, module };
    const worker = new Worker(PROGRAM, { eval: true, workerData, execArgv: [], resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 } });
    worker.on("message", (answer: { log?: number; code?: string; message?: string }) => {
      if (answer.message !== undefined) this.#failed(Object.assign(new Error(answer.message), { code: answer.code }));
      this.#tell();
      this.#ended(answer.log ?? 0);
    });
    worker.on("error", (error) => {
      this.#closed = true;
      this.#failed(error as Error);
    });
    worker.on("exit", () => {
      this.#worker = undefined;
      this.#ended(0);
    });
    // Last: listening to it would hold the process again.
    worker.unref();
    return worker;
  }

  /** A pass over a log of that many pages is over. */
  #ended(log: number): void {
    const moved = log < this.#passed ? log : log - this.#passed;
    this.#passed = log;
    if (this.#overtaken && !this.paused && !this.#closed && log >= LONG) {
      this.paused = moved <= SHORT || log >= CEILING;
      // Writes wait for this answer: the process must not end before it.
      if (this.paused) this.#worker?.ref();
      this.#run();
      return;
    }
    this.#running = false;
    if (this.#overtaken) this.dirty();
    if (!this.paused) return;
    this.paused = false;
    this.#worker?.unref();
    this.#resume();
  }
}
