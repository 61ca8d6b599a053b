import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { definePlugin, type Lifecycle } from "@svc/sdk";
import { type ChannelFault, channelContract, createFakeContext } from "@svc/sdk/testing";
import { describe, it } from "vitest";
import { createFetch } from "../../kernel/capabilities/fetch/fetch.ts";
import plugin from "../../plugins/channels/forge-b/index.ts";
import type { Settings } from "../../plugins/channels/forge-b/settings.ts";
import { forgeHooks } from "../../plugins/features/forge-hooks/index.ts";
import { startForgeB } from "../kit/forge-b/server.ts";
import type { ForgeFault } from "../kit/forge-server.ts";

const REPO = "acme/app";
const SECRET = "a-secret-of-hooks";
const FAULTS: Record<ChannelFault, ForgeFault> = {
  limited: { kind: "limited", status: 403, retryAfter: "7", message: "You have exceeded a secondary rate limit." },
  // As in maintenance; any other 5xx may have come after the effect, and is told as unknown.
  unavailable: { kind: "limited", status: 503, retryAfter: "1" },
  forbidden: { kind: "status", status: 403 },
  markup: { kind: "status", status: 422 },
  cut: { kind: "cut", after: true },
};

/** The channel and the service that it speaks through, as one plugin: the suite loads one. */
function joined() {
  // The pause of a second that the forge asks for between two calls is judged in pace.test.ts.
  const hooks = forgeHooks({ port: 0, lagMs: 50, pauseMs: 20 });
  return definePlugin<Settings>({
    ...plugin,
    capabilities: [...new Set([...plugin.capabilities, ...hooks.capabilities])],
    setup(ctx) {
      const parts = [hooks.setup(ctx as never), plugin.setup(ctx)].filter((part): part is Lifecycle<Settings> => part !== undefined);
      return {
        start: async () => {
          for (const part of parts) await part.start?.();
        },
        stop: async () => {
          for (const part of [...parts].reverse()) await part.stop?.();
        },
      };
    },
  });
}

channelContract(
  { describe, it: (name, run) => it(name, { timeout: 60_000 }, run) },
  async () => {
    const far = await startForgeB();
    for (const login of ["ada", "mallory", "helper", "svc"]) far.addUser(login);
    far.addToken("ghp_svc", "svc");
    far.addToken("ghp_helper", "helper");
    far.addProject(REPO, { members: { ada: "write", helper: "write", svc: "write" } });
    const issue = far.open("ada", REPO, "issue", { title: "A place to talk" });
    const subject = joined();
    const config: Settings = {
      enabled: true,
      apiRoot: far.url,
      webhookSecret: SECRET,
      token: "ghp_svc",
      routes: [{ repo: REPO, agent: "helper" }],
      agentMappings: [{ agentId: "helper", token: "ghp_helper" }],
    };
    const context = createFakeContext<Settings>(subject as never, { config, agents: [{ id: "helper" }], fetch: createFetch() });
    const receiver = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
      const { status } = await context.request("POST", request.url ?? "", { headers, raw: Buffer.concat(chunks) });
      response.writeHead(status).end();
    });
    await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
    far.hooks.add(`http://127.0.0.1:${(receiver.address() as AddressInfo).port}/webhook/forge_b`, SECRET);
    return {
      plugin: subject as never,
      context: context as never,
      far: {
        target: { channel: "forge_b", chat: `${REPO}#${issue.id}`, account: "helper" },
        retryAfterMs: 7_000,
        shown: () =>
          far
            .comments(issue)
            .filter(({ by }) => by === "helper")
            .map(({ id, text }) => ({ platformId: String(id), text: text.replace(/\n\n<!-- svc1 [^\n]* -->$/, "") })),
        fail: (fault, times) => far.faults.next(FAULTS[fault], { times, method: "POST" }),
        hang: () => far.faults.next({ kind: "hang" }, { times: 1_000, method: "POST" }),
        writes: () => far.requests.filter(({ method }) => method !== "GET").length,
        async say({ text, from }) {
          const { id } = far.comment(from === "friend" ? "ada" : from === "stranger" ? "mallory" : "helper", issue, `@helper ${text}`);
          await far.hooks.settled();
          return { platformId: `note-${id}` };
        },
        async repeat() {
          const last = far.hooks.deliveries.at(-1);
          if (last !== undefined) await far.hooks.redeliver(last, { fresh: true });
        },
      },
      async dispose() {
        receiver.closeAllConnections();
        receiver.close();
        await far.close();
      },
    };
  },
  { lacks: ["direct", "groups", "reconnect", "redelivery", "history", "markup", "files in"] },
);
