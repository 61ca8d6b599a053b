import { type Task, whenPlaced } from "./live-task.ts";

/**
 * The way from acceptance to the lanes. Messages of one origin go one at a time, in the order in which they entered, however long the
 * taps need for one of them; those of different origins do not wait for each other. Holds everything back until `open`.
 */
export interface Intake {
  enter(task: Task): void;
  /** Takes out a message that no tap has seen yet. False when it is not (or no longer) here. */
  remove(task: Task): boolean;
  /** Lets through what has entered, in that order, and from now on what enters. */
  open(): void;
}

/** `admit` sets a task on its way; it is through once it is placed (`place`), which may be at once. */
export function createIntake(admit: (task: Task) => void): Intake {
  let held: Task[] | undefined = [];
  /** Origins of which a message is with the taps, each with those behind it. */
  const lines = new Map<string, Task[]>();

  function enter(task: Task): void {
    if (held !== undefined) {
      held.push(task);
      return;
    }
    const line = lines.size === 0 ? undefined : lines.get(originOf(task));
    if (line !== undefined) {
      line.push(task);
      return;
    }
    admit(task);
    if (!task.placed) follow(task, originOf(task), []);
  }

  function follow(task: Task, origin: string, line: Task[]): void {
    lines.set(origin, line);
    whenPlaced(task, () => proceed(origin, line));
  }

  function proceed(origin: string, line: Task[]): void {
    for (let next = line.shift(); next !== undefined; next = line.shift()) {
      admit(next);
      if (!next.placed) {
        follow(next, origin, line);
        return;
      }
    }
    lines.delete(origin);
  }

  return {
    enter,
    remove(task) {
      const waiting = held ?? lines.get(originOf(task)) ?? [];
      const at = waiting.indexOf(task);
      if (at !== -1) waiting.splice(at, 1);
      return at !== -1;
    },
    open() {
      const entered = held ?? [];
      held = undefined;
      for (const task of entered) enter(task);
    },
  };
}

/** The conversation is known after the taps only: messages that the default route takes to one conversation have one origin. */
function originOf({ record: { inbound } }: Task): string {
  return JSON.stringify([inbound.channel, inbound.account, inbound.chat, inbound.thread, inbound.agent]);
}
