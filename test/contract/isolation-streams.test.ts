import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { resolveEntry } from "@svc/kernel";
import { isolate } from "@svc/kernel/isolation";
import type { Lifecycle, StreamingFetch } from "@svc/sdk";
import { createFakeContext, type FakeContext, type FakeOptions } from "@svc/sdk/testing";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { action, type Laid, lay, runIsolated } from "../faults/isolation.harness.ts";

/*
 * Streams of bytes over the wire between the daemon and an isolated plugin.
 */
let home = "";
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "svc-streams-"));
});
afterAll(() => rm(home, { recursive: true, force: true }));

/** The plugin in a process of its own, with these capabilities at the daemon's side. */
async function apart(laid: Laid, fake: FakeOptions<never>, work: (act: (name: string) => Promise<unknown>) => Promise<void>): Promise<void> {
  lay(home, laid);
  const { plugin } = await isolate(resolveEntry(`process:${join(home, laid.name)}`, "/", []), { env: process.env, hidden: [] });
  const context: FakeContext<never> = createFakeContext<never>(plugin, fake);
  const lifecycle = ((await plugin.setup(context)) ?? {}) as Lifecycle<never>;
  await lifecycle.start?.();
  try {
    await work(async (name) => {
      const found = context.registered.actions.find((one) => one.name === name);
      return found?.run({}, { door: "cli", signal: new AbortController().signal } as never);
    });
  } finally {
    await lifecycle.stop?.();
    context.end();
  }
}

const PIECE = 65_536;
const PIECES = 1_000;

/** Answers 64 MB, and tells how much was taken and whether it was left. */
function endless() {
  const seen = { taken: 0, left: false };
  async function* body() {
    try {
      for (; seen.taken < PIECES; seen.taken += 1) yield new Uint8Array(PIECE).fill(seen.taken % 251);
    } finally {
      seen.left = true;
    }
  }
  const stream: StreamingFetch["stream"] = async (url, { signal } = {}) => {
    signal?.throwIfAborted();
    return { status: 200, statusText: "OK", headers: { a: "b" }, url, body: body() };
  };
  const whole = async (): Promise<never> => {
    throw new Error("nobody asks for the whole");
  };
  return { seen, fetch: Object.assign(whole, { stream }) };
}

it("AUT-A4 a body crosses the wire whole and in order", async () => {
  const { fetch } = endless();
  const setup = action(
    "down.load",
    `const { body, ...head } = await ctx.fetch.stream("https://example.org/", {});
     let total = 0, wrong = 0;
     for await (const piece of body) for (const byte of piece) { if (byte !== Math.floor(total / ${PIECE}) % 251) wrong += 1; total += 1; }
     return { head, total, wrong };`,
  );
  await apart({ name: "down", capabilities: ["fetch"], setup }, { fetch }, async (act) => {
    expect(await act("down.load")).toEqual({
      head: { status: 200, statusText: "OK", headers: { a: "b" }, url: "https://example.org/" },
      total: PIECE * PIECES,
      wrong: 0,
    });
  });
}, 60_000);

it("AUT-A4 a slow reader in the process holds the daemon back, and leaving ends the body there", async () => {
  const { seen, fetch } = endless();
  const setup = `let items;
    ${action("slow.one", `items ??= (await ctx.fetch.stream("https://example.org/")).body[Symbol.asyncIterator](); return (await items.next()).value.length;`)}
    ${action("slow.leave", "await items.return();")}`;
  await apart({ name: "slow", capabilities: ["fetch"], setup }, { fetch }, async (act) => {
    expect(await act("slow.one")).toBeGreaterThan(0);
    // All that the window of the wire takes has come by the time that a second question is answered.
    expect(await act("slow.one")).toBeGreaterThan(0);
    expect(seen.taken).toBeLessThan(PIECES / 10);
    await act("slow.leave");
    await vi.waitFor(() => expect(seen.left).toBe(true));
    expect(seen.taken).toBeLessThan(PIECES / 10);
  });
}, 60_000);

it("AUT-A4 the guard stands on the daemon's side: no origin of this machine can be named as trusted", async () => {
  const setup = action(
    "guard.try",
    `return ctx.fetch.stream("http://127.0.0.1:9/", { trustedOrigins: ["http://127.0.0.1:9"] }).then(() => "reached", (error) => error.code);`,
  );
  const { act, kernel } = await runIsolated([{ name: "guard", capabilities: ["fetch"], setup }]);
  try {
    expect(await act("guard.try")).toBe("SVC_FETCH_ISOLATED");
  } finally {
    await kernel.stop();
  }
}, 60_000);
