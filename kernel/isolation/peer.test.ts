import { describe, expect, it } from "vitest";
import { WINDOW } from "./frames.ts";
import { createPeer, type RpcPeer, type RpcPeerOptions } from "./peer.ts";

const coded = (code: string) => (): Error => Object.assign(new Error(code), { code });

/** Two ends and the lines between them, which a test may hold back. */
function pair(serve: RpcPeerOptions["serve"], options: Partial<RpcPeerOptions> = {}) {
  const told: [string, unknown][] = [];
  const lines: { to: () => RpcPeer; line: string }[] = [];
  const gate = { open: true };
  const deliver = () => {
    while (gate.open && lines.length > 0) {
      const next = lines.shift();
      next?.to().take(next.line);
    }
  };
  const end = (to: () => RpcPeer, more: Partial<RpcPeerOptions>): RpcPeer =>
    createPeer({
      write(line) {
        lines.push({ to, line });
        queueMicrotask(deliver);
      },
      serve,
      onNotify: (on, args) => void told.push([on, args]),
      where: "elsewhere",
      pending: 100,
      serving: 100,
      frameBytes: 10_000,
      abandonMs: 50,
      busy: coded("BUSY"),
      tooLarge: coded("LARGE"),
      ...more,
    });
  const near: RpcPeer = end(() => far, options);
  const far: RpcPeer = end(() => near, options);
  return { near, far, told, gate, deliver };
}

describe("a call", () => {
  it("is answered with what the other side returns or throws, however many are under way", async () => {
    const { near } = pair((_on, { n }) => new Promise((resolve) => setTimeout(() => resolve({ n }), 20 - Number(n))));
    expect(await Promise.all(Array.from({ length: 20 }, (_, n) => near.call("x", { n })))).toEqual(Array.from({ length: 20 }, (_, n) => ({ n })));
    const { near: other } = pair(() => {
      throw Object.assign(new Error("no"), { code: "X" });
    });
    await expect(other.call("x", {})).rejects.toMatchObject({ message: "no", code: "X" });
    expect(near.pending).toBe(0);
  });

  it("that is stopped aborts the signal over there, and fails by itself when that is ignored", async () => {
    let seen: AbortSignal | undefined;
    const { near } = pair((_on, _args, { signal }) => {
      seen = signal;
      return new Promise(() => {});
    });
    const stop = new AbortController();
    const call = near.call("x", {}, stop.signal);
    await Promise.resolve();
    stop.abort(new Error("enough"));
    await expect(call).rejects.toThrow("enough");
    expect(seen?.aborted).toBe(true);
    expect(near.pending).toBe(0);
    await expect(near.call("x", {}, stop.signal)).rejects.toThrow("enough");
  });

  it("beyond the limit fails at once, as does one that is too large, or whose answer is", async () => {
    const { near } = pair((on) => (on === "long" ? "x".repeat(20_000) : new Promise(() => {})), { pending: 2 });
    void near.call("x", {}).catch(() => {});
    void near.call("x", {}).catch(() => {});
    await expect(near.call("x", {})).rejects.toMatchObject({ code: "BUSY" });
    const { near: other } = pair((on) => (on === "long" ? "x".repeat(20_000) : "short"));
    await expect(other.call("x", { text: "y".repeat(20_000) })).rejects.toMatchObject({ code: "LARGE" });
    await expect(other.call("x", { text: "ü".repeat(6_000) })).rejects.toMatchObject({ code: "LARGE" });
    await expect(other.call("long", {})).rejects.toMatchObject({ code: "LARGE" });
    expect(await other.call("x", {})).toBe("short");
  });

  it("of theirs beyond the limit is refused with words, and the wire goes on", async () => {
    const { near } = pair(() => new Promise((resolve) => setTimeout(() => resolve("late"), 20)), { serving: 1 });
    const [first, second] = await Promise.allSettled([near.call("x", {}), near.call("x", {})]);
    expect([first, second]).toMatchObject([{ value: "late" }, { reason: { code: "BUSY" } }]);
  });

  it("fails with the reason of the end, and so does each later one; what is served is aborted", async () => {
    let seen: AbortSignal | undefined;
    const { near, far } = pair((_on, _args, { signal }) => {
      seen = signal;
      return new Promise(() => {});
    });
    const call = near.call("x", {});
    await new Promise((resolve) => setTimeout(resolve, 5));
    near.end(new Error("gone"));
    far.end(new Error("gone"));
    await expect(call).rejects.toThrow("gone");
    await expect(near.call("x", {})).rejects.toThrow("gone");
    expect(near.notify("x", {})).toBe(false);
    expect(seen?.aborted).toBe(true);
  });

  it("an answer that nobody waits for is no offence; a second call of the same number is", () => {
    const { near } = pair(() => new Promise(() => {}));
    expect(() => near.take('{"is":"done","id":7}')).not.toThrow();
    near.take('{"is":"call","id":1,"on":"x","args":{}}');
    expect(() => near.take('{"is":"call","id":1,"on":"x","args":{}}')).toThrow("under way already");
  });
});

describe("a stream", () => {
  const counting = (sent: { n: number }, until: number) =>
    async function* () {
      for (sent.n = 0; sent.n < until; sent.n += 1) yield sent.n;
    };

  it("hands over each item in order, and then ends, also with an error", async () => {
    const items: unknown[] = [];
    const { near } = pair(counting({ n: 0 }, 1_000));
    for await (const item of near.stream("x", {})) items.push(item);
    expect(items).toEqual(Array.from({ length: 1_000 }, (_, n) => n));
    const { near: broken } = pair(async function* () {
      yield 1;
      throw new Error("torn");
    });
    const seen: unknown[] = [];
    await expect(
      (async () => {
        for await (const item of broken.stream("x", {})) seen.push(item);
      })(),
    ).rejects.toThrow("torn");
    expect(seen).toEqual([1]);
  });

  it("goes no further ahead than its window when nobody reads", async () => {
    const sent = { n: 0 };
    const { near } = pair(counting(sent, 10_000));
    const reader = near.stream("x", {})[Symbol.asyncIterator]();
    await reader.next();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(sent.n).toBeLessThanOrEqual(WINDOW + 1);
    await reader.return?.();
  });

  it("that is left early ends over there too", async () => {
    let put = false;
    const { near } = pair(async function* (_on, _args, { signal }) {
      try {
        for (let n = 0; !signal.aborted; n += 1) yield n;
      } finally {
        put = true;
      }
    });
    for await (const item of near.stream("x", {})) if (item === 5) break;
    expect(put).toBe(true);
    expect(near.pending).toBe(0);
  });

  it("with more items than were asked for breaks the rules", async () => {
    const { near, gate } = pair(() => {});
    gate.open = false;
    const reader = near.stream("x", {})[Symbol.asyncIterator]();
    void reader.next().catch(() => {});
    await Promise.resolve();
    const flood = () => {
      for (let n = 0; n < 3 * WINDOW; n += 1) near.take('{"is":"item","id":1,"value":1}');
    };
    expect(flood).toThrow("more items than were asked for");
  });
});
