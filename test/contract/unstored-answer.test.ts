import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createKernel, type Kernel } from "@svc/kernel";
import { definePlugin, type Message, type Outgoing, type Plugin } from "@svc/sdk";
import { afterEach, describe, expect, it, vi } from "vitest";
import { smallDisk } from "../../kernel/base/processes.harness.ts";
import { openPostgres } from "../../plugins/stores/postgres/open.ts";
import { runKernel, temporaryFolder } from "../kit/kernel.ts";
import { NO_POSTGRES, startPostgres } from "../kit/postgres.ts";

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** A channel that is connected at once and keeps what it is given. */
function channel(sent: Outgoing[]): Plugin<never> {
  return definePlugin({
    kind: "channel",
    name: "acme",
    version: "1.0.0",
    svc: "*",
    capabilities: [],
    setup(ctx) {
      const handle = ctx.provide.channel({
        name: "acme",
        traits: { maxChars: 4_000, unit: "utf16", dialect: "plain" },
        async send(out) {
          sent.push(out);
          return { platformId: String(sent.length) };
        },
      });
      return { start: async () => handle.ready() };
    },
  }) as unknown as Plugin<never>;
}

const question: Message = { entry: "channel", channel: "acme", chat: "c1", text: "how much?", agent: "a", direct: true };

describe("an answer that cannot be stored", () => {
  it("is told to the sender past the outbox: what a plugin made of it is no JSON, and the task ends", async () => {
    const sent: Outgoing[] = [];
    const spoils = definePlugin({
      kind: "feature",
      name: "spoils",
      version: "1.0.0",
      svc: "*",
      capabilities: [],
      setup: (ctx) => void ctx.hooks.deliver.tap((delivery) => ({ ...delivery, priority: 5n as unknown as number })),
    }) as unknown as Plugin<never>;
    const { kernel } = await runKernel({ inline: [channel(sent), spoils] });
    const result = await kernel.tasks.run(question);
    expect(result).toMatchObject({ ok: false, errorKind: "store" });
    await vi.waitFor(() => expect(sent).toHaveLength(1));
    expect(sent[0]).toMatchObject({
      target: { channel: "acme", chat: "c1" },
      text: expect.stringContaining("My answer could not be stored, and so it was not sent"),
    });
    expect(kernel.health().tasks).toEqual({ running: 0, queued: 0 });
  });

  it.skipIf(NO_POSTGRES !== undefined)("is not told where another daemon has taken over: that one answers", async () => {
    const server = await startPostgres();
    closers.push(() => server.stop());
    const at = server.schema();
    const sent: Outgoing[] = [];
    const folder = await temporaryFolder();
    const store = await openPostgres({ ...at, poolSize: 2, folder, name: "n1" });
    const { kernel, tier } = await runKernel({ inline: [channel(sent)], store });
    const result = kernel.tasks.run({ ...question, text: "hold" });
    await vi.waitFor(() => expect(tier.held).toBe(1));
    // As one that takes over does: from here on this one writes nothing more.
    server.sql(`UPDATE ${at.schema}.node SET alive = false`);
    tier.release("the answer");
    expect(await result).toMatchObject({ ok: false });
    await kernel.stop({ drainSeconds: 0 });
    expect(sent).toEqual([]);
  });

  it("is not told where a required tap keeps it back, nor on a channel that is away", async () => {
    const sent: Outgoing[] = [];
    let asked = 0;
    const holds = definePlugin({
      kind: "feature",
      name: "holds",
      version: "1.0.0",
      svc: "*",
      capabilities: [],
      setup: (ctx) =>
        void ctx.hooks.deliver.tap((delivery) => {
          asked += 1;
          return delivery.kind === "notice" ? { ...delivery, held: "nothing leaves here" } : { ...delivery, priority: 5n as unknown as number };
        }),
    }) as unknown as Plugin<never>;
    const { kernel } = await runKernel({ inline: [channel(sent), holds] });
    expect(await kernel.tasks.run(question)).toMatchObject({ errorKind: "store" });
    await vi.waitFor(() => expect(asked).toBe(2));
    await kernel.stop({ drainSeconds: 1 });
    expect(sent).toEqual([]);
  });

  it("FAULT-09 on a full disk the sender is told at once; the answer is kept, and comes once there is room, without a restart", {
    timeout: 60_000,
  }, async (ctx) => {
    const full = await fullDisk();
    if (full === undefined) return ctx.skip("this user may not mount a tmpfs");
    const kernel = await full.start();
    const refused = await kernel.tasks.run(question);
    expect(refused).toMatchObject({ ok: false, errorKind: "store" });
    await vi.waitFor(() => expect(full.sent).toHaveLength(1));
    expect(full.sent[0]?.text).toContain("My answer could not be stored, and so it was not sent");
    rmSync(full.theirs);
    await vi.waitFor(() => expect(full.sent).toHaveLength(2), { timeout: 30_000 });
    expect(full.sent[1]?.text).toContain("forty-two");
    expect(await kernel.traces.get(refused.taskId)).toMatchObject({ status: "ok", attempts: 1 });
    await kernel.stop({ drainSeconds: 1 });
    await full.start();
    expect(full.runs()).toBe(1);
    expect(full.sent).toHaveLength(2);
  });

  it("FAULT-09 a daemon that stops before there is room keeps the task: its next start answers", { timeout: 60_000 }, async (ctx) => {
    const full = await fullDisk();
    if (full === undefined) return ctx.skip("this user may not mount a tmpfs");
    const first = await full.start();
    expect(await first.tasks.run(question)).toMatchObject({ ok: false, errorKind: "store" });
    await vi.waitFor(() => expect(full.sent).toHaveLength(1));
    expect(existsSync(full.theirs)).toBe(true);
    await first.stop({ drainSeconds: 0 });
    rmSync(full.theirs);

    await full.start();
    await vi.waitFor(() => expect(full.sent).toHaveLength(2), { timeout: 20_000 });
    expect(full.sent[1]?.text).toContain("forty-two");
    expect(full.runs()).toBe(2);
  });
});

/** A daemon whose small disk somebody else fills while its engine works for the first time; undefined where none can be mounted. */
async function fullDisk() {
  const folder = await temporaryFolder();
  mkdirSync(join(folder, ".svc"));
  const disk = smallDisk(join(folder, ".svc"), "4m");
  if (disk === undefined) return undefined;
  closers.push(() => disk.remove());
  const theirs = join(folder, ".svc/theirs");
  const sent: Outgoing[] = [];
  let runs = 0;
  const engine = definePlugin({
    kind: "tier",
    name: "scripted",
    version: "1.0.0",
    svc: "*",
    capabilities: [],
    setup(ctx) {
      ctx.provide.tier({
        name: "scripted",
        async *run() {
          runs += 1;
          // Somebody else takes all the room while the engine works.
          if (runs === 1) fill(theirs);
          yield { type: "done", text: `forty-two ${"x".repeat(3_000)}` };
        },
      });
    },
  }) as unknown as Plugin<never>;
  await writeFile(
    join(folder, "svc.json"),
    JSON.stringify({ node: { id: "n", name: "N", defaultAgent: "a" }, agents: { a: { name: "A", workspace: "./w", tier: "scripted" } } }),
    { mode: 0o600 },
  );
  const start = async (): Promise<Kernel> => {
    const kernel = await createKernel({ config: join(folder, "svc.json"), plugins: [engine, channel(sent)] });
    closers.push(() => kernel.stop({ drainSeconds: 0 }));
    await kernel.start();
    return kernel;
  };
  return { theirs, sent, start, runs: () => runs };
}

function fill(file: string): void {
  for (const size of [64 * 1024, 4 * 1024, 512]) {
    try {
      for (;;) writeFileSync(file, Buffer.alloc(size, 1), { flag: "a" });
    } catch {
      // Full, down to this size.
    }
  }
}
