import { readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it, vi } from "vitest";
import { alive, type Laid, runIsolated } from "../faults/isolation.harness.ts";

const PATIENCE = { timeout: 20_000, interval: 20 };

/** The platform: shows what was sent and edited, and hands each message out once it is asked for. */
interface FarEnd {
  readonly root: string;
  readonly shown: { id: string; key: string; text: string; edits: number; file?: string }[];
  /** Calls that send. */
  writes: number;
  /** While this is true it takes a message and never answers. */
  hanging: boolean;
  say(text: string): void;
}

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function startFarEnd(): Promise<FarEnd> {
  const shown: FarEnd["shown"] = [];
  const said: { id: string; text: string }[] = [];
  const server = createServer(async (request, response) => {
    const [, path, id] = (request.url ?? "").split("/");
    let text = "";
    for await (const chunk of request) text += chunk;
    if (path === "updates") return void response.end(JSON.stringify(said.slice(Number(id))));
    if (path === "shown") return void response.end(JSON.stringify(shown));
    const body = JSON.parse(text) as { key: string; text: string; file?: string };
    if (path === "edit") {
      const message = shown.find((one) => one.id === id);
      if (message !== undefined) Object.assign(message, { text: body.text, edits: message.edits + 1 });
      return void response.end("{}");
    }
    far.writes += 1;
    const known = shown.find(({ key }) => key === body.key);
    const message = known ?? { id: `m${shown.length + 1}`, key: body.key, text: body.text, edits: 0, ...(body.file === undefined ? {} : { file: body.file }) };
    if (known === undefined) shown.push(message);
    if (!far.hanging) response.end(JSON.stringify({ id: message.id }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  servers.push(server);
  const far: FarEnd = {
    root: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    shown,
    writes: 0,
    hanging: false,
    say: (text) => void said.push({ id: `u${said.length + 1}`, text }),
  };
  return far;
}

const channel = (root: string): Laid => ({
  name: "far",
  kind: "channel",
  capabilities: ["network", "tasks", "store"],
  setup: `const post = async (path, body, signal) => (await fetch("${root}/" + path, { method: "POST", body: JSON.stringify(body), signal })).json();
    const handle = ctx.provide.channel({
      name: "far",
      traits: { maxChars: 4000, unit: "codepoint", dialect: "markdown", editIntervalMs: 20, keyed: true, maxMediaBytes: 1000000 },
      send: async ({ text, media, key }, signal) => ({ platformId: (await post("send", { key, text, ...(media ? { file: new TextDecoder().decode(media[0].data) } : {}) }, signal)).id }),
      edit: async (id, { text }, signal) => { await post("edit/" + id, { text }, signal); },
    });
    const seen = ctx.store.collection("seen"); const stop = new AbortController(); let following;
    const follow = async () => {
      handle.ready("a note");
      while (!stop.signal.aborted) {
        const after = (await seen.get("after"))?.value ?? 0;
        const updates = await (await fetch("${root}/updates/" + after)).json();
        for (const [n, { id, text }] of updates.entries()) {
          await ctx.tasks.accept({ entry: "channel", channel: "far", chat: "1", text, platformId: id, dedupKey: id, agent: "a" });
          await seen.put("after", after + n + 1);
        }
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    };
    return { start: async () => { following = follow().catch((error) => handle.down(error.message)); }, stop: async () => { stop.abort(); await following; } };`,
});

const BEGUN = "An answer that is long enough to be shown to people while the rest of it is still being thought about.";

/** Says the rest of its answer when the beginning is shown. */
const tier = (root: string): Laid => ({
  name: "slow",
  kind: "tier",
  capabilities: ["network"],
  setup: `ctx.provide.tier({ name: "slow", async *run(turn, context, signal) {
    yield { type: "text", text: "${BEGUN}" };
    while (!signal.aborted && (await (await fetch("${root}/shown")).json()).length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    yield { type: "text", text: " And the end." };
    yield { type: "done" };
  } });`,
});

describe("an isolated channel in a daemon", () => {
  it("takes a message in, shows the answer while it grows, and sends files of this machine", async () => {
    const far = await startFarEnd();
    const run = await runIsolated([channel(far.root), tier(far.root)], { dataFolder: ".svc", agent: { tier: "slow" } });
    far.say("go on");
    await vi.waitFor(() => expect(far.shown).toMatchObject([{ text: `${BEGUN} And the end.`, edits: expect.toSatisfy((edits) => edits > 0) }]), PATIENCE);
    const path = `${run.folder}/note.txt`;
    writeFileSync(path, "words in a file");
    const { sent } = await run.kernel.tasks.deliver({ kind: "proactive", target: { channel: "far", chat: "1" }, text: "", media: [{ kind: "file", path }] });
    expect(await sent).toEqual({ platformId: expect.any(String) });
    expect(far.shown.at(-1)).toMatchObject({ file: "words in a file" });
    expect(await run.kernel.channels()).toMatchObject([{ name: "far", plugin: "channel-far", state: "ready", reason: "a note" }]);
  });

  it("FAULT-69 what is to go out while its process is away waits, and goes out once when it is back; what came in meanwhile is answered", async () => {
    const far = await startFarEnd();
    const run = await runIsolated([channel(far.root)], { isolation: { firstPauseMs: 400 } });
    await vi.waitFor(async () => expect((await run.kernel.channels())[0]?.state).toBe("ready"), PATIENCE);
    const pid = run.status("channel-far").isolation?.pid as number;
    process.kill(pid, "SIGKILL");
    await vi.waitFor(() => expect(run.status("channel-far").isolation?.state).toBe("waiting"), PATIENCE);
    expect((await run.kernel.channels())[0]).toMatchObject({ state: "down", reason: expect.stringContaining("it is started again in") });
    far.say("while you were away");
    const { sent } = await run.kernel.tasks.deliver({ kind: "proactive", target: { channel: "far", chat: "1" }, text: "patience" });
    expect(await sent).toMatchObject({ platformId: expect.any(String) });
    await vi.waitFor(() => expect(far.shown.map(({ text }) => text).sort()).toEqual(["patience", "while you were away"]), PATIENCE);
    expect(alive(pid)).toBe(false);
  });

  it("FAULT-69 a message on the wire when its process dies may have arrived: it goes out again under the same key, and is shown once", async () => {
    const far = await startFarEnd();
    const run = await runIsolated([channel(far.root)]);
    await vi.waitFor(async () => expect((await run.kernel.channels())[0]?.state).toBe("ready"), PATIENCE);
    far.hanging = true;
    const { sent } = await run.kernel.tasks.deliver({ kind: "proactive", target: { channel: "far", chat: "1" }, text: "once" });
    await vi.waitFor(() => expect(far.writes).toBe(1), PATIENCE);
    far.hanging = false;
    process.kill(run.status("channel-far").isolation?.pid as number, "SIGKILL");
    expect(await sent).toEqual({ platformId: "m1" });
    expect({ writes: far.writes, shown: far.shown }).toMatchObject({ writes: 2, shown: [{ text: "once" }] });
  });

  it("K26 hands files over that are larger than a frame: the daemon stores them, and the turn goes on without those it cannot have", async () => {
    const picture = Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), Buffer.alloc(12 * 1_048_576, 7)]);
    const setup = `
      const handle = ctx.provide.channel({
        name: "files",
        traits: { maxChars: 1000, unit: "utf16", dialect: "plain" },
        send: async () => ({}),
        async fetchMedia({ handle }) {
          if (handle === "no") throw Object.assign(new Error("gone"), { failure: "permanent" });
          if (handle === "words") return { data: "words" };
          const data = new Uint8Array(${picture.length}).fill(7);
          data.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
          return { data, type: "image/png" };
        },
      });
      // What it adds to a context must not cost the files that came with it.
      ctx.hooks.assembleContext.tap((context) => ({ ...context, system: "seen" }));
      return { async start() {
        handle.ready();
        const media = ["yes", "no", "words"].map((handle) => ({ kind: "image", handle, name: handle }));
        await ctx.tasks.accept({ entry: "channel", channel: "files", chat: "1", agent: "a", text: "look", media, dedupKey: "once" });
      } };`;
    const { tier, folder } = await runIsolated([{ name: "files", kind: "channel", capabilities: ["tasks"], setup }], { dataFolder: ".svc" });
    await vi.waitFor(() => expect(tier.turns).toHaveLength(1), PATIENCE);
    const { context } = tier.turns[0]!;
    expect(context.system).toBe("seen");
    expect(context.media).toMatchObject([{ kind: "image", name: "yes", type: "image/png", size: picture.length, path: expect.stringContaining(folder) }]);
    expect(readFileSync(context.media[0]?.path ?? "").equals(picture)).toBe(true);
    expect(context.prompt).toBe(
      "look\n\n(no was not taken: it could not be had from the platform.)\n\n(words was not taken: it could not be had from the platform.)",
    );
  });

  it("K27 closing a question is refused there by name", async () => {
    const closer = `return { async start() {
      await ctx.tasks.closeChoices("out_00000000-0000-4000-8000-000000000000").catch((error) => ctx.log.error({ code: error.code }, error.message));
    } };`;
    const lines: string[] = [];
    await runIsolated([{ name: "closer", capabilities: ["tasks"], setup: closer }], {
      log: { level: "error", destination: { write: (line: string) => void lines.push(line) } } as never,
    });
    await vi.waitFor(() => expect(lines.join("")).toContain("SVC_ISOLATION_REFUSED"), PATIENCE);
    expect(lines.join("")).toContain("tasks.closeChoices");
  });
});
