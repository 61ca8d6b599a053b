import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Lifecycle, Outgoing } from "@svc/sdk";
import { createFakeContext, createMemoryFiles } from "@svc/sdk/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createRender } from "../../kernel/capabilities/render/render.ts";
import plugin from "../../plugins/channels/phonemsg/index.ts";
import { openSession } from "../../plugins/channels/phonemsg/session/session.ts";
import type { Settings } from "../../plugins/channels/phonemsg/settings.ts";
import { temporaryFolder } from "../kit/kernel.ts";
import { lacking, library } from "../kit/phonemsg/library.ts";

/** A server of the protocol that others wrote: a second opinion beside our own. It links no device, so one is made up. */
interface Server {
  readonly manifest: {
    readonly adminToken: string;
    readonly selfJid: string;
    readonly endpoints: { readonly adminInboundUrl: string; readonly baileysWebSocketUrl: string };
  };
  close(): Promise<void>;
}
interface Recorded {
  readonly type: string;
  readonly method?: string;
  readonly body?: { readonly message?: { readonly conversation?: string } };
}

const entry = join(import.meta.dirname, "node_modules/@openclaw/crabline/dist/src/index.js");
const skipped = !existsSync(entry) || lacking !== undefined;
if (skipped) console.warn(`skipped: ${lacking ?? `${entry} is missing; run \`npm run test:peers\` where the registry can be reached`}`);

describe.skipIf(skipped)("phonemsg on the server of @openclaw/crabline", () => {
  const recorded: Recorded[] = [];
  let folder: string;
  let server: Server;
  let lifecycle: Lifecycle<Settings>;
  let context: ReturnType<typeof createFakeContext<Settings>>;

  beforeEach(async () => {
    recorded.length = 0;
    folder = mkdtempSync(join(tmpdir(), "phonemsg-peer-"));
    const { startWhatsAppServer } = (await import(entry)) as { startWhatsAppServer(options: object): Promise<Server> };
    server = await startWhatsAppServer({ recorderPath: join(await temporaryFolder(), "calls.jsonl"), onEvent: (event: Recorded) => void recorded.push(event) });
    const session = await openSession(join(folder, "session"), await library(), { trouble() {}, signal: new AbortController().signal });
    Object.assign(session.creds, { me: { id: server.manifest.selfJid }, account: { details: Buffer.alloc(1) }, registered: true });
    await session.saveCreds();
    await session.close();
    const files = createMemoryFiles();
    context = createFakeContext<Settings>(plugin as never, {
      config: { enabled: true, server: server.manifest.endpoints.baileysWebSocketUrl, defaultAgent: "anna", allowFrom: ["15551234567"], sessionDir: "session" },
      agents: [{ id: "anna", name: "Anna" }],
      render: createRender(),
      files: { ...files, data: { ...files.data, roots: [join(folder, ".svc")] } } as never,
    });
    lifecycle = plugin.setup(context) as Lifecycle<Settings>;
    await lifecycle.start?.();
    await until(() => context.registered.channels[0]?.state === "ready");
  });
  afterEach(async () => {
    await lifecycle.stop?.();
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it("shakes hands, takes a message, and its answer is opened there", async () => {
    const answer = await fetch(server.manifest.endpoints.adminInboundUrl, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        authorization: `Bearer ${server.manifest.adminToken}`,
        "x-crabline-admin-token": server.manifest.adminToken,
      },
      body: JSON.stringify({ chatJid: "15551234567@s.whatsapp.net", senderJid: "15551234567@s.whatsapp.net", text: "hello" }),
    });
    expect(answer.ok, await answer.text()).toBe(true);
    await until(() => context.tasks.accepted.length === 1);
    expect(context.tasks.accepted[0]).toMatchObject({ text: "hello", direct: true, chat: "15551234567", sender: { id: "15551234567" } });
    const out: Outgoing = { target: { channel: "phonemsg", chat: "15551234567" }, text: "yo", plain: "yo", key: "1" };
    await context.registered.channels[0]!.channel.send(out, new AbortController().signal);
    await until(() => recorded.some(({ body }) => body?.message?.conversation === "yo"));
  });
});

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}
