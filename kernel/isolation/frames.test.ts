import { svcError } from "@svc/sdk";
import { describe, expect, it } from "vitest";
import { type Frame, readError, readFrame, writeError, writeFrame } from "./frames.ts";

const round = (value: unknown): unknown => {
  const frame = readFrame(writeFrame({ is: "done", id: 1, value }));
  return frame.is === "done" ? frame.value : undefined;
};

describe("frames", () => {
  it("carry the numbers that JSON turns into null: a limit of Infinity does not arrive as none", () => {
    const value = { most: Number.POSITIVE_INFINITY, least: Number.NEGATIVE_INFINITY, none: Number.NaN, list: [1, Number.NaN] };
    expect(round(value)).toEqual(value);
  });

  it("carry JSON and bytes as they are, on one line", () => {
    for (const value of [undefined, null, 0, "", "line\nline\u2028", { a: [1, { b: null }] }, ["\u0000bytes"]]) expect(round(value)).toEqual(value);
    const bytes = new Uint8Array([0, 1, 254, 255]);
    expect(round({ deep: [{ bytes }] })).toEqual({ deep: [{ bytes }] });
    expect(round(Buffer.from("words"))).toEqual(new Uint8Array(Buffer.from("words")));
    expect(round(new Uint8Array(bytes.buffer, 1, 2))).toEqual(new Uint8Array([1, 254]));
    expect(writeFrame({ is: "notify", on: "x", args: { text: "a\nb" } })).not.toContain("\n");
  });

  it("carry no key that changes an object's making", () => {
    const frame = readFrame('{"is":"done","id":1,"value":{"__proto__":{"polluted":true},"deep":{"__pr\\u006fto__":1,"kept":2}}}') as Extract<
      Frame,
      { is: "done" }
    >;
    expect(frame.value).toEqual({ deep: { kept: 2 } });
    expect(Object.keys(frame.value as object)).toEqual(["deep"]);
  });

  it.each([
    "",
    "null",
    "[]",
    "42",
    "{}",
    '{"is":"unknown","id":1}',
    '{"is":"done"}',
    '{"is":"done","id":"1"}',
    '{"is":"done","id":1.5}',
    '{"is":"call","id":1,"on":"x"}',
    '{"is":"call","id":1,"on":7,"args":{}}',
    '{"is":"call","id":1,"on":"x","args":[]}',
    '{"is":"notify","on":"x","args":{},"of":"everybody"}',
    '{"is":"notify","on":"x","args":{},"of":{"rootId":7}}',
    '{"is":"fail","id":1,"error":"x"}',
    '{"is":"fail","id":1,"error":{"message":7}}',
    '{"is":"done","id":1',
  ])("refuse what is none: %s", (line) => {
    expect(() => readFrame(line)).toThrow();
  });
});

describe("errors on the wire", () => {
  it("keep words, code and plain facts, and no stack, cause or object", () => {
    const error = svcError("SVC_X_Y", "it failed", {
      status: 418,
      failure: "retry",
      retryAfterMs: 10,
      request: { token: "secret" },
      cause: new Error("secret"),
    });
    error.stack = "secret";
    const wire = writeError(error);
    expect(wire).toEqual({ message: "it failed", code: "SVC_X_Y", status: 418, failure: "retry", retryAfterMs: 10 });
    const back = readError(wire, "in the process of x");
    expect(back).toMatchObject({ message: "it failed", code: "SVC_X_Y", status: 418, failure: "retry", retryAfterMs: 10 });
    expect(back.stack).toBe("it failed\n    in the process of x");
  });

  it("are made of anything that was thrown, and are never long", () => {
    const trap = new Proxy(new Error("x"), {
      get() {
        throw new Error("trap");
      },
    });
    for (const thrown of [undefined, null, "words", 42, trap, Object.create(null)])
      expect(writeError(thrown).message, String(typeof thrown)).toBeTypeOf("string");
    expect(writeError(new Error("x".repeat(100_000))).message).toHaveLength(4_000);
    expect(Object.keys(writeError(Object.assign(new Error("x"), Object.fromEntries(Array.from({ length: 99 }, (_, n) => [`f${n}`, n])))))).toHaveLength(17);
  });

  it("cannot say that a process is away: that is known on this side alone", () => {
    expect(readError({ message: "x", code: "SVC_ISOLATION_DOWN" }, "")).not.toHaveProperty("code");
    expect(readError({ message: "x", stack: "theirs", name: "Theirs" }, "ours")).toMatchObject({ name: "Error", stack: expect.stringContaining("ours") });
  });
});
