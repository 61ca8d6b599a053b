import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ChannelHandle, definePlugin, type Plugin, type PluginContext } from "@svc/sdk";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { openPostgres } from "../../plugins/stores/postgres/open.ts";
import { NO_POSTGRES, startPostgres, type TestServer } from "../kit/postgres.ts";
import { bearer, type Guarded, get, guarded } from "../rules/auth.harness.ts";

let server: TestServer;
const undo: (() => unknown)[] = [];
beforeAll(async () => {
  if (NO_POSTGRES === undefined) server = await startPostgres();
});
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});
afterAll(() => server?.stop());

async function until(what: string, holds: () => boolean | Promise<boolean>, ms = 30_000): Promise<void> {
  for (const end = performance.now() + ms; !(await holds()); await new Promise((resolve) => setTimeout(resolve, 20)))
    if (performance.now() > end) throw new Error(`${what} did not happen`);
}

interface Node extends Guarded {
  readonly context: PluginContext;
  readonly channel: ChannelHandle;
  /** What its end of the channel has sent. */
  readonly sent: string[];
}

/** One of several daemons on a schema, with a folder, a file of tokens and an end of a channel of its own. */
async function start(at: ReturnType<TestServer["schema"]>, id: string): Promise<Node> {
  const folder = mkdtempSync(join(tmpdir(), "svc-shared-"));
  const { work: _, ...store } = await openPostgres({ ...at, poolSize: 3, folder, shared: true });
  undo.push(
    () => rmSync(folder, { recursive: true, force: true }),
    () => store.close(),
  );
  let context: PluginContext | undefined;
  let channel: ChannelHandle | undefined;
  const sent: string[] = [];
  const post = definePlugin({
    kind: "channel",
    name: "post",
    version: "0.0.1",
    svc: "^0.1.0",
    config: { at: "channels.post", schema: { type: "object", properties: {} } },
    capabilities: ["tasks"],
    setup(ctx) {
      context = ctx as PluginContext;
      channel = ctx.provide.channel({
        name: "post",
        traits: { maxChars: 1_000, unit: "utf16", dialect: "plain" },
        async send({ text }) {
          if (text === "refused") throw Object.assign(new Error("no such chat"), { kind: "permanent" });
          sent.push(text);
          return { platformId: `${id}-${sent.length}` };
        },
      });
    },
  });
  const running = await guarded({
    config: { node: { id, name: id, bind: "127.0.0.1:0", defaultAgent: "foo" }, channels: { post: {} } },
    plugins: [post as Plugin<never>],
    options: { store: { ...store, close: async () => undefined } },
  });
  return { ...running, context: context as PluginContext, channel: channel as ChannelHandle, sent };
}

describe.skipIf(NO_POSTGRES !== undefined)("what several daemons on one PostgreSQL schema share", () => {
  it("AUTH-01 a token of one counts on all, and one that is revoked ends its streams elsewhere", async () => {
    const at = server.schema();
    const [one, two] = [await start(at, "n1"), await start(at, "n2")];
    const { id, secret } = await one.token("dashboard:read");
    const asked = async (node: Node) => (await get(node.dashboard, "/api/me", bearer(secret))).status;
    expect(await asked(one)).toBe(200);
    await until("the token there", async () => (await asked(two)) === 200);
    const stream = await fetch(`${two.dashboard}/api/task/stream`, { headers: bearer(secret) });
    expect(stream.status).toBe(200);
    let ended = false;
    void (async () => {
      for await (const _ of stream.body ?? []);
    })()
      .catch(() => undefined)
      .finally(() => {
        ended = true;
      });
    expect((await one.svc("token", "revoke", id)).code).toBe(0);
    const began = performance.now();
    await until("the refusal there", async () => (await asked(two)) === 401);
    const refused = performance.now() - began;
    await until("the end of the stream", () => ended);
    console.log(`refused there after ${Math.round(refused)} ms, its stream ended after ${Math.round(performance.now() - began)} ms`);
    // What was revoked stays so, whoever writes the file again.
    const other = await two.token("dashboard:read");
    await until("the other one", async () => (await get(one.dashboard, "/api/me", bearer(other.secret))).status === 200);
    expect([await asked(one), await asked(two)]).toEqual([401, 401]);
  }, 60_000);

  it("a delivery goes out by the daemon that has the channel, and who waits for it elsewhere is told", async () => {
    const at = server.schema();
    const [one, two] = [await start(at, "n1"), await start(at, "n2")];
    one.channel.ready();
    two.channel.down("standby, node n1 has it");
    const hand = (text: string) => two.context.tasks.deliver({ kind: "notice", target: { channel: "post", chat: "c" }, text });
    const { sent } = await hand("by the other one");
    expect(await sent).toEqual({ platformId: "n1-1" });
    expect([one.sent, two.sent]).toEqual([["by the other one"], []]);
    // The channel moves, and what waits moves with it.
    one.channel.down("gone");
    const waiting = await hand("by this one");
    two.channel.ready();
    expect(await waiting.sent).toEqual({ platformId: "n2-1" });
    expect([one.sent, two.sent]).toEqual([["by the other one"], ["by this one"]]);
  }, 60_000);
});
