import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Lifecycle, Outgoing } from "@svc/sdk";
import { createFakeContext } from "@svc/sdk/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createRender } from "../../kernel/capabilities/render/render.ts";
import plugin from "../../plugins/channels/botmsg/index.ts";
import type { Settings } from "../../plugins/channels/botmsg/settings.ts";
import { temporaryFolder } from "../kit/kernel.ts";

/** A bot API server that others wrote: a second opinion beside our own. */
interface Server {
  readonly manifest: { readonly adminToken: string; readonly endpoints: { readonly adminInboundUrl: string; readonly apiRoot: string } };
  close(): Promise<void>;
}
interface Recorded {
  readonly type: string;
  readonly path: string;
  readonly body?: Record<string, unknown>;
}

const TOKEN = "4242:crabline";
const entry = join(import.meta.dirname, "node_modules/@openclaw/crabline/dist/src/index.js");
const skipped = !existsSync(entry);
if (skipped) console.warn(`skipped: ${entry} is missing; run \`npm run test:peers\` where the registry can be reached`);

describe.skipIf(skipped)("botmsg on the server of @openclaw/crabline", () => {
  const recorded: Recorded[] = [];
  let server: Server;
  let lifecycle: Lifecycle<Settings>;
  let context: ReturnType<typeof createFakeContext<Settings>>;
  const methods = () => recorded.filter(({ type }) => type === "api").map(({ path }) => path.split("/").at(-1)?.toLowerCase());
  const bodies = (method: string) => recorded.filter(({ type, path }) => type === "api" && path.toLowerCase().endsWith(`/${method}`)).map(({ body }) => body);

  beforeEach(async () => {
    recorded.length = 0;
    const { startTelegramServer } = (await import(entry)) as { startTelegramServer(options: object): Promise<Server> };
    server = await startTelegramServer({
      botToken: TOKEN,
      botId: 4242,
      botUsername: "helper_bot",
      recorderPath: join(await temporaryFolder(), "calls.jsonl"),
      onEvent: (event: Recorded) => void recorded.push(event),
    });
    const apiRoot = server.manifest.endpoints.apiRoot.replace(/\/bot[^/]*$/, "");
    context = createFakeContext<Settings>(plugin as never, {
      config: { enabled: true, apiRoot, accounts: { main: { token: TOKEN, agentBinding: "anna" } }, policy: { group: "mention-required", allowFrom: ["700"] } },
      agents: [{ id: "anna" }],
      render: createRender(),
    });
    await context.store.collection("paired").put("main/700", { at: 1 });
    lifecycle = plugin.setup(context) as Lifecycle<Settings>;
    await lifecycle.start?.();
    await until(() => context.registered.channels[0]?.state === "ready");
  });
  afterEach(async () => {
    await lifecycle.stop?.();
    await server.close();
  });

  const say = async (body: object) => {
    const answer = await fetch(server.manifest.endpoints.adminInboundUrl, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        authorization: `Bearer ${server.manifest.adminToken}`,
        "x-crabline-admin-token": server.manifest.adminToken,
      },
      body: JSON.stringify(body),
    });
    expect(answer.status, await answer.text()).toBe(200);
  };
  const channel = () => context.registered.channels[0]!.channel;
  const out = (text: string, more: Partial<Outgoing> = {}): Outgoing => ({
    target: { channel: "botmsg", account: "main", chat: "700" },
    text,
    plain: createRender().to("plain", text),
    key: text,
    ...more,
  });
  const signal = new AbortController().signal;

  it("takes a direct message and a mention in a group", async () => {
    await say({ chatId: 700, fromId: 700, text: "hello" });
    await say({ chatId: -500, chatType: "group", fromId: 700, text: "@helper_bot please", entities: [{ type: "mention", offset: 0, length: 11 }] });
    await until(() => context.tasks.accepted.length === 2);
    expect(context.tasks.accepted).toMatchObject([
      { direct: true, chat: "700", text: "hello", sender: { id: "700" } },
      { chat: "-500", text: "please", mentions: ["helper_bot"] },
    ]);
  });

  it("sends, edits and answers in the platform's own shapes", async () => {
    const { platformId = "" } = await channel().send(out("a **bold** word", { target: { channel: "botmsg", account: "main", chat: "700" } }), signal);
    await channel().edit?.(platformId, out("a **bolder** word"), signal);
    await channel().send(out("", { media: [{ kind: "file", name: "a.txt", data: Buffer.from("hello") }] }), signal);
    await channel().react?.({ channel: "botmsg", account: "main", chat: "700" }, platformId, "👀", signal);
    expect(methods().filter((method) => method !== "getupdates")).toEqual([
      "getme",
      "deletewebhook",
      "sendmessage",
      "editmessagetext",
      "senddocument",
      "setmessagereaction",
    ]);
    expect(bodies("sendmessage")).toMatchObject([{ text: "a <b>bold</b> word", parse_mode: "HTML" }]);
    expect(bodies("editmessagetext")).toMatchObject([{ text: "a <b>bolder</b> word", message_id: Number(platformId) }]);
  });

  it("is told what is too long", async () => {
    await expect(channel().send(out("x".repeat(4_097)), signal)).rejects.toMatchObject({ failure: "format" });
    await channel().send(out("x".repeat(4_096)), signal);
  });
});

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}
