import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { definePlugin, type Lifecycle } from "@svc/sdk";
import { type ChannelFault, channelContract, createFakeContext, type FakeContext } from "@svc/sdk/testing";
import { describe, it } from "vitest";
import { createFetch } from "../../kernel/capabilities/fetch/fetch.ts";
import plugin from "../../plugins/channels/forge-a/index.ts";
import type { Settings } from "../../plugins/channels/forge-a/settings.ts";
import { forgeHooks } from "../../plugins/features/forge-hooks/index.ts";
import { type ForgeA, startForgeA } from "../kit/forge-a/server.ts";
import type { ForgeFault, ForgePlace } from "../kit/forge-server.ts";

const PROJECT = "grp/tool";
const SECRET = "s3cret-of-hooks";
const FAULTS: Record<ChannelFault, ForgeFault> = {
  limited: { kind: "limited", retryAfter: "7" },
  // As in maintenance; any other 5xx may have come after the effect, and is told as unknown.
  unavailable: { kind: "limited", status: 503, retryAfter: "1" },
  forbidden: { kind: "status", status: 403 },
  markup: { kind: "status", status: 400 },
  cut: { kind: "cut", after: true },
};

/** The channel with the service that it speaks through, as one plugin. */
function whole() {
  const hooks = forgeHooks({ port: 0, lagMs: 50 });
  return definePlugin<Settings>({
    ...plugin,
    capabilities: [...new Set([...plugin.capabilities, ...hooks.capabilities])],
    setup(ctx) {
      const parts = [hooks.setup(ctx as never), plugin.setup(ctx)].filter((part): part is Lifecycle<Settings> => part !== undefined);
      return {
        async start() {
          for (const part of parts) await part.start?.();
        },
        async stop() {
          for (const part of parts.reverse()) await part.stop?.();
        },
      };
    },
  });
}

/** Takes the hooks of the far end and hands them to the plugin's route. */
async function openReceiver(context: FakeContext<never>) {
  const take = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
    const { status } = await context.request("POST", request.url ?? "", { headers, raw: Buffer.concat(chunks) });
    response.writeHead(status).end();
  };
  // A far end that closes breaks off what it was sending.
  const server = createServer((request, response) => void take(request, response).catch(() => response.destroy()));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/webhook/forge_a`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

function prepared(far: ForgeA): ForgePlace {
  for (const login of ["ada", "mallory"]) far.addUser(login);
  far.addUser("anna", { bot: true });
  far.addToken("glpat-own-token", "anna");
  far.addProject(PROJECT, { members: { ada: "write", anna: "write" } });
  return far.open("ada", PROJECT, "issue", { title: "A place to talk" });
}

channelContract(
  { describe, it: (name, run) => it(name, { timeout: 60_000 }, run) },
  async () => {
    const far = await startForgeA();
    const issue = prepared(far);
    const subject = whole();
    const config = {
      enabled: true,
      host: far.url,
      webhookSecret: SECRET,
      routes: [{ project: PROJECT, agent: "anna" }],
      agentMappings: [{ agentId: "anna", forgeUsernames: ["anna"], token: "glpat-own-token" }],
    };
    const context = createFakeContext<Settings>(subject as never, { config, agents: [{ id: "anna" }], fetch: createFetch() });
    const receiver = await openReceiver(context as never);
    far.hooks.add(receiver.url, SECRET);
    const writes = () => far.requests.filter(({ method }) => method !== "GET");
    return {
      plugin: subject as never,
      context: context as never,
      far: {
        target: { channel: "forge_a", chat: `${PROJECT}#${issue.id}`, account: "anna" },
        retryAfterMs: 7_000,
        shown: () =>
          far
            .comments(issue)
            .filter(({ by }) => by === "anna")
            .map(({ id, text }) => ({ platformId: String(id), text: text.replace(/\n\n<!-- svc1 [^\n]* -->$/, "") })),
        fail: (fault, times) => far.faults.next(FAULTS[fault], { times, method: "POST" }),
        hang: () => far.faults.next({ kind: "hang" }, { times: 1_000, method: "POST" }),
        writes: () => writes().length,
        async say({ text, from }) {
          const by = from === "friend" ? "ada" : from === "stranger" ? "mallory" : "anna";
          const { id } = far.comment(by, issue, `@anna ${text}`);
          await far.hooks.settled();
          return { platformId: `note-${id}` };
        },
        async repeat() {
          const last = far.hooks.deliveries.at(-1);
          if (last !== undefined) await far.hooks.redeliver(last, { fresh: true });
        },
      },
      async dispose() {
        receiver.close();
        await far.close();
      },
    };
  },
  { lacks: ["direct", "groups", "reconnect", "redelivery", "history", "markup", "files in"] },
);
