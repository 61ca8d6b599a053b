import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ROOT } from "../house/house.ts";
import { startGuildFarEnd } from "../kit/guildchat/server.ts";
import { runKernel, temporaryFolder } from "../kit/kernel.ts";
import { lacking } from "../kit/phonemsg/library.ts";
import { grammarOf, type SpeechServer, startSpeechServer, whyDeaf } from "../kit/speech-server.ts";
import { setStage } from "./phonemsg.harness.ts";
import { ADA, DIRECT, furnish } from "./teamchat.harness.ts";

const SENTENCE = "please open the garden gate";
const HEARD = `(voice note, spoken:) ${SENTENCE}`;
const PATIENCE = { timeout: 60_000, interval: 50 };
const deaf = whyDeaf();
if (deaf !== undefined) console.warn(`voice notes are not heard here: ${deaf}`);

const ends: (() => Promise<unknown>)[] = [];
let speech: SpeechServer;
beforeEach(async () => {
  speech = await startSpeechServer({ grammar: grammarOf([SENTENCE, "close the kitchen window", "what time is it"]) });
});
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
  await speech.close();
});

/** A daemon with one channel, whose agent says back what its engine was asked. */
async function start(channel: string, section: object): Promise<void> {
  await runKernel({
    folder: await temporaryFolder(),
    dataFolder: join(await temporaryFolder(), ".svc"),
    agent: { tier: "local", local: { mode: "echo" } },
    config: { channels: { [channel]: { enabled: true, ...section } }, voice: {}, transcription: { language: "en", server: { url: speech.url } } },
    known: [`channels/${channel}`, "features/transcription", "features/voice", "tiers/local"].map((plugin) => join(ROOT, "plugins", plugin)),
  });
}

/** The sentence as a recording, in the format in which an app sends it. */
async function recorded(name: string, ...codec: readonly string[]): Promise<Buffer> {
  const folder = await temporaryFolder();
  execFileSync("espeak-ng", ["-v", "en-us", "-s", "130", "-w", join(folder, "said.wav"), SENTENCE], { stdio: "ignore" });
  execFileSync("ffmpeg", ["-v", "error", "-i", join(folder, "said.wav"), ...codec, join(folder, name)], { stdio: "ignore" });
  return readFileSync(join(folder, name));
}

describe.skipIf(deaf !== undefined)("a voice note is answered by its words", () => {
  it("on guildchat: a voice message of Ogg Opus", { timeout: 120_000 }, async () => {
    const far = await startGuildFarEnd();
    ends.push(() => far.close());
    await start("guildchat", { token: far.token, agentBinding: "a", apiRoot: far.root, allowFrom: [far.owner.id] });
    await expect.poll(() => far.gateway.connected, PATIENCE).toBe(1);
    const { id } = far.world.direct(far.bot.id, far.owner.id);
    far.say({
      place: id,
      from: far.owner.id,
      text: "",
      files: [{ name: "voice-message.ogg", type: "audio/ogg", data: await recorded("said.ogg", "-c:a", "libopus") }],
    });
    const answers = () => far.world.at(id).filter(({ author }) => author === far.bot.id);
    await expect
      .poll(
        () =>
          answers()
            .map(({ content }) => content)
            .join("\n"),
        PATIENCE,
      )
      .toContain(HEARD);
    expect(speech.asked).toHaveLength(1);
  });

  it("on teamchat: an audio clip of WebM, as its browser client makes them", { timeout: 120_000 }, async () => {
    const far = await furnish();
    ends.push(() => far.close());
    const { botToken, appToken } = far.world.workspaces[0]!;
    await start("teamchat", { apiRoot: far.root, botToken, appToken, agentBinding: "a", allowFrom: [ADA] });
    await expect.poll(() => far.sockets.open(), PATIENCE).toBe(1);
    const data = await recorded("said.webm", "-c:a", "libopus");
    far.say(DIRECT, { user: ADA, text: "", subtype: "file_share", files: [{ name: "audio_message.webm", mimetype: "audio/webm", data }] });
    await expect
      .poll(
        () =>
          far
            .shown(DIRECT)
            .map(({ words }) => words)
            .join("\n"),
        PATIENCE,
      )
      .toContain(HEARD);
    expect(speech.asked).toHaveLength(1);
    expect(far.violations).toEqual([]);
  });

  it.skipIf(lacking)("on phonemsg: a push-to-talk recording, sealed by its sender", { timeout: 120_000 }, async () => {
    const folder = await temporaryFolder();
    mkdirSync(join(folder, "session"), { mode: 0o700 });
    const { far, friend, ...stage } = await setStage({ folder, settings: { sessionDir: "session" } });
    ends.push(() => far.close());
    await stage.start();
    await stage.halfStop();
    await start("phonemsg", {
      ...{ server: far.url, mediaServer: far.mediaUrl, sessionDir: join(folder, "session"), defaultAgent: "a", acknowledge: "", allowFrom: [friend.number] },
    });
    const sealed = await far.files.put(await recorded("said.ogg", "-c:a", "libopus"), "audio", "audio/ogg; codecs=opus");
    await expect.poll(() => far.line !== undefined, PATIENCE).toBe(true);
    await far.say({ from: friend, message: { audioMessage: { ...sealed, ptt: true, seconds: 3 } } });
    await expect.poll(() => far.chats.shown.map(({ text }) => text).join("\n"), PATIENCE).toContain(HEARD);
    expect(speech.asked).toHaveLength(1);
  });
});
