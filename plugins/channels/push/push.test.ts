import { createMemoryStore } from "@svc/sdk/testing";
import { afterEach, describe, expect, it } from "vitest";
import { type Kept, running as start } from "./push.harness.ts";
import { PushHosts } from "./push-hosts.ts";
import type { Browser } from "./push-service.harness.ts";
import { checkPush, PUSH_HOSTS, type PushSettings } from "./settings.ts";

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const service of open.splice(0)) await service.close();
});

async function running(more?: Partial<PushSettings>, kept?: Kept) {
  const plugin = await start(more, kept);
  open.push(plugin.service);
  return plugin;
}

const CALLER = (id: string) => ({ caller: { address: "192.0.2.7", local: false, token: { id, name: "phone", scopes: ["push:device"] } } });
const bodyOf = (browser: Browser, more: object = {}) => ({ body: { subscription: browser.subscription, ...more } });

describe("CHAN-05 whom a notice reaches", () => {
  it("CHAN-05 a host counts with its subdomains on a dot boundary, over https, and nothing else does", () => {
    const hosts = new PushHosts(["push.example", "http://127.0.0.1:4444"]);
    const used = ["https://push.example/x", "https://eu.push.example/x", "https://PUSH.example/x", "http://127.0.0.1:4444/x"];
    expect(used.map((address) => hosts.refusal(address))).toEqual(used.map(() => undefined));
    const refused = [
      "https://evil-push.example/x",
      "https://push.example.evil.test/x",
      "http://push.example/x",
      "https://push.example:8443/x",
      "https://user@push.example/x",
      "https://push.example@evil.test/x",
      "http://127.0.0.1:4445/x",
      "https://127.0.0.1/x",
      "https://[::1]/x",
      "javascript:alert(1)",
      "push.example",
    ];
    for (const address of refused) expect(hosts.refusal(address), address).toEqual(expect.any(String));
    expect(PUSH_HOSTS).toHaveLength(5);
    expect(new PushHosts(PUSH_HOSTS).refusal("https://updates.push.services.mozilla.com/wpush/v2/x")).toBeUndefined();
  });

  it("CHAN-05 default is every phone and tok_... one; another chat is refused in words", async () => {
    const { phone, send } = await running();
    const [first, second] = [await phone("first"), await phone("second")];
    expect(first.id).toMatch(/^tok_[0-9a-f]{24}$/);
    await send("to all");
    await send("to one", { chat: second.id });
    expect([first.words(), second.words()]).toEqual([["to all"], ["to all", "to one"]]);
    await expect(send("x", { chat: "bedroom" })).rejects.toMatchObject({ failure: "permanent", message: expect.stringContaining("knows no chat 'bedroom'") });
    await expect(send("x", { chat: `tok_${"0".repeat(24)}` })).rejects.toMatchObject({ failure: "permanent" });
  });

  it("CHAN-05 a host that is taken off the list is not written to, though its phone is known", async () => {
    const kept = { store: createMemoryStore(), files: new Map<string, string | Uint8Array>() };
    const { phone, service } = await running({}, kept);
    await phone();
    const strict = await running({ allowedHosts: ["push.example"] }, kept);
    await expect(strict.send("x")).rejects.toMatchObject({ failure: "permanent", message: expect.stringContaining("not https") });
    expect(service.state.writes).toBe(0);
  });

  it("without a phone it says how to add one", async () => {
    const { send } = await running();
    await expect(send("x")).rejects.toMatchObject({ failure: "permanent", message: "no phone gets notices yet: add one with svc push add" });
  });
});

describe("what a push service says", () => {
  it.each([404, 410])("%i forgets the phone", async (status) => {
    const { phone, send, ask } = await running();
    const [gone, here] = [await phone("gone"), await phone("here")];
    gone.browser.faults.push(status);
    await send("one");
    await send("two");
    expect([gone.words(), here.words()]).toEqual([[], ["one", "two"]]);
    expect(((await ask("GET", "/push/devices")) as { devices: { name: string }[] }).devices.map(({ name }) => name)).toEqual(["here"]);
    await expect(send("x", { chat: gone.id })).rejects.toMatchObject({ failure: "permanent" });
  });

  it("one that is busy gets the notice later, and the others do not get it twice", async () => {
    const { phone, send } = await running();
    const [quick, busy] = [await phone("quick"), await phone("busy")];
    busy.browser.faults.push(429);
    await expect(send("once", { key: "k" })).rejects.toMatchObject({ failure: "retry", retryAfterMs: 7_000 });
    await send("once", { key: "k" });
    expect([quick.browser.sizes.length, busy.browser.sizes.length]).toEqual([1, 1]);
    expect(busy.words()).toEqual(["once"]);
  });

  it("understands a Retry-After that is a date", async () => {
    const { phone, send } = await running();
    (await phone()).browser.faults.push("retry-date");
    const error = (await send("x").catch((caught) => caught)) as { retryAfterMs: number };
    expect(error.retryAfterMs).toBeGreaterThan(50_000);
  });

  it("a notice that may have arrived comes again under the same tag and topic", async () => {
    const { phone, send, service } = await running();
    const { browser, words } = await phone();
    browser.faults.push("cut");
    await expect(send("once", { key: "k" })).rejects.toMatchObject({ failure: "unknown" });
    await send("once", { key: "k" });
    expect(words()).toEqual(["once"]);
    expect(new Set(service.state.headers.map(({ topic }) => topic)).size).toBe(1);
  });

  it("one that refuses one phone does not keep the others from their notice", async () => {
    const { phone, send, context, ask } = await running();
    const [refused, fine] = [await phone("refused"), await phone("fine")];
    refused.browser.faults.push(403);
    await send("hello");
    expect(fine.words()).toEqual(["hello"]);
    expect(JSON.stringify(context.logged)).toContain("its push service answered 403");
    const { devices } = (await ask("GET", "/push/devices")) as { devices: { name: string; lastError?: string }[] };
    expect(devices.find(({ name }) => name === "refused")?.lastError).toContain("403");
  });

  it("one that takes less than 4,096 bytes gets a shorter text", async () => {
    const { phone, send, service } = await running();
    const { browser } = await phone();
    service.state.limit = 3_000;
    await send("x".repeat(50_000));
    expect(browser.sizes).toEqual([expect.any(Number)]);
    expect(browser.sizes[0]).toBeLessThan(3_000);
  });

  it("urgency follows the priority, and the time to live the configuration", async () => {
    const { phone, send, service } = await running({ ttlSeconds: 90 });
    await phone();
    await send("quiet", { priority: 1 });
    await send("loud", { priority: 5 });
    expect(service.state.headers.map(({ ttl, urgency }) => [ttl, urgency])).toEqual([
      ["90", "normal"],
      ["90", "high"],
    ]);
  });
});

describe("what a notice holds", () => {
  it.each([
    ["ASCII", "x".repeat(60_000)],
    ["quotes, which JSON makes longer", '"\\\n'.repeat(20_000)],
    ["pairs of surrogates", "👩‍👩‍👧".repeat(6_000)],
    ["a long title", "words"],
  ])("fits into 4,096 bytes and the page has the rest: %s", async (_name, text) => {
    const { phone, send, recent } = await running();
    const { browser, words } = await phone();
    await send(text, { title: "t".repeat(5_000) });
    expect(browser.sizes[0]).toBeLessThanOrEqual(4_096);
    expect(browser.sizes[0]).toBeGreaterThan(text === "words" ? 100 : 4_000);
    expect((await recent())[0]?.text).toBe(text);
    expect(words()[0]).toBe(text);
  });

  it("keeps as many as keepRecent says, the newest first, and none with 0", async () => {
    const { phone, send, recent } = await running({ keepRecent: 3 });
    await phone();
    for (let n = 0; n < 5; n += 1) await send(`notice ${n}`);
    expect((await recent()).map(({ text }) => text)).toEqual(["notice 4", "notice 3", "notice 2"]);
    const none = await running({ keepRecent: 0 });
    await none.phone();
    await none.send("seen by nobody else");
    expect(await none.recent()).toEqual([]);
  });
});

describe("how a phone is added", () => {
  it("by a code that is good once", async () => {
    const { ask, service, send } = await running();
    const { code } = (await ask("POST", "/push/codes")) as { code: string };
    const [first, second] = [service.browse(), service.browse()];
    const added = await Promise.allSettled([first, second].map((browser) => ask("POST", "/push/api/pair", bodyOf(browser, { code, name: "mine" }))));
    expect(added.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    await send("hello");
    expect(first.shown.size + second.shown.size).toBe(1);
    for (const bad of [code, "wrong", ""])
      await expect(ask("POST", "/push/api/pair", bodyOf(second, { code: bad })), bad).rejects.toMatchObject({ code: "SVC_PUSH_CODE", status: 403 });
  });

  it("a browser that cannot be reached keeps its code", async () => {
    const { ask, service } = await running();
    const { code } = (await ask("POST", "/push/codes")) as { code: string };
    const browser = service.browse();
    const bad = [
      { endpoint: "https://evil.test/x", keys: browser.subscription.keys },
      { endpoint: browser.subscription.endpoint, keys: { ...browser.subscription.keys, p256dh: Buffer.alloc(65, 4).toString("base64url") } },
      { endpoint: browser.subscription.endpoint, keys: { ...browser.subscription.keys, auth: "AAAA" } },
    ];
    for (const subscription of bad)
      await expect(ask("POST", "/push/api/pair", { body: { subscription, code } })).rejects.toMatchObject({
        code: "SVC_PUSH_SUBSCRIPTION",
        status: 400,
        field: expect.any(String),
      });
    await expect(ask("POST", "/push/api/pair", bodyOf(browser, { code }))).resolves.toMatchObject({ id: expect.stringMatching(/^tok_/) });
  });

  it("the same browser again is the same phone, and its former bearer ends", async () => {
    const { phone, ask, context, service } = await running();
    const first = await phone();
    const again = (await ask("POST", "/api/push/subscribe", bodyOf(first.browser))) as { id: string; bearer: string };
    expect(again.id).toBe(first.id);
    const authority = context.registered.authorities[0]!;
    expect(await authority.verify(first.bearer)).toBeUndefined();
    expect(await authority.verify(again.bearer)).toEqual({ kind: "token", id: first.id, name: "phone", scopes: ["push:device"], family: "push" });
    // What proves a phone, and where it is reached, is told to nobody.
    const told = JSON.stringify([await ask("GET", "/push/devices"), await ask("GET", "/api/push/devices"), context.logged]);
    for (const secret of [first.bearer, again.bearer, new URL(first.browser.subscription.endpoint).pathname, first.browser.subscription.keys.auth])
      expect(told).not.toContain(secret);
    expect(service.state.writes).toBe(0);
  });

  it("a phone changes its own registration and no other one", async () => {
    const { phone, ask, service, send } = await running();
    const [mine, other] = [await phone("mine"), await phone("other")];
    const fresh = service.browse();
    await ask("PUT", "/push/api/device", { ...bodyOf(fresh), ...CALLER(mine.id) });
    await send("hello");
    expect([mine.words(), [...fresh.shown.values()].map(({ text }) => text), other.words()]).toEqual([[], ["hello"], ["hello"]]);
    await ask("DELETE", "/push/api/device", CALLER(mine.id));
    await expect(ask("PUT", "/push/api/device", { ...bodyOf(fresh), ...CALLER(mine.id) })).rejects.toMatchObject({ code: "SVC_PUSH_DEVICE", status: 404 });
    await expect(ask("DELETE", "/push/api/device")).rejects.toMatchObject({ code: "SVC_PUSH_DEVICE", status: 401 });
  });
});

describe("the keys", () => {
  it("are the same after a restart, and a file of 0600 that is made once", async () => {
    const kept = { files: new Map<string, string | Uint8Array>(), store: createMemoryStore() };
    const before = await running({}, kept);
    const key = await before.ask("GET", "/push/api/key");
    const { browser } = await before.phone();
    const after = await running({ allowedHosts: [before.service.origin] }, kept);
    expect(await after.ask("GET", "/push/api/key")).toEqual(key);
    await after.send("still here");
    expect([...browser.shown.values()].map(({ text }) => text)).toEqual(["still here"]);
  });

  it("lost ones make every phone subscribe anew, and say which", async () => {
    const store = createMemoryStore();
    const before = await running({}, { store, files: new Map() });
    const { id, browser } = await before.phone("bedside");
    const after = await running({ allowedHosts: [before.service.origin] }, { store, files: new Map() });
    expect(JSON.stringify(after.context.logged)).toContain("bedside");
    await expect(after.send("x")).rejects.toMatchObject({ failure: "permanent", message: expect.stringContaining("open its page again") });
    expect(await after.ask("GET", "/push/devices")).toMatchObject({ devices: [{ name: "bedside", stale: true }] });
    expect(before.service.state.writes).toBe(0);
    await after.ask("PUT", "/push/api/device", { ...bodyOf(browser), ...CALLER(id) });
    await after.send("back");
    expect([...browser.shown.values()].map(({ text }) => text)).toEqual(["back"]);
  });

  it.each(["", "{}", "no json", '{"publicKey":"AAAA","privateKey":"AAAA"}'])(
    "a file that holds none is left alone, and the channel is down: %j",
    async (text) => {
      const files = new Map<string, string | Uint8Array>();
      await running({}, { files });
      const [path] = [...files.keys()];
      files.set(path as string, text);
      const { context, send } = await running({}, { files });
      expect(context.registered.channels[0]).toMatchObject({ state: "down", reason: expect.stringContaining("push-keys.json") });
      expect(files.get(path as string)).toBe(text);
      await expect(send("x")).rejects.toMatchObject({ failure: "retry" });
    },
  );
});

describe("CHAN-06 send only, and through a peer", () => {
  it("CHAN-06 nothing comes in: it cannot hand a message over", async () => {
    const { channel, context } = await running();
    expect(channel.traits.receives).toBe(false);
    expect([channel.fetchMedia, channel.edit]).toEqual([undefined, undefined]);
    expect(context.registered.taps).toEqual([]);
  });

  it("CHAN-06 with relayTo the peer sends, and no keys file is made here", async () => {
    const files = new Map<string, string | Uint8Array>();
    const host = await running();
    const { words } = await host.phone();
    const peers = {
      list: () => [{ name: "studio", url: "http://192.0.2.1" }],
      request: async (_peer: string, { path, body }: { path: string; body?: unknown }) => {
        try {
          return { status: 200, body: await host.ask("POST", path, { body }) };
        } catch (error) {
          const { status = 500, message, retryAfterMs } = error as { status?: number; message: string; retryAfterMs?: number };
          return { status, body: { error: message, retryAfterMs } };
        }
      },
      run: () => expect.unreachable(),
      send: () => expect.unreachable(),
    };
    const relaying = await running({ relayTo: "studio", subject: undefined as never }, { files, peers });
    await relaying.send("over there", { key: "k" });
    await relaying.send("over there", { key: "k" });
    expect(words()).toEqual(["over there"]);
    expect([...files.keys()]).toEqual([]);
    expect(relaying.context.registered.routes.map(({ path }) => path)).toEqual(["/push/relay"]);
    await expect(relaying.send("x", { chat: "nowhere" })).rejects.toMatchObject({ failure: "permanent", message: expect.stringContaining("knows no chat") });
    await host.service.close();
    await expect(relaying.send("later")).rejects.toMatchObject({ failure: "retry" });
  });

  it("CHAN-06 a circle of relays is refused at its first step, naming the setting", async () => {
    const { ask } = await running({ relayTo: "studio" });
    const body = { key: "k", chat: "default", text: "round and round" };
    await expect(ask("POST", "/push/relay", { body })).rejects.toMatchObject({
      code: "SVC_PUSH_RELAY",
      status: 421,
      message: expect.stringContaining("relayTo is 'studio'"),
    });
  });

  it("without a mesh it says what is missing, and waits", async () => {
    const { send } = await running({ relayTo: "studio" });
    await expect(send("x")).rejects.toMatchObject({ failure: "retry", message: expect.stringContaining("mesh") });
  });
});

it("CFG-14 the daemon with the phones needs a subject, one that relays does not; an address nobody can reach is warned of", () => {
  const section = { enabled: true, keysFile: ".svc/push-keys.json", ttlSeconds: 1, keepRecent: 1, allowedHosts: [] };
  expect(checkPush(section)).toMatchObject([{ path: "subject", severity: "error" }]);
  expect(checkPush({ ...section, relayTo: "studio" })).toEqual([]);
  expect(checkPush({ ...section, enabled: false })).toEqual([]);
  for (const subject of ["mailto:ops@example.org", "https://example.org/contact"]) expect(checkPush({ ...section, subject }), subject).toEqual([]);
  for (const subject of ["mailto:me@localhost", "mailto:me@box.invalid", "https://localhost:4202/"])
    expect(checkPush({ ...section, subject }), subject).toMatchObject([{ path: "subject", message: expect.stringContaining("nobody can reach") }]);
});
