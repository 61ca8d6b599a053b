import type { TaskEvent, TaskResult } from "@svc/sdk";
import type { Announcer } from "./announce.ts";
import type { Deliveries } from "./deliveries-port.ts";
import { type Task, tell } from "./live-task.ts";

/** Streams the engine's events of a turn to its callers, the bus and the channel. */
export interface AnswerStream {
  event(event: Exclude<TaskEvent, { type: "accepted" | "queued" | "started" }>): void;
  /** The engine has ended: nothing more is shown on the channel until the outbox sends the whole answer. Undefined when nothing is shown there. */
  close(): Promise<void> | undefined;
  /** The end is stored: callers who received no partial text get the whole answer. */
  whole(result: TaskResult): void;
}

/**
 * Decides, once for a turn, whether its answer is streamed: text is sent while it grows unless a required `deliver` tap must see all of it first
 * (`holdsStream`), or its schema is still to be validated; then callers get it at the end, in one piece. All other events are sent at once.
 */
export function openAnswerStream(batch: readonly [Task, ...Task[]], deliveries: Pick<Deliveries, "open">, announce: Announcer): AnswerStream {
  const [{ record, live }] = batch;
  const streams = !live.hooks.holdsStream && record.inbound.options?.output === undefined;
  const reply = streams && record.route !== undefined ? deliveries.open(record.route.reply, record.id, record.agent) : undefined;
  const everyone = (event: TaskEvent) => {
    for (const task of batch) tell(task, event);
  };
  return {
    event(event) {
      if (event.type === "text") {
        if (!streams) return;
        reply?.text(event.text);
      }
      if (event.type === "step") announce.step(record, event.step);
      everyone(event);
    },
    close: () => reply?.end(),
    whole(result) {
      if (!streams && result.ok && result.reply !== "") everyone({ type: "text", text: result.reply });
    },
  };
}
