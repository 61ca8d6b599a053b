import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { FRIEND, startBotApi } from "../../plugins/channels/botmsg/bot-api.harness.ts";
import { startPushService } from "../../plugins/channels/push/push-service.harness.ts";
import { lacking } from "../kit/phonemsg/library.ts";
import { startPhoneServer } from "../kit/phonemsg/server.ts";
import { bearer, type Guarded, guarded, REMOTE } from "./auth.harness.ts";
import { askJudged, FIRST_PARTY, type JUDGED_APART } from "./openapi-answers.harness.ts";

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

const PEER = "the-token-of-peer-b";

/** A daemon with one channel, asked as a program of its machine and as a person in a browser. */
async function withChannel(plugin: (typeof JUDGED_APART.channels)[number], channels: object) {
  // This one stands apart from the workspace: a configuration names its folder.
  const plugins = plugin === "channel-phonemsg" ? [join(import.meta.dirname, "../../plugins/channels/phonemsg")] : [];
  const config = { plugins, channels, mesh: { enabled: true, peers: [{ name: "b", url: "http://127.0.0.1:9", token: PEER }] } };
  const at = await guarded({ config, options: { known: FIRST_PARTY.filter((folder) => !plugins.includes(folder)) } });
  const { secret } = await at.token("dashboard:write");
  const asking = await askJudged(at, { daemon: at.daemon, dashboard: at.dashboard }, (one) => one === plugin);
  return { at, asking, ask: asking.on("daemon"), people: asking.on("dashboard", bearer(secret)), page: asking.on("dashboard") };
}

const isReady = async (at: Guarded, name: string) =>
  ((await (await fetch(`${at.daemon}/channels`)).json()) as { channels: { name: string; state: string }[] }).channels.find((one) => one.name === name)?.state;

describe("answers of channels are those that GET /openapi.json names", { timeout: 120_000 }, () => {
  it("push", async () => {
    const service = await startPushService();
    closers.push(service.close);
    const push = { enabled: true, subject: "mailto:ops@example.org", allowedHosts: [service.origin] };
    const { at, asking, ask, people, page } = await withChannel("channel-push", { push });
    await expect.poll(() => isReady(at, "push")).toBe("ready");
    const { subscription } = service.browse();
    const { id } = await people("POST", "/api/push/subscribe", { subscription, name: "desk" });
    await people("POST", "/api/push/subscribe", { subscription: { ...subscription, endpoint: "https://example.org/x" } });
    await people("POST", "/api/push/subscribe", {});
    const { code } = await ask("POST", "/push/codes", {});
    const phone = service.browse();
    await page("POST", "/push/api/pair", { code: "another", subscription: phone.subscription });
    const paired = await page("POST", "/push/api/pair", { code, subscription: phone.subscription, name: "phone" });
    const own = asking.on("dashboard", bearer(String(paired["bearer"])));
    await own("PUT", "/push/api/device", { subscription: phone.subscription });
    await own("PUT", "/push/api/device", {});
    phone.faults.push(403);
    await ask("POST", "/send", { channel: "push", chatId: "default", text: "hello" });
    const peer = { ...REMOTE, ...bearer(PEER) };
    await ask("POST", "/push/relay", { key: "k", chat: "default", text: "hello", title: "T", priority: 5 }, peer);
    phone.faults.push(403);
    await ask("POST", "/push/relay", { key: "k2", chat: "default", text: "hello" }, peer);
    await ask("POST", "/push/relay", { key: "k" }, peer);
    await ask("POST", "/push/relay", { key: "k", chat: "default", text: "hello" }, REMOTE);
    const { notices } = (await own("GET", "/push/api/recent")) as { notices: object[] };
    expect(notices.some((notice) => "priority" in notice)).toBe(true);
    const { devices } = (await ask("GET", "/push/devices")) as { devices: object[] };
    expect(devices.some((device) => "lastError" in device && "lastAt" in device)).toBe(true);
    for (const path of ["/api/push/recent?limit=1", "/api/push/recent?limit=0", "/api/push/devices"]) await people("GET", path);
    await page("GET", "/push/api/key");
    await page("GET", "/push/index.html");
    await page("GET", "/push/api/recent");
    await own("DELETE", "/push/api/device");
    await people("DELETE", `/api/push/subscribe/${id}`);
    const other = await people("POST", "/api/push/subscribe", { subscription });
    for (let turn = 0; turn < 2; turn += 1) await ask("DELETE", `/push/devices/${other["id"]}`);
    expect(asking.wrong).toEqual([]);
    expect(asking.unasked()).toEqual([]);
  });

  it("botmsg", async () => {
    const far = await startBotApi();
    closers.push(() => far.close());
    const token = "4242:token-of-the-bot";
    const other = { id: 777, is_bot: false, first_name: "Bo" };
    far.addBot(token, 42, "helper_bot");
    const botmsg = {
      enabled: true,
      apiRoot: far.root,
      accounts: { main: { token, agentBinding: "foo" } },
      policy: { allowFrom: [String(FRIEND.id), String(other.id)] },
    };
    const { asking, ask, people } = await withChannel("channel-botmsg", { botmsg });
    const codes = () => far.shown.flatMap(({ text }) => /svc channel pair (\w{8})/.exec(text)?.[1] ?? []);
    for (const [number, from] of [FRIEND, other].entries()) {
      far.addChat(from.id);
      far.say(token, { chat: from.id, from, text: "hello?" });
      await expect.poll(() => codes().length, { timeout: 60_000 }).toBe(number + 1);
    }
    const [first, second] = codes();
    for (const [run, path, code] of [[ask, "/channels/botmsg/pair", first] as const, [people, "/api/channels/botmsg/people", second] as const]) {
      expect((await run("GET", path))["waiting"]).not.toEqual([]);
      await run("POST", path, { code: "WRONG" });
      await run("POST", path, {});
      expect(await run("POST", path, { code })).toMatchObject({ account: "main" });
      await run("GET", path);
    }
    expect(asking.wrong).toEqual([]);
    expect(asking.unasked()).toEqual([]);
  });

  it.skipIf(lacking)("phonemsg", async () => {
    const far = await startPhoneServer();
    closers.push(() => far.close());
    const friend = far.accounts.add("491700000700", "Frieda");
    const group = far.accounts.group("120363000000000001@g.us", "The Garden", [friend], "Plants only");
    far.history = () => [{ from: friend, text: "before", id: "OLD1" }];
    const ingest = { enabled: true, agent: "foo", mode: "messages", allowContacts: ["Frieda"], allowGroups: ["Garden"], throttle: { minMsBetweenCalls: 100 } };
    const phonemsg = { enabled: true, server: far.url, mediaServer: far.mediaUrl, defaultAgent: "foo", allowFrom: [friend.number], ingest };
    const { at, asking, ask, people } = await withChannel("channel-phonemsg", { phonemsg });
    mkdirSync(join(at.folder, "w"), { recursive: true });
    const [own, page] = ["/channels/phonemsg/pair", "/api/channels/phonemsg/pair"];
    /** Asks both until the pairing stands as it should. */
    const stands = async (how: object) => {
      await expect.poll(() => ask("GET", own), { timeout: 60_000 }).toMatchObject(how);
      return people("GET", page);
    };
    expect(await stands({ state: "unpaired" })).toMatchObject({ reason: expect.any(String) });
    await ask("DELETE", own);
    await ask("POST", "/phonemsg/ingest", {});
    await ask("POST", own, { number: "0170 1234567" });
    await ask("POST", own, {});
    expect(await stands({ state: "pairing", qr: expect.any(String) })).toMatchObject({ picture: expect.any(Array) });
    await far.scan(String((await ask("GET", own))["qr"]));
    expect(await stands({ state: "open" })).toMatchObject({ number: `+${far.own.number}` });
    await people("POST", page, {});
    await far.sync([{ person: friend, name: "Frieda Garden" }], [group]);
    await far.say({ from: friend, text: "hello" });
    await far.say({ from: friend, group, text: "hello all" });
    await expect.poll(async () => ((await ask("GET", "/phonemsg/chats"))["chats"] as object[]).length, { timeout: 60_000 }).toBe(2);
    await expect.poll(async () => ((await ask("GET", "/phonemsg/contacts"))["contacts"] as object[]).length, { timeout: 60_000 }).toBe(1);
    expect(await ask("POST", "/phonemsg/ingest", { dryRun: true })).toMatchObject({ dryRun: true });
    expect(await ask("POST", "/phonemsg/ingest", { force: true })).toMatchObject({
      written: expect.any(Number),
      entries: expect.arrayContaining([expect.any(String)]),
    });
    await ask("POST", "/phonemsg/ingest", { strange: 1 });
    await ask("DELETE", own);
    await stands({ state: "unpaired" });
    await people("POST", page, { number: `+${far.own.number}` });
    await far.typeCode(String((await stands({ state: "pairing", code: expect.any(String) }))["code"]));
    await stands({ state: "open" });
    await people("DELETE", page);
    expect(asking.wrong).toEqual([]);
    expect(asking.unasked()).toEqual([]);
  });
});
