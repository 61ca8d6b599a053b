import { createRequire } from "node:module";
import { Worker } from "node:worker_threads";
import { WAL_CEILING } from "./database.ts";

const EVERY_MS = 250;
const CLOSE_MS = 2000;

/**
 * The worker's whole program, as text: a file of its own would be another one in the sources and in the build. PASSIVE waits for
 * nobody; only a log past its ceiling is emptied at the price of the writers' waiting.
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
    if (log > workerData.ceiling) database.pragma("wal_checkpoint(TRUNCATE)");
    parentPort.postMessage({});
  } catch (error) {
    parentPort.postMessage({ code: error.code, message: error.message });
  }
});`;

/**
 * Moves committed changes from the log into the database off the main thread, every 250 ms while there are any. The thread starts
 * with the first write and keeps no process alive. `failed` hears of errors, SQLite's with their code.
 */
export class Checkpointer {
  readonly #file: string;
  readonly #failed: (error: Error) => void;
  #worker: Worker | undefined;
  #timer: NodeJS.Timeout | undefined;
  #running = false;
  #closed = false;

  constructor(file: string, failed: (error: Error) => void) {
    this.#file = file;
    this.#failed = failed;
  }

  /** Something was committed. */
  dirty(): void {
    if (this.#timer !== undefined || this.#closed) return;
    this.#timer = setTimeout(this.#run, EVERY_MS);
    this.#timer.unref();
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
    if (this.#running) {
      this.dirty();
      return;
    }
    this.#running = true;
    this.#worker ??= this.#start();
    this.#worker.postMessage("run");
  };

  #start(): Worker {
    const module = createRequire(import.meta.url).resolve("better-sqlite3");
    const workerData = { file: this.#file, module, ceiling: WAL_CEILING / 4096 };
    const worker = new Worker(PROGRAM, { eval: true, workerData, execArgv: [], resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 } });
    worker.unref();
    worker.on("message", (answer: { code?: string; message?: string }) => {
      this.#running = false;
      if (answer.message !== undefined) this.#failed(Object.assign(new Error(answer.message), { code: answer.code }));
    });
    worker.on("error", (error) => this.#failed(error as Error));
    worker.on("exit", () => {
      this.#worker = undefined;
      this.#running = false;
    });
    return worker;
  }
}
