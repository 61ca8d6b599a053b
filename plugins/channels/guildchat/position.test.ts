import { createMemoryStore } from "@svc/sdk/testing";
import { describe, expect, it } from "vitest";
import { openPosition, type StoredPosition } from "./position.ts";
import { idAt, isLater, timeOf } from "./wire.ts";

const HOUR = 3_600_000;
const NOW = Date.parse("2026-11-22T12:00:00Z");
const SESSION = { id: "s1", url: "wss://gateway.example" };

async function setUp(left?: StoredPosition) {
  const rows = createMemoryStore().collection<StoredPosition>("position");
  if (left !== undefined) await rows.put("gateway", left);
  let now = NOW;
  const position = await openPosition(
    rows,
    (error) => {
      throw error;
    },
    () => now,
  );
  const stored = async () => {
    await position.save();
    return (await rows.get("gateway"))?.value as StoredPosition;
  };
  return { position, rows, stored, pass: (ms: number) => (now += ms) };
}

describe("how far a channel has heard", () => {
  it("begins with the first start: what was said before it was there is nothing for it", async () => {
    const { position } = await setUp();
    expect(timeOf(position.until)).toBe(NOW);
  });

  it("keeps where it began before anything is heard: a process that is killed at once loses nothing of what follows", async () => {
    const { rows } = await setUp();
    expect(timeOf((await rows.get("gateway"))?.value.until ?? "0")).toBe(NOW);
  });

  it("goes on a minute before the newest message that was dealt with, and never back", async () => {
    const { position, stored } = await setUp();
    position.begin({ id: idAt(NOW + HOUR) })();
    expect(timeOf((await stored()).until)).toBe(NOW + HOUR - 60_000);
    position.begin({ id: idAt(NOW - HOUR) })();
    expect(timeOf((await stored()).until)).toBe(NOW + HOUR - 60_000);
  });

  it("never passes a message that is not dealt with, however much is dealt with behind it", async () => {
    const { position, stored } = await setUp();
    const done = position.begin({ id: idAt(NOW + HOUR), s: 1 });
    position.begin({ id: idAt(NOW + 9 * HOUR), s: 2 })();
    expect(timeOf((await stored()).until)).toBe(NOW + HOUR - 60_000);
    done();
    expect(timeOf((await stored()).until)).toBe(NOW + 9 * HOUR - 60_000);
  });

  it("stands while a history is read", async () => {
    const { position, stored } = await setUp();
    const before = position.until;
    const read = position.reading();
    position.begin({ id: idAt(NOW + HOUR) })();
    expect((await stored()).until).toBe(before);
    read();
    read();
    expect(isLater((await stored()).until, before)).toBe(true);
  });

  it("a number of the session counts when all before it are dealt with", async () => {
    const { position, stored } = await setUp();
    position.session(SESSION);
    const first = position.begin({ s: 1 });
    const second = position.begin({ s: 2 });
    position.reached(3);
    second();
    expect(await stored()).toMatchObject({ session: SESSION, seq: 0 });
    first();
    expect((await stored()).seq).toBe(3);
    position.session({ id: "s2", url: "wss://x" });
    expect((await stored()).seq).toBe(0);
  });

  it("reads nothing that is older than the keys by which messages are known again", async () => {
    const { position } = await setUp({ seq: 1, until: idAt(NOW - 900 * HOUR), at: NOW - 900 * HOUR });
    expect(timeOf(position.until)).toBe(NOW - 6 * 24 * HOUR);
  });

  it("a clock that was set back does not move it", async () => {
    const { position, stored, pass } = await setUp({ seq: 7, until: idAt(NOW - HOUR), at: NOW });
    pass(-24 * HOUR);
    expect(timeOf((await stored()).until)).toBe(NOW - HOUR);
    expect(timeOf(position.until)).toBe(NOW - HOUR);
  });

  it("is written with the next change when it could not be written", async () => {
    const rows = createMemoryStore().collection<StoredPosition>("position");
    await rows.put("gateway", { seq: 0, until: idAt(NOW), at: NOW });
    const failures: unknown[] = [];
    let full = true;
    const position = await openPosition({ ...rows, put: async (...given) => (full ? Promise.reject(new Error("disk full")) : rows.put(...given)) }, (error) =>
      failures.push(error),
    );
    position.reached(5);
    await position.save();
    full = false;
    position.reached(6);
    await position.save();
    expect(failures).toHaveLength(1);
    expect((await rows.get("gateway"))?.value.seq).toBe(6);
  });
});
