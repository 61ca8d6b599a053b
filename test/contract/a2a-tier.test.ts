import type { Tier, TierEvent } from "@svc/sdk";
import { createFakeContext, tierContract } from "@svc/sdk/testing";
import { afterEach, describe, expect, it } from "vitest";
import { createFetch } from "../../kernel/capabilities/fetch/fetch.ts";
import plugin from "../../plugins/tiers/a2a/index.ts";
import { type ServerOptions, startServer } from "../kit/a2a-server.ts";

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) await server.close();
});

async function stage(options: ServerOptions = {}, env: Record<string, string> = {}, more: object = {}) {
  const server = await startServer(options);
  open.push(server);
  const context = createFakeContext(plugin, { fetch: createFetch() as never, env });
  plugin.setup(context as never);
  const tier = context.registered.tiers[0] as Tier;
  const agent = { id: "partner", settings: { a2a: { url: server.url, ...more } } };
  const ask = async (prompt: string, session?: string, signal = new AbortController().signal) => {
    const events: TierEvent[] = [];
    const turn = { id: "task_1", agent, attempt: 1, messages: [{}] } as never;
    const given = { system: "", layers: [], prompt, media: [], history: [], ...(session === undefined ? {} : { session }) };
    for await (const event of tier.run(turn, given, signal)) events.push(event);
    return events;
  };
  return { server, tier, ask, agent };
}

tierContract(
  { describe, it },
  async () => {
    const { server, tier, agent } = await stage();
    return {
      tier,
      agent: agent as never,
      works: { prompt: "say one two three", answer: "one two three" },
      other: { prompt: "say four five six", answer: "four five six" },
      fails: "fail",
      endless: "endless",
      silent: ["silent"],
      toolless: true,
      idle: () => server.heard() === 0,
    };
  },
  { lacks: ["tokens", "tokens of a cancelled run"] },
);

describe.each(["0.1", "0.3", "1.0"] as const)("tier a2a on a server of generation %s", (version) => {
  it("streams the answer and names the session, which the next turn goes on with", async () => {
    const { ask, server } = await stage({ version });
    const events = await ask("say one two three");
    expect(events.filter(({ type }) => type === "text")).toHaveLength(3);
    expect(events.at(-1)).toEqual({ type: "done", text: "one two three" });
    const session = events.find((event) => event.type === "session")?.id as string;
    const again = await ask("say more", session);
    expect(again.find((event) => event.type === "session")).toEqual({ type: "session", id: session });
    expect(server.seen.messages).toEqual(["say one two three", "say more"]);
  });

  it("goes on behind the last event when the stream is cut, without a loss and without sending twice", async () => {
    const { ask, server } = await stage({ version, cutAfter: 2 });
    expect((await ask("say one two three four five")).at(-1)).toEqual({ type: "done", text: "one two three four five" });
    expect(server.seen.messages).toHaveLength(1);
    expect(server.seen.streams).toBeGreaterThan(2);
  });

  it("asks without a stream where the server has none", async () => {
    const { ask } = await stage({ version, streaming: false });
    expect((await ask("say all at once")).at(-1)).toEqual({ type: "done", text: "all at once" });
  });

  it("cancels there what is canceled here", async () => {
    const { ask, server } = await stage({ version });
    const abort = new AbortController();
    const running = ask("endless", undefined, abort.signal);
    // It has told its first event.
    await expect.poll(() => server.heard()).toBe(1);
    await expect.poll(() => server.told()).toBeGreaterThan(0);
    await new Promise((resolve) => setTimeout(resolve, 100));
    abort.abort(new Error("stop"));
    expect((await running).some(({ type }) => type === "done")).toBe(false);
    expect(server.seen.canceled).toBe(1);
  });

  it("a failed task is an error with the server's words, and a question back is the answer", async () => {
    const { ask } = await stage({ version });
    expect((await ask("fail")).at(-1)).toMatchObject({ type: "error", kind: "engine", message: "as asked" });
    expect((await ask("ask")).at(-1)).toEqual({ type: "done", text: "which one?" });
  });
});

it("the tier a2a goes on however often the stream is cut, while something comes each time", async () => {
  const { ask, server } = await stage({ cutAfter: 2 });
  const words = "one two three four five six seven eight nine ten eleven twelve";
  expect((await ask(`say ${words}`)).at(-1)).toEqual({ type: "done", text: words });
  expect(server.seen.streams).toBeGreaterThan(6);
}, 20_000);

describe("whom the tier a2a trusts", () => {
  it("the bearer comes from the environment and goes to the server alone", async () => {
    const { ask, server } = await stage({ token: "s3cret" }, { PARTNER_TOKEN: "s3cret" }, { tokenEnv: "PARTNER_TOKEN" });
    expect((await ask("say hi")).at(-1)).toEqual({ type: "done", text: "hi" });
    expect(server.seen.authorization).toEqual(["Bearer s3cret"]);
  });

  it("a missing variable and a wrong bearer are told as what they are", async () => {
    const missing = await stage({ token: "s3cret" }, {}, { tokenEnv: "PARTNER_TOKEN" });
    expect(await missing.ask("say hi")).toEqual([{ type: "error", kind: "no-key", message: expect.stringContaining("PARTNER_TOKEN is not set") }]);
    expect(missing.server.seen.asked).toEqual([]);
    const wrong = await stage({ token: "s3cret" }, { PARTNER_TOKEN: "another" }, { tokenEnv: "PARTNER_TOKEN" });
    const events = await wrong.ask("say hi");
    expect(events).toMatchObject([{ type: "error", kind: "auth" }]);
    expect(JSON.stringify(events)).not.toContain("another");
  });

  it("a card that wants calls on another host is refused before the bearer goes there, unless the operator names it", async () => {
    const other = await startServer();
    open.push(other);
    const { ask } = await stage({ elsewhere: `${other.url}/rpc` }, { PARTNER_TOKEN: "s3cret" }, { tokenEnv: "PARTNER_TOKEN" });
    expect((await ask("say hi")).at(-1)).toMatchObject({ type: "error", kind: "request", message: expect.stringContaining("a2a.endpoint") });
    expect(other.seen.asked).toEqual([]);
    const named = await stage({ elsewhere: `${other.url}/rpc` }, {}, { endpoint: `${other.url}/rpc` });
    expect((await named.ask("say hi")).at(-1)).toEqual({ type: "done", text: "hi" });
  });

  it("a server that is not there is an error and no exception; the probe says how it is", async () => {
    const gone = await stage();
    await gone.server.close();
    expect((await gone.ask("say hi")).at(-1)).toMatchObject({ type: "error", kind: "network" });
    expect(await gone.tier.probe?.(gone.agent as never)).toMatchObject({ ok: false });
    const here = await stage();
    expect(await here.tier.probe?.(here.agent as never)).toMatchObject({ ok: true, detail: expect.stringContaining("streams") });
  });
});
