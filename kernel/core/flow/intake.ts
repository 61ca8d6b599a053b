import { type Task, whenRouted } from "./live-task.ts";

/**
 * The way from acceptance to the lanes. Messages of one origin go one at a time, in the order in which they entered, however long the
 * taps need for one of them; those of different origins do not wait for each other. Holds everything back until `open`.
 */
export interface Intake {
  enter(task: Task): void;
  /** Takes out a message that no tap has seen yet. False when it is not (or no longer) here. */
  remove(task: Task): boolean;
  /** Admits the waiting tasks, in that order, and later ones directly. */
  open(): void;
}

/** `admit` starts a task; the next follows once it is routed (`markRouted`), which may be at once. */
export function createIntake(admit: (task: Task) => void): Intake {
  let waiting: Task[] | undefined = [];
  /** Origins of which a message is with the taps, each with those behind it. */
  const origins = new Map<string, Task[]>();

  function enter(task: Task): void {
    if (waiting !== undefined) {
      waiting.push(task);
      return;
    }
    const queue = origins.size === 0 ? undefined : origins.get(originOf(task));
    if (queue !== undefined) {
      queue.push(task);
      return;
    }
    admit(task);
    if (!task.routed) follow(task, originOf(task), []);
  }

  function follow(task: Task, origin: string, queue: Task[]): void {
    origins.set(origin, queue);
    whenRouted(task, () => proceed(origin, queue));
  }

  function proceed(origin: string, queue: Task[]): void {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      admit(next);
      if (!next.routed) {
        follow(next, origin, queue);
        return;
      }
    }
    origins.delete(origin);
  }

  return {
    enter,
    remove(task) {
      const behind = waiting ?? origins.get(originOf(task)) ?? [];
      const at = behind.indexOf(task);
      if (at !== -1) behind.splice(at, 1);
      return at !== -1;
    },
    open() {
      const entered = waiting ?? [];
      waiting = undefined;
      for (const task of entered) enter(task);
    },
  };
}

/** The conversation is known after the taps only: messages that the default route takes to one conversation have one origin. */
function originOf({ record: { inbound } }: Task): string {
  return JSON.stringify([inbound.channel, inbound.account, inbound.chat, inbound.thread, inbound.agent]);
}
