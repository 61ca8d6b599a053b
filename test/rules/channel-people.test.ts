import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type BotApi, FRIEND, startBotApi } from "../../plugins/channels/botmsg/bot-api.harness.ts";
import { echoAgent, startDashboard } from "../ui/kit/dashboard.ts";

const BOT = "4242:canary-token-of-the-bot";
const OWNER = "the-token-of-the-owner";
const PEOPLE = "/api/channels/botmsg/people";

describe("people who wait to be confirmed, over the dashboard's own routes", { timeout: 120_000 }, () => {
  let far: BotApi;
  beforeAll(async () => {
    far = await startBotApi();
    far.addBot(BOT, 42, "helper_bot");
    far.addChat(FRIEND.id);
  });
  afterAll(() => far.close());

  const start = () =>
    startDashboard({
      token: OWNER,
      config: {
        agents: { echo: echoAgent() },
        channels: {
          botmsg: { enabled: true, apiRoot: far.root, accounts: { main: { token: BOT, agentBinding: "echo" } }, policy: { allowFrom: [String(FRIEND.id)] } },
        },
      },
    });
  /** The code that the person was given after `already` messages. */
  const codeOf = async (already: number): Promise<string> => {
    const given = () => far.shown.slice(already).flatMap(({ text }) => /svc channel pair (\w{8})/.exec(text)?.[1] ?? []);
    await expect.poll(() => given().length, { timeout: 60_000 }).toBe(1);
    return given()[0] as string;
  };

  it("CHAN-02 AUTH-09 the owner sees who waits and confirms; no reader, stranger or foreign page does, and nothing hostile is taken", async () => {
    const at = await start();
    const before = far.shown.length;
    far.say(BOT, { chat: FRIEND.id, from: FRIEND, text: "hello?" });
    const code = await codeOf(before);
    const ask = async (method: string, headers: Record<string, string>, body?: string) => {
      const sent = { "x-requested-with": "svc-board", ...headers, ...(body === undefined ? {} : { "content-type": "application/json" }) };
      const answer = await fetch(at.url + PEOPLE, { method, headers: sent, ...(body === undefined ? {} : { body }) });
      const text = await answer.text();
      expect(text).not.toContain(code);
      return { status: answer.status, text };
    };
    const owner = { authorization: `Bearer ${OWNER}` };
    const right = JSON.stringify({ code });
    const { secret } = await at.api<{ secret: string }>("POST", "/api/admin/tokens", { name: "reader", scopes: ["dashboard:read"] });
    const strangers: readonly [why: string, headers: Record<string, string>, status: number][] = [
      ["no token", {}, 401],
      ["a wrong token", { authorization: "Bearer nonsense" }, 401],
      ["a token that may only read", { authorization: `Bearer ${secret}` }, 403],
      ["a page of another origin", { ...owner, origin: "http://evil.example" }, 403],
    ];
    for (const [why, headers, status] of strangers) {
      expect([why, (await ask("GET", headers)).status]).toEqual([why, status]);
      expect([why, (await ask("POST", headers, right)).status]).toEqual([why, status]);
    }
    const hostile: readonly [body: string, status: number][] = [
      ["", 400],
      ["{", 400],
      ["[]", 400],
      ["{}", 400],
      ['{"code":""}', 400],
      [`{"code":"${"A".repeat(65)}"}`, 400],
      ['{"code":7}', 400],
      ['{"code":["A"]}', 400],
      ['{"code":{"$ne":""}}', 400],
      [`{"code":"${code}","account":"other"}`, 400],
      ['{"code":"\\u0000%2e%2e/paired"}', 404],
    ];
    for (const [body, status] of hostile) expect([body, (await ask("POST", owner, body)).status]).toEqual([body, status]);

    const listed = await ask("GET", owner);
    expect(JSON.parse(listed.text)).toEqual({
      waiting: [{ account: "main", sender: String(FRIEND.id), name: "Ada Byron", chat: String(FRIEND.id), at: expect.stringMatching(/^20/) }],
    });
    const { text } = await ask("POST", owner, JSON.stringify({ code: ` ${code.toLowerCase()} ` }));
    expect(JSON.parse(text)).toMatchObject({ account: "main", sender: String(FRIEND.id), name: "Ada Byron" });
    expect(JSON.parse((await ask("GET", owner)).text)).toEqual({ waiting: [] });
    // A code counts once.
    expect(await ask("POST", owner, right)).toMatchObject({ status: 404, text: expect.stringContaining("SVC_BOTMSG_PAIR_CODE") });
    expect(at.process.said()).not.toContain(code);
    await at.stop();
  });

  it("CHAN-02 wrong codes are counted on disk: six before a restart and four after it close the door, here and on the command line", async () => {
    const at = await start();
    const before = far.shown.length;
    far.say(BOT, { chat: FRIEND.id, from: FRIEND, text: "hello again?" });
    const code = await codeOf(before);
    const wrong = () => at.api("POST", PEOPLE, { code: "WRONGONE" });
    for (let n = 0; n < 6; n += 1) await expect(wrong()).rejects.toThrow("404");
    await at.process.kill("SIGKILL");
    await at.restart();
    for (let n = 0; n < 4; n += 1) await expect(wrong()).rejects.toThrow("404");
    await expect(at.api("POST", PEOPLE, { code })).rejects.toThrow(/429 .*SVC_BOTMSG_PAIR_LIMIT/);
    const local = await fetch(`${at.daemon}/channels/botmsg/pair`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ code }),
    });
    expect(local.status).toBe(429);
    expect(await at.api("GET", PEOPLE)).toMatchObject({ waiting: [{ name: "Ada Byron" }] });
  });
});
