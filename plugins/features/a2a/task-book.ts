import { RpcError } from "./rpc.ts";
import { Task } from "./task.ts";

/** Tasks that are kept; the oldest that are over go first. */
const MOST_TASKS = 1_000;
/** Characters of all of them: what strangers say and are told must not fill the memory. */
const MOST_CHARS = 32_000_000;

/** The tasks of one server, in memory alone: a restart forgets them. */
export class TaskBook {
  readonly #tasks = new Map<string, Task>();

  /** Throws `RpcError` for an id that is not known (any more). */
  get(id: unknown): Task {
    if (typeof id !== "string" || id === "") throw new RpcError("params", "'id' must name a task.");
    const task = this.#tasks.get(id);
    if (task === undefined) throw new RpcError("unknownTask", "There is no such task: it never was, or this server has forgotten it.");
    return task;
  }

  find(id: string): Task | undefined {
    return this.#tasks.get(id);
  }

  /** Adds a task. Throws `RpcError` when there are too many that run, or they hold too much. */
  add(ids: { readonly id?: string; readonly contextId?: string }): Task {
    let chars = 0;
    for (const { size } of this.#tasks.values()) chars += size;
    const isFull = () => this.#tasks.size >= MOST_TASKS || chars >= MOST_CHARS;
    for (const { id, isFinal, size } of isFull() ? [...this.#tasks.values()] : []) {
      if (!isFull()) break;
      if (isFinal && this.#tasks.delete(id)) chars -= size;
    }
    if (isFull()) throw new RpcError("internal", `${this.#tasks.size} tasks run here, and no more are taken; try again when some of them have ended.`);
    const task = new Task(ids);
    this.#tasks.set(task.id, task);
    return task;
  }

  /** The newest first. */
  list(): readonly Task[] {
    return [...this.#tasks.values()].reverse();
  }
}
