import type { Inbound } from "@svc/sdk";
import type { TaskRecord } from "./record.ts";
import type { Outcome } from "./run-facts.ts";

const WAITED_NOTE_MS = 60_000;
const clock = (at: number) => new Date(at).toISOString().slice(0, 19).replace("T", " ");

/** Returns the prompt of one message; if it waited for more than a minute, it starts with a line of when it arrived and when it runs (001:L61). */
export function promptOf(message: Inbound, startedAt: number): string {
  if (startedAt - message.at <= WAITED_NOTE_MS) return message.text;
  return `[This message arrived at ${clock(message.at)} UTC and waited; it runs at ${clock(startedAt)} UTC.]\n${message.text}`;
}

/** Returns the notice for a person on a channel when their request, or a job that reports to them, did not succeed. Undefined: no notice is needed. */
export function failureNotice(outcome: Pick<Outcome, "status" | "error" | "errorKind">, record: Pick<TaskRecord, "inbound" | "attempts">): string | undefined {
  switch (outcome.errorKind) {
    case "cancelled":
      return undefined;
    case "stalled":
      return `I could not get started on this: ${outcome.error}. Please send it again.`;
    case "interrupted":
      if (record.inbound.options?.scheduled)
        return `A restart came before this scheduled run ${record.attempts === 0 ? "had begun" : "had ended"}. It is not run again.`;
      return "A restart interrupted my work on this and it was not finished. Please send it again if you still need it.";
    default:
      return `This did not work: ${outcome.error ?? outcome.status}`;
  }
}

/** Returns the partial answer, followed by the error. */
export function failureText(outcome: Outcome, record: Pick<TaskRecord, "inbound" | "attempts">): string {
  return [outcome.reply, failureNotice(outcome, record)].filter(Boolean).join("\n\n");
}

/** Notice for a person on a channel when an answer could not be stored, and so was not sent. */
export const unstoredNotice = (reason: string): string =>
  `My answer could not be stored, and so it was not sent: ${reason} Please ask again later if nothing more comes.`;

/** Prefix of an answer whose conversation had to continue in a new session of its engine. */
export const freshSessionNotice = (errorKind: string | undefined): string =>
  errorKind === "context"
    ? "(This conversation had become too long for the model; I go on in a new session and know only its last messages.)\n\n"
    : "(The session of this conversation was lost; I go on in a new one and know only its last messages.)\n\n";
