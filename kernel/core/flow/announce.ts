import type { Envelope, Log, Step, TaskResult } from "@svc/sdk";
import type { Bus } from "../bus/bus.ts";
import type { TaskRecord } from "./record.ts";
import { eventFacts } from "./run-facts.ts";

/** The events of a task's life (000:L283-310). Summaries and data hold ids, names and numbers: never a prompt or an answer. */
export interface Announcer {
  received(record: TaskRecord): void;
  matched(record: TaskRecord): Envelope;
  dropped(record: TaskRecord, reason: string): void;
  queued(record: TaskRecord): void;
  started(record: TaskRecord): void;
  step(record: TaskRecord, step: Step): void;
  completed(record: TaskRecord, result: TaskResult): void;
}

/** A reason may quote its subject; a longer one is truncated. */
const REASON_CHARS = 300;

/** Creates the announcer. A failed task is logged, too, with its reason and without its message's text. */
export function createAnnouncer(bus: Bus, log: Log): Announcer {
  const about = ({ agent, inbound }: TaskRecord) => ({
    ...(agent === "" ? {} : { agentId: agent }),
    ...(inbound.platformId === undefined ? {} : { ref: inbound.platformId }),
  });
  const run = ({ agent, id }: TaskRecord) => ({ kind: "agent", agentId: agent, ref: id });
  return {
    received({ inbound }) {
      if (inbound.entry !== "channel") return;
      const ref = inbound.platformId === undefined ? {} : { ref: inbound.platformId };
      bus.publish({ kind: "channel", type: "in", summary: `message on ${inbound.channel}`, ...ref, data: { channel: inbound.channel } });
    },
    matched(record) {
      const { channel, entry } = record.inbound;
      return bus.publish({
        kind: "message",
        type: "message:matched",
        summary: `${channel} message for ${record.agent}`,
        ...about(record),
        data: { channel, entry },
      });
    },
    dropped(record, reason) {
      const { channel } = record.inbound;
      bus.publish({
        kind: "message",
        type: "message:dropped",
        summary: `${channel} message dropped: ${reason}`,
        ...about(record),
        data: { channel, reason },
      });
    },
    queued(record) {
      const { channel } = record.inbound;
      const data = { taskId: record.id, channel, conversation: record.conversation };
      bus.publish({ ...run(record), type: "task:queued", summary: `${channel} message waits for ${record.agent}`, data });
    },
    started(record) {
      const data = { taskId: record.id, channel: record.inbound.channel, attempt: record.attempts };
      bus.publish({ ...run(record), type: "task:started", summary: `${record.agent} started`, data });
    },
    step(record, { name, phase }) {
      bus.publish({ ...run(record), type: "task:step", summary: `${name} ${phase}`, data: { taskId: record.id, step: name, phase } });
    },
    completed(record, result) {
      const { status, error = "", errorKind, durationMs } = result;
      if (status !== "ok") {
        const { text } = record.inbound;
        const reason = (text === "" ? error : error.replaceAll(text, "...")).slice(0, REASON_CHARS);
        const facts = {
          task: record.id,
          agent: record.agent,
          channel: record.inbound.channel,
          status,
          ...(errorKind === undefined ? {} : { kind: errorKind }),
        };
        log[errorKind === "cancelled" ? "info" : "warn"]({ ...facts, durationMs, reason }, "a task failed");
      }
      const data = {
        taskId: record.id,
        status,
        durationMs,
        channel: record.inbound.channel,
        conversation: record.conversation,
        ...eventFacts(result),
      };
      const summary = `${record.agent} ${status}${errorKind === undefined ? "" : ` (${errorKind})`}`;
      bus.publish({ ...run(record), type: "task:completed", summary, data });
    },
  };
}
