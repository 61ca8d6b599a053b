import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { NodeAbout, Plugin } from "@svc/sdk";
import { workingStore } from "@svc/sdk/host";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type BotApi, FRIEND, startBotApi } from "../../plugins/channels/botmsg/bot-api.harness.ts";
import botmsg from "../../plugins/channels/botmsg/index.ts";
import { openPostgres, type PostgresStore } from "../../plugins/stores/postgres/open.ts";
import { drainNode } from "../../plugins/stores/postgres/status.ts";
import { freePort } from "../kit/free-port.ts";
import { configOf, type Running, runKernel } from "../kit/kernel.ts";
import { NO_POSTGRES, startPostgres, type TestServer } from "../kit/postgres.ts";
import { startTcpProxy, type TcpProxy } from "../kit/tcp-proxy.ts";

const GROUP = -1_001;
const TOKEN = "4242:secret-token-of-the-bot";

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

type At = ReturnType<TestServer["schema"]>;

interface Member {
  readonly store: PostgresStore;
  readonly proxy: TcpProxy;
}

/** One of several daemons on a schema, behind a proxy of its own. */
async function enter(at: At, name: string, port = () => server.port): Promise<Member> {
  const proxy = await startTcpProxy(port);
  undo.push(() => proxy.close());
  const folder = mkdtempSync(join(tmpdir(), "svc-lease-"));
  undo.push(() => rmSync(folder, { recursive: true, force: true }));
  const url = at.url.replace(`:${server.port}/`, `:${proxy.port}/`);
  const store = await openPostgres({ ...at, url, poolSize: 3, folder, shared: true });
  undo.push(() => store.close());
  await store.reclaim(name);
  return { store, proxy };
}

const leaseOf = ({ store }: Member) => workingStore(store.scope("feature-x"));

describe.skipIf(NO_POSTGRES !== undefined)("leases of several daemons on one PostgreSQL schema", () => {
  it("a wish to drain is taken back; of a daemon that ends by itself nothing is, whatever it tells later", async () => {
    const at = server.schema();
    const [one, two] = [await enter(at, "n1"), await enter(at, "n2")];
    const options = { ...at, poolSize: 1 };
    const states = async () => Object.fromEntries((await two.store.nodes()).map(({ name, state, about }) => [name, [state, about?.version]]));
    expect(await drainNode(options, "n1", true)).toBe(true);
    expect(await drainNode(options, "n1", false)).toBe(true);
    expect(await states()).toEqual({ n1: ["alive", undefined], n2: ["alive", undefined] });
    await one.store.leaving();
    await expect(drainNode(options, "n1", false)).rejects.toMatchObject({ code: "SVC_STORE_LEAVING" });
    one.store.tell(() => ({ version: "9" }) as NodeAbout);
    await until("what it tells", async () => (await states()).n1?.[1] === "9");
    await expect(drainNode(options, "n1", false)).rejects.toMatchObject({ code: "SVC_STORE_LEAVING" });
    expect(await states()).toEqual({ n1: ["draining", "9"], n2: ["alive", undefined] });
    expect(await drainNode(options, "n3", false)).toBe(false);
  });

  it("one has it, the others are told which node; given back it moves at once", async () => {
    const at = server.schema();
    const [one, two] = [await enter(at, "n1"), await enter(at, "n2")];
    const first = await leaseOf(one).lease("leader", 7_000);
    expect(first).toMatchObject({ held: true });
    const refused = await leaseOf(two).lease("leader", 7_000);
    expect(refused).toMatchObject({ held: false, holder: "n1" });
    expect(refused.signal.aborted).toBe(true);
    await first.release();
    expect(await leaseOf(two).lease("leader", 7_000)).toMatchObject({ held: true });
    expect(await leaseOf(one).lease("leader", 7_000)).toMatchObject({ held: false, holder: "n2" });
    expect((await one.store.nodes()).map(({ name, state }) => [name, state])).toEqual([
      ["n2", "alive"],
      ["n1", "alive"],
    ]);
  });

  it("who is cut off from the database loses it before another one can get it, within 10 s", async () => {
    const at = server.schema();
    const [one, two] = [await enter(at, "n1"), await enter(at, "n2")];
    const first = await leaseOf(one).lease("leader", 7_000);
    const lost = new Promise<number>((resolve) => first.signal.addEventListener("abort", () => resolve(performance.now())));
    const began = performance.now();
    one.proxy.partition(true);
    let got = 0;
    await until("the take-over", async () => {
      const { held } = await leaseOf(two).lease("leader", 7_000);
      if (held) got = performance.now();
      return held;
    });
    expect(await lost).toBeLessThan(got);
    console.log(`lost after ${Math.round((await lost) - began)} ms, taken over after ${Math.round(got - began)} ms`);
    const failed = new Promise<Error>((resolve) => one.store.onFailure(resolve));
    one.proxy.partition(false);
    expect(await failed).toMatchObject({ code: "SVC_STORE_FENCED" });
    await expect(
      leaseOf(one)
        .lease("leader", 7_000)
        .then(({ held }) => held),
    ).resolves.toBe(false);
    expect((await two.store.nodes()).find(({ name }) => name === "n1")?.state).toBe("dead");
  });

  it("a daemon that was cut off while another took its place is dead when it comes back: it writes nothing beside that one", async () => {
    const at = server.schema();
    const one = await enter(at, "n1");
    one.proxy.partition(true);
    const folder = mkdtempSync(join(tmpdir(), "svc-lease-"));
    undo.push(() => rmSync(folder, { recursive: true, force: true }));
    const alone = await openPostgres({ ...at, poolSize: 3, folder });
    undo.push(() => alone.close());
    await alone.reclaim("n2");
    expect((await alone.nodes()).map(({ name, state }) => [name, state])).toContainEqual(["n1", "dead"]);
    const failed = new Promise<Error>((resolve) => one.store.onFailure(resolve));
    one.proxy.partition(false);
    expect(await failed).toMatchObject({ code: "SVC_STORE_FENCED" });
    await expect(one.store.scope("core").collection("docs").put("late", 1)).rejects.toMatchObject({ code: "SVC_STORE_FENCED" });
    expect(await alone.scope("core").collection("docs").get("late")).toBeUndefined();
  });

  it("FAULT-11 a lease that is given back while the server is away is another's once it is there again, though its daemon lives on", async () => {
    const at = server.schema();
    const [one, two] = [await enter(at, "n1"), await enter(at, "n2")];
    const first = await leaseOf(one).lease("leader", 7_000);
    expect(first).toMatchObject({ held: true });
    await server.down();
    await expect(first.release()).rejects.toThrow();
    await server.up();
    await until(
      "the move",
      async () =>
        (
          await leaseOf(two)
            .lease("leader", 7_000)
            .catch(() => ({ held: false }))
        ).held,
    );
    expect((await two.store.nodes()).find(({ name }) => name === "n1")?.state).toBe("alive");
  });

  it("FAULT-11 a server that was away for longer than a lease has nobody declared dead who could not beat meanwhile", async () => {
    const at = server.schema();
    const [one, two] = [await enter(at, "n1"), await enter(at, "n2")];
    await leaseOf(one).lease("leader", 7_000);
    const failures: Error[] = [];
    one.store.onFailure((error) => failures.push(error));
    await server.down();
    await new Promise((resolve) => setTimeout(resolve, 8_000));
    await server.up();
    // Who asks, and who comes new, is there before the next beat of the others.
    const three = await enter(at, "n3");
    for (const end = performance.now() + 6_000; performance.now() < end; await new Promise((resolve) => setTimeout(resolve, 20)))
      expect(
        (
          await leaseOf(two)
            .lease("leader", 7_000)
            .catch(() => undefined)
        )?.held,
      ).not.toBe(true);
    expect((await three.store.nodes()).filter(({ state }) => state !== "alive")).toEqual([]);
    expect(failures).toEqual([]);
  });

  it("FAULT-11 a way to the server that was closed for longer than a lease has no daemon declared dead either, and one that is gone is taken over", async () => {
    const at = server.schema();
    let away = false;
    const nowhere = await freePort();
    const joined = async (name: string) => enter(at, name, () => (away ? nowhere : server.port));
    const [one, two] = [await joined("n1"), await joined("n2")];
    await leaseOf(one).lease("leader", 7_000);
    const failures: Error[] = [];
    one.store.onFailure((error) => failures.push(error));
    away = true;
    for (const { proxy } of [one, two]) proxy.cut();
    await new Promise((resolve) => setTimeout(resolve, 8_000));
    away = false;
    const work = two.store.work("core");
    for (const end = performance.now() + 4_000; performance.now() < end; await new Promise((resolve) => setTimeout(resolve, 20))) {
      expect(
        (
          await leaseOf(two)
            .lease("leader", 7_000)
            .catch(() => undefined)
        )?.held,
      ).not.toBe(true);
      await work.sweep().catch(() => {});
    }
    expect((await two.store.nodes()).map(({ state }) => state)).toEqual(["alive", "alive"]);
    expect(failures).toEqual([]);
    // One that is really gone is taken over all the same.
    one.proxy.partition(true);
    await until("the take-over", async () => (await leaseOf(two).lease("leader", 7_000)).held);
  });

  it("svc node drain: the daemon of that name hears of it at its next beat, once", async () => {
    const at = server.schema();
    const one = await enter(at, "n1");
    let told = 0;
    one.store.onDrain(() => {
      told += 1;
    });
    server.sql(`UPDATE ${at.schema}.node SET draining = true WHERE name = 'n1'`);
    await until("the wish", () => told === 1);
    expect((await one.store.nodes())[0]?.state).toBe("draining");
  });
});

describe.skipIf(NO_POSTGRES !== undefined)("a channel with one poller on two daemons", () => {
  async function daemon(at: At, name: string, api: BotApi): Promise<Member & Running> {
    const member = await enter(at, name);
    const channel = {
      enabled: true,
      apiRoot: api.root,
      accounts: { main: { token: TOKEN, agentBinding: "a" } },
      policy: { allowFrom: [String(FRIEND.id)], group: "all" },
    };
    const config = { node: { ...configOf().node, id: name }, channels: { botmsg: channel } };
    const running = await runKernel({ config, inline: [botmsg as Plugin<never>], store: { ...member.store, close: async () => undefined } });
    return { ...member, ...running };
  }
  const noteOf = async ({ kernel }: Running) => (await kernel.channels()).find(({ name }) => name === "botmsg")?.reason;

  it("one polls and the other stands by, says which node has it, and polls when that one is cut off; the two never do at once", async () => {
    const api = await startBotApi();
    undo.push(() => api.close());
    api.addBot(TOKEN, 42, "helper_bot");
    api.addChat(GROUP, "supergroup", "The Garden");
    const at = server.schema();
    const one = await daemon(at, "n1", api);
    await until("the first poll", () => api.polls(TOKEN) > 0);
    const two = await daemon(at, "n2", api);
    await until("the stand-by", async () => (await noteOf(two)) === "standby, node n1 has it");
    expect(await noteOf(one)).toBeUndefined();

    api.say(TOKEN, { chat: GROUP, text: "to the first" });
    await until("its turn", () => one.tier.prompts.some((prompt) => prompt.includes("to the first")));
    one.proxy.partition(true);
    await until("the take-over", async () => (await noteOf(two)) === undefined);
    api.say(TOKEN, { chat: GROUP, text: "to the second" });
    await until("its turn", () => two.tier.prompts.some((prompt) => prompt.includes("to the second")));
    expect(one.tier.prompts.some((prompt) => prompt.includes("to the second"))).toBe(false);
    const conflicts = [...one.events, ...two.events].filter(({ data }) => data?.state === "channel-conflict");
    expect(conflicts).toEqual([]);
    one.proxy.partition(false);
  }, 60_000);
});
