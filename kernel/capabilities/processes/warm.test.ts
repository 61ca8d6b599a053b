import { describe, expect, it } from "vitest";
import { createPool } from "./warm.ts";

/** A pool with a clock of ours. */
function setUp(room = 2) {
  let seconds = 0;
  const stopped: string[] = [];
  const failures: unknown[] = [];
  const pool = createPool({
    limits: () => ({ maxIdleSeconds: 30, maxAgeSeconds: 2700, sweepIntervalSeconds: 5 }),
    now: () => seconds * 1000,
    room,
    failed: (_, error) => failures.push(error),
  });
  const warm = pool.for("tier-cli-a");
  const keep = (key: string, ended: Promise<unknown> = new Promise(() => undefined)) => warm.keep(key, key, async () => void stopped.push(key), ended);
  return { pool, warm, keep, stopped, failures, pass: (more: number) => (seconds += more) };
}

describe("the warm pool", () => {
  it("SES-08 keeps what is idle for 31 s while there is room", () => {
    const { pool, warm, keep, stopped, pass } = setUp();
    keep("one");
    pass(31);
    pool.sweep();
    expect(stopped).toEqual([]);
    expect(warm.take("one")).toBe("one");
  });

  it("SES-08 stops what is idle for 2701 s, and not at 2700 s", () => {
    const { pool, warm, keep, stopped, pass } = setUp();
    keep("one");
    pass(2700);
    pool.sweep();
    expect(stopped).toEqual([]);
    pass(1);
    pool.sweep();
    expect(stopped).toEqual(["one"]);
    expect(warm.has("one")).toBe(false);
  });

  it("SES-08 lets a busy one live on, however long it works", () => {
    const { pool, warm, keep, stopped, pass } = setUp();
    keep("one");
    warm.take("one");
    pass(100_000);
    pool.sweep();
    expect(stopped).toEqual([]);
    expect(warm.has("one")).toBe(true);
    keep("one");
    pass(2700);
    pool.sweep();
    expect(stopped).toEqual([]);
  });

  it("SES-08 stops the one idle longest when room is needed, and only after maxIdleSeconds", () => {
    const { warm, keep, stopped, pass } = setUp();
    keep("one");
    pass(20);
    keep("two");
    pass(10);
    keep("three");
    expect(stopped, "30 s idle is not more than 30").toEqual(["three"]);
    pass(1);
    keep("three");
    expect(stopped).toEqual(["three", "one"]);
    expect(warm.has("two") && warm.has("three")).toBe(true);
  });

  it("counts what is in use as taking room, and what was dropped not", () => {
    const { warm, keep, stopped } = setUp(1);
    keep("one");
    warm.take("one");
    keep("two");
    expect(stopped).toEqual(["two"]);
    warm.drop("one");
    keep("two");
    expect(stopped).toEqual(["two"]);
  });

  it("hands a thing to its own plugin only, and once", () => {
    const { pool, warm, keep } = setUp();
    keep("one");
    expect(pool.for("tier-other").take("one")).toBeUndefined();
    expect(pool.for("tier-other").has("one")).toBe(true);
    expect(warm.take("one")).toBe("one");
    expect(warm.take("one")).toBeUndefined();
  });

  it("stops the older of two kept under one key", () => {
    const { warm, keep, stopped } = setUp();
    keep("one");
    keep("one");
    expect(stopped).toEqual(["one"]);
    expect(warm.has("one")).toBe(true);
  });

  it("forgets what ended by itself without stopping it", async () => {
    const { warm, keep, stopped } = setUp();
    keep("one", Promise.resolve());
    await Promise.resolve();
    expect(warm.has("one")).toBe(false);
    expect(stopped).toEqual([]);
  });

  it("stops all that a plugin kept when it ends, and reports a stop that failed", async () => {
    const { pool, warm, keep, stopped, failures } = setUp(3);
    keep("one");
    warm.keep("two", 2, () => Promise.reject(new Error("stuck")), new Promise(() => undefined));
    pool.for("tier-other").keep("three", 3, async () => undefined, new Promise(() => undefined));
    await pool.end("tier-cli-a");
    expect(stopped).toEqual(["one"]);
    expect(String(failures)).toContain("stuck");
    expect(warm.has("three")).toBe(true);
  });
});
