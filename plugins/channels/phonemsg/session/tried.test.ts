import { describe, expect, it } from "vitest";
import { withoutFailedTries } from "./tried.ts";

const session = (used: number, chain: number) => ({ indexInfo: { used }, chain });
const record = (sessions: Record<string, ReturnType<typeof session>>) => ({ _sessions: sessions, version: "v1" });

describe("sessions that were tried in vain", () => {
  it("stay as they were; the one that opened the message, and the ones that were not tried, are as the library left them", () => {
    const before = record({ oldest: session(1, 1), opener: session(2, 1), newest: session(3, 1), middle: session(2.5, 1) });
    const after = record({ oldest: session(1, 1), opener: session(9, 2), newest: session(3, 2), middle: session(2.5, 2) });
    expect(withoutFailedTries(before, after)).toEqual(record({ ...before._sessions, opener: session(9, 2) }));
  });

  it("one session, a removed one, and none before", () => {
    const after = record({ one: session(5, 2) });
    expect(withoutFailedTries(record({ one: session(1, 1), old: session(0, 1) }), after)).toEqual(after);
    expect(withoutFailedTries(undefined, after)).toEqual(after);
    expect(withoutFailedTries(record({}), after)).toEqual(after);
  });
});
