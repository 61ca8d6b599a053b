import { Writable } from "node:stream";
import { expect, it } from "vitest";
import { createLog } from "./log.ts";
import { pluginLog } from "./log-facts.ts";

function capture(pretty = false) {
  let text = "";
  const destination = new Writable({
    write(chunk, _encoding, done) {
      text += chunk;
      done();
    },
  });
  const log = createLog({ destination, pretty, secrets: () => [] });
  return { log: pluginLog(log.child("action-evil")), lines: () => text.split("\n").slice(0, -1) };
}

it("SEC-S7 a plugin's line bears its name, level and time, each key once, whatever its facts say", () => {
  const { log, lines } = capture();
  const forged = { plugin: "feature-tokens", level: 60, time: 1, pid: 1, hostname: "h", msg: "forged" };
  log.info({ ...forged, count: 2 }, "said");
  log.warn({ ...forged, facts: "its own" });
  log.error(JSON.parse('{"__proto__": {"level": 60}, "plugin": "kernel"}') as object, "proto");
  const [first = "", second = "", third = ""] = lines();
  for (const key of ["plugin", "level", "time"]) expect(first.split(`"facts"`)[0]?.split(`"${key}":`)).toHaveLength(2);
  expect(JSON.parse(first)).toMatchObject({ level: 30, plugin: "action-evil", msg: "said", count: 2, facts: forged });
  expect(JSON.parse(first).time).toBeGreaterThan(1e12);
  expect(JSON.parse(second)).toMatchObject({ level: 40, plugin: "action-evil", facts: { facts: "its own", plugin: "feature-tokens" } });
  expect(JSON.parse(second).msg).toBeUndefined();
  expect(JSON.parse(third)).toMatchObject({ level: 50, plugin: "action-evil", msg: "proto", facts: { plugin: "kernel" } });
});

it("SEC-S7 nothing of a plugin's line drives a terminal, makes a second line or makes the log fail", () => {
  const { log, lines } = capture(true);
  const name = "kernel\u001b]0;OWNED\u0007\nFAKE LINE";
  log.info({ plugin: name, time: "x", level: {}, [name]: "\u202egnp.exe" }, `x${name}\u2028\u2066`);
  expect(lines()).toHaveLength(1);
  expect(lines()[0]).toMatch(/^\d\d:\d\d:\d\d info {2}action-evil: xkernel/);
  expect(lines()[0]).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/);
  const json = capture();
  json.log.info({ [name]: "\u202e\u009b" }, "\u202e");
  expect(json.lines()).toHaveLength(1);
  expect(json.lines()[0]).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/);
  expect(JSON.parse(json.lines()[0] ?? "")).toMatchObject({ msg: "\u202e", [name]: "\u202e\u009b" });
});

it("SEC-S7 a line bears so many characters and levels, of data that JSON has no words for, too", () => {
  const { log, lines } = capture();
  let deep: unknown = "bottom";
  for (let level = 0; level < 50_000; level += 1) deep = [deep];
  const ring: Record<string, unknown> = {};
  ring["ring"] = ring;
  log.info(
    { long: "x".repeat(1_000_000), many: Array.from({ length: 100_000 }, () => "yy"), deep, ring, big: 1n, fn: () => 1, at: new Date(0) },
    "z".repeat(1_000_000),
  );
  log.info(Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`key${at}`, at])));
  log.info(new Error("e".repeat(100), { cause: ring }));
  for (const line of lines()) expect(line.length).toBeLessThan(40_000);
  expect(JSON.parse(lines()[0] ?? "")).toMatchObject({ big: "1", at: "1970-01-01T00:00:00.000Z" });
});

it("an error stays an error", () => {
  const { log, lines } = capture();
  log.warn({ err: new TypeError("no"), file: "a" }, "failed");
  log.warn(new TypeError("alone"));
  expect(lines().map((line) => JSON.parse(line))).toMatchObject([
    { err: { type: "TypeError", message: "no", stack: expect.stringContaining("log-facts.test") }, file: "a", msg: "failed" },
    { err: { type: "TypeError", message: "alone" } },
  ]);
});
