import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { choiceData, type GuardedFetch, type Lifecycle, type Outgoing, type Sockets } from "@svc/sdk";
import { createFakeContext, createMemoryStore } from "@svc/sdk/testing";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { createFetch } from "../../kernel/capabilities/fetch/fetch.ts";
import { createSockets } from "../../kernel/capabilities/fetch/sockets.ts";
import plugin from "../../plugins/channels/guildchat/index.ts";
import type { Settings } from "../../plugins/channels/guildchat/settings.ts";
import { type GuildFarEnd, startGuildFarEnd, tooMany } from "../kit/guildchat/server.ts";

/** What a schema says of a value: nothing, or what is wrong where. A field that it does not know is missing in `data`. */
interface Schema {
  safeParse(value: unknown): { readonly success: boolean; readonly data?: unknown; readonly error?: { readonly issues: readonly object[] } };
}
type Schemas = Readonly<Record<string, Schema>>;

const entry = join(import.meta.dirname, "node_modules/discord-api-spec/build/discord-api-spec.zod.js");
const skipped = !existsSync(entry);
if (skipped) console.warn(`skipped: ${entry} is missing; run \`npm run test:peers\` where the registry can be reached`);

/** A call of the platform's own description: its path, the schema of what is sent, and the schemas one of which the answer has. */
type Route = readonly [method: string, path: RegExp, request: string | undefined, ...answers: string[]];
const PLACES = ["GuildChannelResponse", "ThreadResponse", "PrivateChannelResponse"];
const ROUTES: readonly Route[] = [
  ["GET", /^\/gateway\/bot$/, undefined, "GatewayBotResponse"],
  ["GET", /^\/users\/@me$/, undefined, "UserPIIResponse"],
  ["GET", /^\/applications\/@me$/, undefined, "PrivateApplicationResponse"],
  ["GET", /^\/users\/@me\/guilds$/, undefined, "[MyGuildResponse"],
  ["POST", /^\/users\/@me\/channels$/, "CreatePrivateChannelRequest", "PrivateChannelResponse"],
  ["GET", /^\/channels\/\d+$/, undefined, ...PLACES],
  ["GET", /^\/channels\/\d+\/messages$/, undefined, "[MessageResponse"],
  ["GET", /^\/channels\/\d+\/messages\/\d+$/, undefined, "MessageResponse"],
  ["POST", /^\/channels\/\d+\/messages$/, "MessageCreateRequest", "MessageResponse"],
  ["PATCH", /^\/channels\/\d+\/messages\/\d+$/, "MessageEditRequestPartial", "MessageResponse"],
  ["DELETE", /^\/channels\/\d+\/messages\/\d+$/, undefined],
  ["PUT", /^\/channels\/\d+\/messages\/\d+\/reactions\/[^/]+\/@me$/, undefined],
  ["POST", /^\/channels\/\d+\/typing$/, undefined],
  ["POST", /^\/applications\/\d+\/commands$/, "ApplicationCommandCreateRequest", "ApplicationCommandResponse"],
  ["POST", /^\/interactions\/\d+\/[\w-]+\/callback$/, "callback"],
];
/** Events whose data is an object of the description as well. */
const EVENTS: Readonly<Record<string, string>> = { MESSAGE_CREATE: "MessageResponse", MESSAGE_UPDATE: "MessageResponse", THREAD_CREATE: "ThreadResponse" };

describe.skipIf(skipped)("every body between guildchat and its far end, judged by the platform's own description", () => {
  let schemas: Schemas;
  let far: GuildFarEnd;
  let ends: AbortController;
  let lifecycle: Lifecycle<Settings>;
  let context: ReturnType<typeof createFakeContext<Settings>>;
  const found: string[] = [];
  const judged = new Map<string, number>();

  beforeAll(async () => {
    schemas = (await import(entry)) as Schemas;
  });

  /** The description's text of a time knows no offset; the platform writes `+00:00`. */
  const timely = (value: unknown): unknown =>
    JSON.parse(JSON.stringify(value), (_key, one) =>
      typeof one === "string" && /^\d{4}-\d\d-\d\dT[\d:.]+\+00:00$/.test(one) ? one.replace("+00:00", "Z") : one,
    );

  function judge(what: string, names: readonly string[], value: unknown, exact: boolean): void {
    judged.set(what, (judged.get(what) ?? 0) + 1);
    const problems: unknown[] = [];
    for (const name of names) {
      const list = name.startsWith("[");
      const schema = schemas[`${name.replace("[", "")}Schema`];
      if (schema === undefined) throw new Error(`the description has no ${name}`);
      const values = list ? (Array.isArray(value) ? value : [{ "not a list": value }]) : [value];
      const results = values.map((one) => ({ given: timely(one), ...schema.safeParse(timely(one)) }));
      const bad = results.flatMap(({ success, error, given, data }): unknown[] =>
        success ? (exact && JSON.stringify(sorted(given)) !== JSON.stringify(sorted(data)) ? [{ unknown: given, known: data }] : []) : [error?.issues],
      );
      if (bad.length === 0) return;
      problems.push(name, bad[0]);
    }
    found.push(`${what}: ${JSON.stringify(problems).slice(0, 900)}`);
  }

  const fetching =
    (real: GuardedFetch): GuardedFetch =>
    async (url, init = {}) => {
      const answer = await real(url, init);
      if (!url.startsWith(far.root)) return answer;
      const path = new URL(url).pathname.replace(/^\/api\/v10/, "");
      const { method = "GET" } = init;
      const route = ROUTES.find(([one, pattern]) => one === method && pattern.test(path));
      if (route === undefined) {
        found.push(`${method} ${path} is no call of this list`);
        return answer;
      }
      const [, pattern, request, ...answers] = route;
      const what = `${method} ${pattern.source}`;
      const sent = bodyOf(init.body);
      // The answer to a button that shows nothing stands in the platform's documents only.
      if (request === "callback" && (sent as { type?: number }).type === 6) expect(sent).toEqual({ type: 6 });
      else if (request === "callback") judge(`${what} sent`, ["CreateMessageInteractionCallbackRequest"], sent, true);
      else if (request !== undefined) judge(`${what} sent`, [request], sent, true);
      else if (sent !== undefined) found.push(`${what} takes no body`);
      const text = answer.text();
      if (answer.status === 204) expect(text).toBe("");
      else if (answer.status === 429) judge("429", ["RatelimitedResponse"], JSON.parse(text), false);
      else if (answer.status >= 400) judge("refusals", ["ErrorResponse"], JSON.parse(text, namedCode), false);
      else judge(`${what} answered`, answers, JSON.parse(text), false);
      return answer;
    };
  const listening = (real: Sockets): Sockets => ({
    connect: real.connect,
    async webSocket(url, init) {
      const connection = await real.webSocket(url, init);
      async function* messages() {
        for await (const data of connection.messages) {
          const { op, t, d } = JSON.parse(String(data));
          if (op === 0 && EVENTS[t] !== undefined) judge(`event ${t}`, [EVENTS[t] as string], d, false);
          yield data;
        }
      }
      return { ...connection, protocol: connection.protocol, closed: connection.closed, messages: messages() };
    },
  });

  beforeEach(async () => {
    found.length = 0;
    judged.clear();
    far = await startGuildFarEnd();
    ends = new AbortController();
  });
  afterEach(async () => {
    await lifecycle.stop?.();
    context.end();
    ends.abort();
    await far.close();
  });

  async function start(): Promise<void> {
    context = createFakeContext<Settings>(plugin as never, {
      config: { enabled: true, apiRoot: far.root, token: far.token, agentBinding: "anna", allowFrom: [far.owner.id] },
      agents: [{ id: "anna" }],
      fetch: fetching(createFetch()),
      sockets: listening(createSockets({ plugin: "channel-guildchat", signal: ends.signal })),
      store: createMemoryStore(),
    });
    lifecycle = plugin.setup(context) as Lifecycle<Settings>;
    await lifecycle.start?.();
    await vi.waitFor(() => expect(context.registered.channels[0]?.state).toBe("ready"), { timeout: 12_000 });
  }

  it("is as described: what we send to the letter, what our far end answers in every field that must be there", async () => {
    const { place } = far.addGuild("The Garden");
    const thread = far.addThread(place, "one");
    const direct = far.world.direct(far.bot.id, far.owner.id);
    await start();
    const channel = context.registered.channels[0]!.channel;
    const signal = new AbortController().signal;
    const target = { channel: "guildchat", chat: place.id };
    const out = (text: string, more: Partial<Outgoing> = {}): Outgoing => ({ target, text, plain: `plain ${text}`, key: randomUUID(), ...more });
    const said = [
      far.say({ place: place.id, from: far.owner.id, text: `<@${far.bot.id}> one`, files: [{ name: "a.png", type: "image/png", data: new Uint8Array(9) }] }),
      far.say({ place: thread.id, from: far.owner.id, text: `<@${far.bot.id}> two` }),
      far.say({ place: direct.id, from: far.owner.id, text: "three" }),
    ];
    await vi.waitFor(() => expect(context.tasks.accepted).toHaveLength(3), { timeout: 12_000 });
    const choices = Array.from({ length: 8 }, (_, n) => ({ id: `c${n}`, label: `Choice ${n}`, data: choiceData(`out_${randomUUID()}`, `c${n}`) }));
    const fences = "**Tea?**\n\n```buttons\n[Yes] [No](https://example.org/)\n```\n\n```poll\nCups?\n- one\n- two\n```";
    const { platformId = "" } = await channel.send(out(fences, { choices, target: { ...target, replyTo: said[0]!.id } }), signal);
    await channel.edit?.(platformId, out("other **words**"), signal);
    await channel.edit?.(platformId, out(fences, { choices }), signal);
    await channel.react?.(target, platformId, "👀", signal);
    await channel.typing?.(target, signal);
    const picture = await channel.send(out("", { media: [{ kind: "image", name: 'a "b".png', type: "image/png", data: new Uint8Array(300) }] }), signal);
    await channel.send(out("x", { target: { channel: "guildchat", chat: place.id, thread: thread.id, replyTo: "135000000000000999" } }), signal);
    await channel.remove?.(target, picture.platformId as string, signal);
    const press = far.press({ message: platformId, data: "say:0", from: far.owner.id });
    const foreign = far.press({ message: platformId, data: choices[0]!.data, from: far.world.addUser("mallory").id });
    const asked = far.ask({ place: place.id, from: far.owner.id, text: "what now?" });
    await vi.waitFor(() => expect([press.deferred, foreign.shown.length, asked.shown.length]).toEqual([true, 1, 1]), { timeout: 12_000 });
    far.gateway.invalidate(false);
    far.say({ place: place.id, from: far.owner.id, text: `<@${far.bot.id}> four`, replyTo: platformId, silent: true });
    await vi.waitFor(() => expect(context.tasks.accepted.map(({ text }) => text)).toContain("four"), { timeout: 20_000 });
    far.fileMs = -1;
    const old = far.say({ place: place.id, from: far.owner.id, text: `<@${far.bot.id}> five`, files: [{ name: "b.txt", data: new Uint8Array(4) }] });
    await vi.waitFor(() => expect(context.tasks.accepted.map(({ text }) => text)).toContain("five"), { timeout: 12_000 });
    far.fileMs = 60_000;
    const [media] = context.tasks.accepted.find(({ platformId: id }) => id === old.id)?.media ?? [];
    expect((await channel.fetchMedia?.(media as never, signal))?.data).toHaveLength(4);
    // Refusals in the platform's words.
    await expect(channel.send(out("x".repeat(2_001)), signal)).rejects.toMatchObject({ failure: "format" });
    await expect(channel.edit?.("135000000000000998", out("x"), signal)).rejects.toMatchObject({ failure: "permanent" });
    far.fault = ({ method }) => (method === "PUT" ? tooMany(0.1) : undefined);
    await expect(channel.react?.(target, platformId, "👀", signal)).rejects.toMatchObject({ failure: "retry" });
    await channel.test?.(signal);
    // A thread that nobody has told of is asked for.
    const quiet = far.world.addPlace({ type: 11, name: "quiet", parent: place.id, guild: place.guild as string });
    far.say({ place: quiet.id, from: far.owner.id, text: `<@${far.bot.id}> six` });
    await vi.waitFor(() => expect(context.tasks.accepted.map(({ text }) => text)).toContain("six"), { timeout: 12_000 });
    // What the connect dialogue asks for.
    const headers = { authorization: `Bot ${far.token}`, "user-agent": "DiscordBot (https://example.org, 1)" };
    await fetching(createFetch())(`${far.root}/v10/applications/@me`, { headers, trustedOrigins: [far.origin] });
    expect(found).toEqual([]);
    const covered = ROUTES.filter(([, , request, ...answers]) => request !== undefined || answers.length > 0);
    const missing = covered.filter(([method, { source }]) => ![...judged.keys()].some((one) => one.startsWith(`${method} ${source} `)));
    expect(missing.map(([method, { source }]) => `${method} ${source}`)).toEqual([]);
    expect([...judged.keys()]).toEqual(expect.arrayContaining(["event MESSAGE_CREATE", "event MESSAGE_UPDATE", "429", "refusals"]));
  });

  it("a body that is not as described is found", async () => {
    judge("a", ["MessageCreateRequest"], { content: "x", allowed_mentions: { parse: ["nobody"] } }, true);
    judge("b", ["MessageCreateRequest"], { content: "x", colour: "red" }, true);
    judge("c", ["MessageResponse"], { id: "1" }, false);
    judge("d", ["[MessageResponse"], {}, false);
    expect(found.map((one) => one[0])).toEqual(["a", "b", "c", "d"]);
    lifecycle = {};
    context = createFakeContext<Settings>(plugin as never, { config: { enabled: true } });
  });
});

/** Keys in one order: schemas hand them back in theirs. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([key, one]) => [key, sorted(one)]),
  );
}

/** The JSON of a body, also where it comes beside a file. */
function bodyOf(body: string | Uint8Array | undefined): unknown {
  if (body === undefined) return undefined;
  if (typeof body === "string") return JSON.parse(body);
  return JSON.parse(/name="payload_json"\r\n[^\r]*\r\n\r\n(.*?)\r\n--/s.exec(Buffer.from(body).toString("latin1"))?.[1] ?? "null");
}

/** What is wrong with a field has a name for its code, where the description has a number. */
const namedCode = (key: string, value: unknown): unknown => (key === "code" && typeof value === "string" && /^[A-Z_]+$/.test(value) ? 0 : value);
