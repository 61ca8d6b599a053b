import { expect, it } from "vitest";
import { failureNotice } from "./words.ts";

const interrupted = { status: "error", errorKind: "interrupted", error: "interrupted by a restart" } as const;
const told = (scheduled: boolean, attempts: number) =>
  failureNotice(interrupted, {
    attempts,
    inbound: { id: "t", rootId: "r", at: 0, attempts, entry: "cron", channel: "acme", chat: "1", text: "", ...(scheduled ? { options: { scheduled } } : {}) },
  });

it("RUN-05 the sender of what could not be begun is told to send it again; of what was cancelled, nothing", () => {
  const record = { attempts: 1, inbound: { id: "t", rootId: "r", at: 0, attempts: 0, entry: "channel", channel: "acme", chat: "1", text: "" } };
  const error = "timed out before spawn after 300s in step classify";
  expect(failureNotice({ status: "timeout", errorKind: "stalled", error }, record)).toBe(`I could not get started on this: ${error}. Please send it again.`);
  expect(failureNotice({ status: "error", errorKind: "cancelled", error: "cancelled" }, record)).toBeUndefined();
});

it("OPS-03 a chat hears that a scheduled run was interrupted, and is asked to send nothing again; a person is", () => {
  expect(told(true, 0)).toBe("A restart came before this scheduled run had begun. It is not run again.");
  expect(told(true, 1)).toBe("A restart came before this scheduled run had ended. It is not run again.");
  expect(told(false, 1)).toContain("Please send it again");
});
