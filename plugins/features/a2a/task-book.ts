import { RpcError } from "./rpc.ts";
import { Task } from "./task.ts";

/** Tasks that are kept; the oldest that are over go first. */
const MOST_TASKS = 1_000;

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

  /** Adds a task. Throws `RpcError` when there are too many that run. */
  add(ids: { readonly id?: string; readonly contextId?: string }): Task {
    if (this.#tasks.size >= MOST_TASKS) {
      const over = [...this.#tasks.values()].find(({ isFinal }) => isFinal);
      if (over === undefined) throw new RpcError("internal", `${MOST_TASKS} tasks run here; try again when some of them have ended.`);
      this.#tasks.delete(over.id);
    }
    const task = new Task(ids);
    this.#tasks.set(task.id, task);
    return task;
  }

  /** The newest first. */
  list(): readonly Task[] {
    return [...this.#tasks.values()].reverse();
  }
}
