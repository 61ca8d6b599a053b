import { createServer } from "node:http";
import { join } from "node:path";
import { definePlugin, type Outgoing, type Plugin, type PluginContext } from "@svc/sdk";
import { afterEach, describe, expect, it, vi } from "vitest";
import approvals from "../../plugins/features/approvals/index.ts";
import notifications from "../../plugins/features/notifications/index.ts";
import { type Running, runKernel, temporaryFolder } from "../kit/kernel.ts";
import { echoConfig, openShell, type Shell } from "../kit/svc.ts";
import { copyState } from "../kit/test-store.ts";

const PATIENCE = { timeout: 30_000, interval: 20 };
/** A notice waits 3 s for what else happens; nothing that was told by then comes later. */
const TOLD_MS = 4_000;
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** A channel that keeps what it sends. */
const mailTo = (sent: Outgoing[]) =>
  definePlugin({
    kind: "channel",
    name: "mail",
    version: "1.0.0",
    svc: "*",
    capabilities: [],
    setup(ctx) {
      const traits = { maxChars: 1_000, unit: "codepoint", dialect: "plain" } as const;
      const handle = ctx.provide.channel({ name: "mail", traits, send: async (out) => ({ platformId: `${sent.push(out)}` }) });
      return { start: async () => handle.ready() };
    },
  }) as Plugin<never>;

async function run(section: object, options: { folder?: string; inline?: readonly Plugin<never>[]; config?: Record<string, unknown> } = {}) {
  const sent: Outgoing[] = [];
  const folder = options.folder ?? (await temporaryFolder());
  const config = { notifications: { local: { banner: false, sound: false }, ...section }, ...options.config };
  const inline = [mailTo(sent), notifications as unknown as Plugin<never>, ...(options.inline ?? [])];
  const running = await runKernel({ folder, dataFolder: join(folder, ".svc"), inline, config });
  return { ...running, sent, folder, texts: () => sent.map(({ text }) => text) };
}

/** Holds a turn for so long. */
async function held({ tier, kernel, message }: Running, ms: number, words = "hold"): Promise<void> {
  const task = kernel.tasks.run(message(words));
  await vi.waitFor(() => expect(tier.held).toBe(1), PATIENCE);
  await pause(ms);
  tier.release();
  await task;
}

const DESTINATION = { destination: { channel: "mail", chatId: "me" } };

describe("notices about tasks", () => {
  it("OPS-04 the end of a task that took longer than longTaskThreshold is told, with not a word of what was said", async () => {
    const running = await run({ ...DESTINATION, longTaskThreshold: 0.5 });
    await running.kernel.tasks.run(running.message("quick"));
    await held(running, 600, "hold CANARY-words of a person");
    await vi.waitFor(() => expect(running.sent).toHaveLength(1), PATIENCE);
    expect(running.sent[0]).toMatchObject({ target: { channel: "mail", chat: "me" }, title: "Task finished", text: "a finished after 1 s (http)" });
    const failed = await running.kernel.tasks.run(running.message("fail CANARY-words of a person"));
    await vi.waitFor(() => expect(running.sent).toHaveLength(2), PATIENCE);
    expect(running.texts()[1]).toMatch(new RegExp(`^a failed after .* \\(http\\): \\w+; see svc trace show ${failed.taskId}$`));
    // What it sends itself is no reason for another notice.
    await pause(TOLD_MS);
    expect(running.sent).toHaveLength(2);
    expect(JSON.stringify(running.sent)).not.toContain("CANARY");
  });

  it("OPS-04 longTaskThreshold 0 is off, no destination is no notice, and taskQueued is off until it is switched on", async () => {
    const off = await run({ ...DESTINATION, longTaskThreshold: 0 });
    const nowhere = await run({ longTaskThreshold: 0.01 });
    const queued = await run({ ...DESTINATION, longTaskThreshold: 0, on: { taskQueued: true } });
    for (const running of [off, nowhere, queued]) {
      const first = running.kernel.tasks.run(running.message("hold"));
      await vi.waitFor(() => expect(running.tier.held).toBe(1), PATIENCE);
      const second = running.kernel.tasks.run(running.message("second"));
      await vi.waitFor(() => expect(running.kernel.tasks.queued()).toHaveLength(1), PATIENCE);
      running.tier.release();
      await Promise.all([first, second]);
    }
    await vi.waitFor(() => expect(queued.texts()).toEqual(["a: a message waits behind another one (http)"]), PATIENCE);
    await pause(TOLD_MS);
    expect([off.texts(), nowhere.texts(), queued.sent.length]).toEqual([[], [], 1]);
  });

  it("OPS-04 a long task with a restart in the middle is one notice: its time counts from its acceptance", async () => {
    const before = await run({ ...DESTINATION, longTaskThreshold: 3 });
    const task = before.kernel.tasks.run(before.message("hold"));
    await vi.waitFor(() => expect(before.tier.held).toBe(1), PATIENCE);
    await pause(3_200);
    // What a killed daemon leaves.
    const folder = await temporaryFolder();
    await copyState(join(before.folder, ".svc"), join(folder, ".svc"));
    await before.kernel.stop({ drainSeconds: 0 });
    await task.catch(() => undefined);
    const after = await run({ ...DESTINATION, longTaskThreshold: 3 }, { folder });
    await vi.waitFor(() => expect(after.tier.held).toBe(1), PATIENCE);
    after.tier.release();
    await vi.waitFor(() => expect(after.sent).toHaveLength(1), PATIENCE);
    expect(after.texts()[0]).toMatch(/^a finished after \d+ s \(http\)$/);
    await pause(TOLD_MS);
    expect(after.sent).toHaveLength(1);
    expect(before.texts()).toEqual([]);
  });

  it("OPS-04 other plugins send through it: a question of approvals is asked at notifications.destination", async () => {
    let context: PluginContext | undefined;
    const asking = definePlugin({
      kind: "feature",
      name: "asking",
      version: "1.0.0",
      svc: "*",
      capabilities: ["services"],
      setup(ctx) {
        context = ctx;
      },
    });
    const { sent } = await run(DESTINATION, { inline: [approvals, asking] as unknown as Plugin<never>[], config: { approvals: {} } });
    const { services } = context as PluginContext;
    await services.get("notifier")?.notify({ text: "words of a plugin", title: "Plugin", key: "once" });
    await services.get("notifier")?.notify({ text: "words of a plugin", title: "Plugin", key: "once" });
    await vi.waitFor(() => expect(sent.map(({ title, text }) => [title, text])).toEqual([["Plugin", "words of a plugin"]]), PATIENCE);
    expect(services.get("approvals")).toBeDefined();
    await services.get("approvals")?.ask({ kind: "job", title: "Run the nightly job", digest: "d", requestedBy: "plugin asking" });
    await vi.waitFor(() => expect(sent).toHaveLength(2), PATIENCE);
    expect(sent[1]).toMatchObject({ target: { channel: "mail", chat: "me" }, text: expect.stringContaining("Run the nightly job") });
  });

  it("OPS-04 a thousand ends within a minute are one notice", async () => {
    const { kernel, sent, texts } = await run({ ...DESTINATION, longTaskThreshold: 1 });
    for (let n = 0; n < 1_000; n += 1)
      kernel.bus.publish({ kind: "agent", type: "task:completed", summary: "", agentId: "a", ref: `t${n}`, data: { status: "ok", durationMs: 2_000 } });
    await vi.waitFor(() => expect(texts()).toEqual(["1000 finished: a 1000"]), PATIENCE);
    await pause(TOLD_MS);
    expect(sent).toHaveLength(1);
  });
});

describe("svc notify", () => {
  let shell: Shell | undefined;
  let close = async (): Promise<void> => {};
  afterEach(async () => {
    await shell?.svc("daemon", "stop");
    await close();
  });

  /** A topic server that keeps what it takes. */
  async function startTopics() {
    const taken: { topic: string; message: string; title?: string; priority?: number }[] = [];
    const server = createServer(async (request, response) => {
      let body = "";
      for await (const piece of request) body += piece;
      taken.push(JSON.parse(body));
      response.setHeader("content-type", "application/json").end(JSON.stringify({ id: `n${taken.length}` }));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    close = () => new Promise((resolve) => server.close(() => resolve()));
    return { taken, root: `http://127.0.0.1:${(server.address() as { port: number }).port}` };
  }

  it("OPS-04 without notifications.channel it takes topicpush where push is not switched on; local settings are no error", { timeout: 120_000 }, async () => {
    const { taken, root } = await startTopics();
    shell = await openShell();
    const channels = { topicpush: { enabled: true, server: root, topic: "mine" } };
    const local = { banner: true, sound: true, soundName: "Glass", volume: 1, icon: "/nowhere.png" };
    shell.write(echoConfig({}, { channels, notifications: { local, destination: { channel: "topicpush", chatId: "default" } } }));
    expect(await shell.svc("daemon", "start")).toMatchObject({ code: 0 });
    expect(await shell.svc("notify", "the", "build", "is", "done", "--title", "Build", "--priority", "5")).toEqual({
      code: 0,
      out: "The notice is on its way on topicpush.\n",
      err: "",
    });
    await vi.waitFor(() => expect(taken).toEqual([{ topic: "mine", message: "the build is done", title: "Build", priority: 5 }]), PATIENCE);
    expect(await shell.svc("notify", "x", "--channel", "push")).toMatchObject({ code: 1, err: expect.stringContaining("There is no channel 'push'") });
    expect(await shell.svc("notify", "x", "--priority", "6")).toMatchObject({ code: 2 });
    expect(await shell.svc("notify", "--help")).toMatchObject({ code: 0, out: expect.stringContaining("--chat <id>") });
    expect(taken).toHaveLength(1);
  });

  it("OPS-04 goes without a section notifications, too, and says what is missing where no channel is", { timeout: 120_000 }, async () => {
    const { taken, root } = await startTopics();
    shell = await openShell();
    shell.write(echoConfig({}, { channels: { topicpush: { enabled: true, server: root, topic: "mine" } } }));
    await shell.svc("daemon", "start");
    expect(await shell.svc("notify", "hello", "--title", "T")).toMatchObject({ code: 0, out: "The notice is on its way on topicpush.\n" });
    expect(taken.map(({ message }) => message)).toEqual(["T\nhello"]);
    await shell.svc("daemon", "stop");
    expect(await shell.svc("notify", "hello")).toMatchObject({ code: 69, err: expect.stringContaining("svc daemon start") });
    shell.write(echoConfig({}, { notifications: {} }));
    await shell.svc("daemon", "start");
    expect(await shell.svc("notify", "hello")).toMatchObject({ code: 1, err: expect.stringContaining("Neither push nor topicpush is switched on") });
  });
});
