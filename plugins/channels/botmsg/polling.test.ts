import { createMemoryStore } from "@svc/sdk/testing";
import { describe, expect, it } from "vitest";
import { startBotApi } from "./bot-api.harness.ts";
import { GROUP, type Stage, setStage, TOKEN, until } from "./botmsg.harness.ts";
import { ADA, channelOf, heard, out, send, stage, texts } from "./stages.harness.ts";

describe("polling", () => {
  it("CHAN-02 pollInbound: false never asks for messages, and sends", async () => {
    const one = await stage({ accounts: { main: { pollInbound: false } } });
    one.api.say(TOKEN, { chat: ADA, text: "for the other node" });
    await send(one, out("from here"));
    expect(one.api.polls(TOKEN)).toBe(0);
    expect(one.api.calls.map(({ method }) => method)).toEqual(["getMe", "sendMessage"]);
    expect(one.api.unconfirmed(TOKEN)).toBe(1);
  });

  it("confirms to the platform only what was kept, also at the stop", async () => {
    const one = await setStage({ keepApi: true });
    await one.start();
    one.api.say(TOKEN, { chat: ADA, text: "kept" });
    await until(() => texts(one).length === 1);
    Object.assign(one.context.tasks, { accept: () => Promise.reject(new Error("disk full")) });
    one.api.say(TOKEN, { chat: ADA, text: "not kept" });
    await until(() => one.context.logged.some(({ text }) => text?.includes("not acknowledged")));
    await one.stop();
    expect(one.api.unconfirmed(TOKEN)).toBe(1);
    await one.api.close();
  });

  it("FAULT-36 an update handed out twice is one task, also by another process with the same store", async () => {
    const store = createMemoryStore();
    const one = await setStage({ store, keepApi: true });
    await one.start();
    one.api.say(TOKEN, { chat: ADA, text: "once" });
    await until(() => texts(one).length === 1);
    one.api.repeat(TOKEN);
    one.api.say(TOKEN, { chat: ADA, text: "then" });
    await until(() => texts(one).length === 2);
    expect(texts(one)).toEqual(["once", "then"]);
    const keysBefore = one.context.tasks.accepted.map(({ dedupKey }) => dedupKey);
    await one.stop();
    const two = await stage({ store, api: one.api });
    two.api.repeat(TOKEN);
    await until(() => two.context.tasks.accepted.length === 1);
    expect(two.context.tasks.accepted[0]?.dedupKey).toBe(keysBefore[1]);
  });

  it("FAULT-36 an update handed out once more while nothing else waits is confirmed, and not asked for in a loop", async () => {
    const one = await stage();
    one.api.say(TOKEN, { chat: ADA, text: "once" });
    await until(() => texts(one).length === 1);
    // Nothing is outstanding any more.
    one.api.idle(TOKEN);
    await until(() => one.api.waits(TOKEN));
    one.api.unconfirm(TOKEN);
    const before = one.api.polls(TOKEN);
    await until(() => one.api.unconfirmed(TOKEN) === 0 || one.api.polls(TOKEN) - before > 20);
    expect(one.api.polls(TOKEN) - before).toBeLessThan(5);
    expect(texts(one)).toEqual(["once"]);
  });

  it("FAULT-37 two pollers on one token: the event names the conflict once, nobody loops tightly, and sending goes on", async () => {
    const api = await startBotApi();
    const one = await setStage({ api, keepApi: true });
    const two = await setStage({ api, keepApi: true });
    await one.start();
    await two.start();
    const conflicts = () => [one, two].flatMap(({ context }) => context.events.published.filter(({ data }) => data?.state === "channel-conflict"));
    await until(() => conflicts().length > 0);
    const before = api.polls(TOKEN);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(api.polls(TOKEN) - before).toBeLessThan(12);
    expect(conflicts()[0]).toMatchObject({ kind: "status", summary: expect.stringContaining("account main"), data: { channel: "botmsg", account: "main" } });
    for (const { context } of [one, two])
      expect(context.events.published.filter(({ data }) => data?.state === "channel-conflict").length).toBeLessThanOrEqual(1);
    await send(one, out("still here"));
    expect(api.shown.at(-1)?.text).toBe("still here");
    await one.stop();
    api.say(TOKEN, { chat: ADA, text: "who stays?" });
    await until(() => texts(two).length === 1);
    await two.stop();
    await api.close();
  });

  it("FAULT-32 a platform that throttles and names no time to wait is not asked in a loop", async () => {
    for (const retry_after of [0, -3, "soon", undefined]) {
      const one = await stage();
      one.api.pollFault = { code: 429, description: "Too Many Requests", parameters: { retry_after } };
      one.api.idle(TOKEN);
      await until(() => one.api.polls(TOKEN) > 1);
      const before = one.api.polls(TOKEN);
      await new Promise((resolve) => setTimeout(resolve, 300));
      expect(one.api.polls(TOKEN) - before).toBeLessThan(3);
    }
  });

  it("two accounts with one token do not poll against each other", async () => {
    const one = await stage({ accounts: { main: {}, twin: {} } });
    expect(one.context.logged.filter(({ level, text }) => level === "error" && text?.includes("same token"))).toHaveLength(1);
    expect(one.api.calls.filter(({ method }) => method === "getMe")).toHaveLength(1);
  });

  it("several accounts run side by side, and a refused token takes none of the others down", async () => {
    const api = await startBotApi();
    api.addBot("77:second", 77, "second_bot");
    const one = await stage({
      api,
      accounts: { main: {}, second: { token: "77:second", agentBinding: "ben" }, broken: { token: "1:revoked", agentBinding: "cleo" } },
    });
    await until(() => one.context.logged.some(({ text }) => text?.includes("channels.botmsg.accounts.broken.token")));
    expect(one.context.registered.channels[0]?.state).toBe("ready");
    api.say(TOKEN, { chat: GROUP, text: "@helper_bot one" });
    api.say("77:second", { chat: GROUP, text: "@second_bot two" });
    await heard(one, 2);
    expect(one.context.tasks.accepted.map(({ account, agent }) => [account, agent]).sort()).toEqual([
      ["main", "anna"],
      ["second", "ben"],
    ]);
    await send(one, out("from the second", { target: { channel: "botmsg", account: "second", chat: String(ADA) } }));
    expect(api.shown.at(-1)?.from).toBe("second_bot");
    await expect(send(one, out("x", { target: { channel: "botmsg", account: "broken", chat: "1" } }))).rejects.toMatchObject({ failure: "retry" });
    await expect(send(one, out("x", { target: { channel: "botmsg", account: "nobody", chat: "1" } }))).rejects.toMatchObject({ failure: "permanent" });
  });

  it("asked who it is, it names every account that does not work, also beside one that does", async () => {
    const ask = async (one: Stage) => channelOf(one).test?.(new AbortController().signal);
    const api = await startBotApi();
    api.addBot("77:second", 77, "second_bot");
    const good = { main: {}, second: { token: "77:second", agentBinding: "ben" } };
    expect(await ask(await stage({ api, accounts: good, keepApi: true }))).toBe("main: @helper_bot, second: @second_bot");
    const one = await stage({ api, accounts: { ...good, broken: { token: "1:revoked" }, twin: {}, empty: { token: "" } } });
    const refused = (await ask(one).catch((error) => error)) as Error & { failure: string };
    expect(refused.failure).toBe("permanent");
    expect(refused.message.split("; ")).toEqual([
      "broken: the platform refuses the token of account broken",
      "check channels.botmsg.accounts.broken.token",
      "twin: it has the same token as main",
      "empty: its token is empty",
      "main: @helper_bot",
      "second: @second_bot",
    ]);
    // The kernel asks once, within its limit: an account that cannot be reached is named too.
    await api.close();
    await expect(ask(one)).rejects.toThrow(/main: the platform was not reached: .*second: the platform was not reached/s);
  });

  it("a channel without a usable account is down and says why, without the token", async () => {
    const one = await stage({ accounts: { main: { token: "1:revoked" } } });
    const [channel] = one.context.registered.channels;
    expect(channel?.state).toBe("down");
    expect(channel?.reason).toContain("channels.botmsg.accounts.main.token");
    expect(channel?.reason).not.toContain("revoked");
  });
});
