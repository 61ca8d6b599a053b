import type { RunningTask } from "@svc/sdk";
import { describeTask, type Task } from "./live-task.ts";
import type { TaskRecord } from "./record.ts";

/** The tasks that this process works on, from acceptance until they are settled. */
export class LiveTasks {
  readonly #byId = new Map<string, Task>();
  readonly #whenIdle: (() => void)[] = [];

  add(task: Task): void {
    this.#byId.set(task.record.id, task);
  }

  /** The task is settled. */
  remove(task: Task): void {
    // One that was given up may have been begun anew meanwhile, under its id.
    if (this.#byId.get(task.record.id) === task) this.#byId.delete(task.record.id);
  }

  get(id: string): Task | undefined {
    return this.#byId.get(id);
  }

  /** The task of that id, or the one whose turn answers it. */
  leading(id: string): Task | undefined {
    const task = this.#byId.get(id);
    return task?.lead ?? task;
  }

  /** The record of the task that works under that id. */
  record(id: string): TaskRecord | undefined {
    return this.leading(id)?.record;
  }

  all(): IterableIterator<Task> {
    return this.#byId.values();
  }

  /** Tasks whose turn has begun. */
  running(): RunningTask[] {
    return [...this.all()].filter(({ state, lead }) => state === "running" && lead === undefined).map(describeTask);
  }

  /** Tasks whose turn holds a slot: a parked one waits for something outside, and a stop does not wait for that. */
  working(): RunningTask[] {
    return this.running().filter(({ id }) => this.get(id)?.slot?.state === "held");
  }

  /** Tasks that are with the `inbound` and `route` taps or wait in a lane. */
  queued(): RunningTask[] {
    return [...this.all()].filter(({ state }) => state === "accepted" || state === "waiting").map(describeTask);
  }

  /** Resolves when no turn holds a slot. */
  idle(): Promise<void> {
    return this.working().length === 0 ? Promise.resolve() : new Promise((resolve) => this.#whenIdle.push(resolve));
  }

  /** A turn has ended or is parked: resolves the waits for the last one. */
  ended(): void {
    if (this.#whenIdle.length > 0 && this.working().length === 0) for (const resolve of this.#whenIdle.splice(0)) resolve();
  }
}
