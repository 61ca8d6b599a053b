import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { Kernel } from "@svc/kernel";
import type { Plugin, Trace } from "@svc/sdk";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type BotApi, startBotApi } from "../../plugins/channels/botmsg/bot-api.harness.ts";
import { GROUP, TOKEN } from "../../plugins/channels/botmsg/botmsg.harness.ts";
import botmsg from "../../plugins/channels/botmsg/index.ts";
import models from "../../plugins/features/models/index.ts";
import cliA from "../../plugins/tiers/cli-a/index.ts";
import orchestrator from "../../plugins/tiers/orchestrator/index.ts";
import sdk from "../../plugins/tiers/sdk/index.ts";
import { runKernel, temporaryFolder } from "../kit/kernel.ts";
import { type ModelServer, startModelServer } from "../peers/model-server.ts";
import { missing, PROGRAMS } from "../peers/programs.ts";

const DOT = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");
const MEGABYTE = 1_048_576;
const PATIENCE = { timeout: 60_000, interval: 20 };

let server: ModelServer;
let api: BotApi;
beforeEach(async () => {
  [server, api] = [await startModelServer(), await startBotApi()];
  api.addBot(TOKEN, 42, "helper_bot");
  api.addChat(GROUP, "supergroup", "The Garden");
});
afterEach(async () => {
  expect(server.refusals, "requests that the real API would refuse").toEqual([]);
  await Promise.all([server.close(), api.close()]);
});

/** A kernel whose agent is on that tier and hears the group on botmsg. */
async function start(tier: string): Promise<{ kernel: Kernel; dataFolder: string }> {
  const folder = await temporaryFolder();
  const dataFolder = join(folder, ".svc");
  const { kernel } = await runKernel({
    folder,
    dataFolder,
    agent: { tier, ...(tier === "cli-a" ? { billing: "api" } : { provider: "mine", model: "fake-1" }) },
    config: {
      providers: { mine: { api: "anthropic", endpoint: server.url, apiKey: "a-key" } },
      tiers: { "cli-a": { command: PROGRAMS.claude, env: { CLAUDE_CONFIG_DIR: join(folder, "claude") } } },
      channels: {
        botmsg: {
          enabled: true,
          apiRoot: api.root,
          accounts: { main: { token: TOKEN, agentBinding: "a" } },
          policy: { group: "all", allowFrom: [String(GROUP)] },
        },
      },
    },
    inline: [models, sdk, orchestrator, cliA, botmsg] as unknown as Plugin<never>[],
    env: { PATH: process.env.PATH ?? "", HOME: folder, ANTHROPIC_BASE_URL: server.url, ANTHROPIC_API_KEY: "dummy-key" },
  });
  return { kernel, dataFolder };
}

const photo = (size: number = DOT.length) => ({ photo: [{ file_id: "P1", file_unique_id: "p", width: 1, height: 1, file_size: size }] });
const document = (size: number) => ({ document: { file_id: "D1", file_unique_id: "d", file_name: "huge.png", mime_type: "image/png", file_size: size } });
const downloads = () => api.calls.filter(({ method }) => method === "getFile");
const answers = () => api.shown.map(({ text }) => text);
/** What the model was given in all requests so far. */
const seen = () => server.requests.map(({ body }) => JSON.stringify(body.messages)).join("\n");

/** The trace of the one task, once it has succeeded. */
const traceOf = (kernel: Kernel): Promise<Trace> =>
  vi.waitFor(async () => {
    const [trace] = await kernel.traces.list();
    expect(trace?.status).toBe("ok");
    return trace as Trace;
  }, PATIENCE);

for (const tier of ["sdk", "orchestrator", "cli-a"]) {
  describe.skipIf(tier === "cli-a" && missing("claude") !== undefined)(`K26 what is sent on botmsg reaches tier ${tier}`, () => {
    it("a picture as a picture, fetched once, kept with its task", async () => {
      const { kernel, dataFolder } = await start(tier);
      api.addFile("P1", DOT);
      api.say(TOKEN, { chat: GROUP, more: { caption: "what is this", ...photo() } });
      // Claude Code adds the place of its own copy, which the model then says back.
      await vi.waitFor(() => expect(answers()).toEqual([expect.stringMatching(/^ECHO: (?:what is this|\[Image: source: \S+\])$/)]), PATIENCE);
      expect(seen()).toContain("what is this");
      expect(seen()).toContain(DOT.toString("base64"));
      expect(seen()).toContain('"media_type":"image/png"');
      expect(downloads()).toHaveLength(1);
      const trace = await traceOf(kernel);
      expect(trace.steps).toContainEqual(expect.objectContaining({ name: "media", output: "1 of 1 files, 0.0 MB" }));
      expect(readdirSync(join(dataFolder, "media"))).toEqual([trace.id]);
      expect(JSON.stringify(trace)).not.toContain(TOKEN);
    }, 90_000);

    it("one of 30 MB in words, to the model and before the answer; nothing is downloaded", async () => {
      const { kernel } = await start(tier);
      api.say(TOKEN, { chat: GROUP, more: { caption: "what is this", ...document(30 * MEGABYTE) } });
      const words = "(huge.png was not taken: it is larger than 25 MB.)";
      await vi.waitFor(() => expect(answers()).toEqual([expect.stringContaining("ECHO: what is this")]), PATIENCE);
      expect(answers()[0]?.startsWith(words)).toBe(true);
      expect(seen()).toContain(words);
      expect(downloads()).toEqual([]);
      await traceOf(kernel);
    }, 90_000);

    it("one that the platform does not give out in words, and the turn goes on", async () => {
      await start(tier);
      api.say(TOKEN, { chat: GROUP, more: { caption: "what is this", ...photo() } });
      await vi.waitFor(() => expect(answers()).toEqual([expect.stringContaining("ECHO: what is this")]), PATIENCE);
      expect(answers()[0]).toMatch(/^\(a file \(image\) was not taken: it could not be had from the platform\.\)/);
    }, 90_000);
  });
}

it("K26 a picture that was sent uncompressed, as a document, is a picture", async () => {
  await start("sdk");
  api.addFile("D1", DOT);
  api.say(TOKEN, { chat: GROUP, more: { caption: "and this", ...document(DOT.length) } });
  await vi.waitFor(() => expect(answers()).toEqual(["ECHO: and this"]), PATIENCE);
  expect(seen()).toContain(DOT.toString("base64"));
});
