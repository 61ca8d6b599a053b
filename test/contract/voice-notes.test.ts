import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type BotApi, startBotApi } from "../../plugins/channels/botmsg/bot-api.harness.ts";
import { GROUP, TOKEN } from "../../plugins/channels/botmsg/botmsg.harness.ts";
import { ROOT } from "../house/house.ts";
import { runKernel, temporaryFolder } from "../kit/kernel.ts";
import { grammarOf, type SpeechServer, startSpeechServer, whyDeaf } from "../kit/speech-server.ts";

const SENTENCE = "please open the garden gate";
const PATIENCE = { timeout: 30_000, interval: 50 };
const deaf = whyDeaf();
if (deaf !== undefined) console.warn(`voice notes are not heard here: ${deaf}`);

let api: BotApi;
let speech: SpeechServer | undefined;
beforeEach(async () => {
  api = await startBotApi();
  api.addBot(TOKEN, 42, "helper_bot");
  api.addChat(GROUP, "supergroup", "The Garden");
});
afterEach(async () => {
  await Promise.all([api.close(), speech?.close()]);
  speech = undefined;
});

/** A daemon that hears a friend on botmsg and says back what its engine was asked. */
async function start(config: Record<string, unknown>) {
  return runKernel({
    folder: await temporaryFolder(),
    dataFolder: join(await temporaryFolder(), ".svc"),
    agent: { tier: "local", local: { mode: "echo" } },
    config: {
      channels: {
        botmsg: {
          enabled: true,
          apiRoot: api.root,
          accounts: { main: { token: TOKEN, agentBinding: "a" } },
          policy: { group: "all", allowFrom: [String(GROUP)] },
        },
      },
      ...config,
    },
    known: ["channels/botmsg", "features/transcription", "features/voice", "tiers/local"].map((plugin) => join(ROOT, "plugins", plugin)),
  });
}

/** A voice note of the friend, as a phone makes them. */
async function speak(data: Uint8Array, id = "V1", caption = "") {
  api.addFile(id, data);
  api.say(TOKEN, { chat: GROUP, more: { caption, voice: { file_id: id, file_unique_id: id, duration: 3, mime_type: "audio/ogg", file_size: data.length } } });
}

const answers = () => api.shown.map(({ text }) => text).join("\n");

async function recorded(text: string): Promise<Buffer> {
  const folder = await temporaryFolder();
  execFileSync("espeak-ng", ["-v", "en-us", "-s", "130", "-w", join(folder, "said.wav"), text], { stdio: "ignore" });
  execFileSync("ffmpeg", ["-v", "error", "-i", join(folder, "said.wav"), "-c:a", "libopus", join(folder, "said.ogg")], { stdio: "ignore" });
  return readFileSync(join(folder, "said.ogg"));
}

describe("a voice note on botmsg", () => {
  it.skipIf(deaf !== undefined)("is answered by its words, and its file is still there", { timeout: 120_000 }, async () => {
    speech = await startSpeechServer({ grammar: grammarOf([SENTENCE, "close the kitchen window", "what time is it"]), key: "a-key" });
    await start({ voice: {}, transcription: { language: "en", server: { url: speech.url, apiKey: "a-key" } } });
    await speak(await recorded(SENTENCE));
    await expect.poll(answers, PATIENCE).toContain(`(voice note, spoken:) ${SENTENCE}`);
    expect(speech.asked).toHaveLength(1);
    expect(speech.asked[0]?.fields).toMatchObject({ language: "en", model: "whisper-1" });
  });

  it("goes on with words that say so where nothing can read it, or its recogniser is down", { timeout: 120_000 }, async () => {
    const running = await start({ voice: {} });
    await speak(Buffer.from("OggS no sound"));
    await expect.poll(answers, PATIENCE).toContain("it could not be turned into words, as nothing here does that");
    await running.kernel.stop({ drainSeconds: 0 });
    speech = await startSpeechServer({ hear: () => "x" });
    speech.faults.push({ status: 400, body: '{"error":{"message":"a secret of the server"}}' });
    await start({ voice: {}, transcription: { server: { url: speech.url } } });
    await speak(Buffer.from("OggS no sound"), "V2");
    await expect.poll(answers, PATIENCE).toContain("the recogniser failed");
    expect(answers()).not.toContain("a secret of the server");
  });

  it("stays a file without a section voice: no file of these plugins is loaded", { timeout: 60_000 }, async () => {
    const { kernel } = await start({});
    const { plugins } = kernel.health();
    const states = Object.fromEntries(plugins.map(({ id, state }) => [id, state]));
    expect([states["feature-voice"], states["feature-transcription"]]).toEqual(["known", "known"]);
    await speak(Buffer.from("OggS no sound"), "V3", "look at this");
    await expect.poll(answers, PATIENCE).toContain("look at this");
    expect(answers()).not.toContain("voice note");
  });
});
