import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ChannelHandle, definePlugin, type Message, type Outgoing, type Plugin } from "@svc/sdk";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { ROOT } from "../house/house.ts";
import { freePort } from "../kit/free-port.ts";
import { baseOf, post, type RunOptions, runKernel, temporaryFolder } from "../kit/kernel.ts";
import { scriptedTier } from "../kit/scripted.ts";
import { grammarOf, type SpeechServer, startSpeechServer, whyDeaf } from "../kit/speech-server.ts";

const PATH = `${process.env.PATH}:/usr/sbin`;
const CHROMIUM = "/usr/bin/chromium";
const SENTENCES = ["we meet on friday at ten", "the build is broken again"];
const USER = "svc";
const PASSWORD = "the-password-of-the-relay";
const LIMIT = 240_000;

/** Why these calls cannot be made here. */
function lacking(): string | undefined {
  if (!existsSync(CHROMIUM)) return "there is no chromium (on Debian: apt-get install chromium)";
  if (!PATH.split(":").some((folder) => existsSync(join(folder, "turnserver")))) return "there is no turnserver (on Debian: apt-get install coturn)";
  return whyDeaf();
}
const reason = lacking();
if (reason !== undefined) console.warn(`skipped, calls from a browser: ${reason}`);

const ends: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function until(check: () => Promise<boolean> | boolean, what: string): Promise<void> {
  for (let patience = 0; !(await check()); patience += 1) {
    if (patience > 900) throw new Error(`it did not come: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** coturn on loopback, for one user. */
async function startRelay(): Promise<{ readonly url: string; readonly process: ChildProcess }> {
  const port = await freePort();
  const folder = await temporaryFolder();
  const relay = spawn(
    "turnserver",
    [
      ...["-n", "--listening-ip=127.0.0.1", "--relay-ip=127.0.0.1", `--listening-port=${port}`, "--no-tls", "--no-dtls", "--no-cli", "--lt-cred-mech"],
      ...[`--user=${USER}:${PASSWORD}`, "--realm=loop", "--allow-loopback-peers", "--min-port=51000", "--max-port=51400"],
      ...[`--pidfile=${join(folder, "pid")}`, `--userdb=${join(folder, "db")}`, "--log-file=stdout"],
    ],
    { cwd: folder, env: { ...process.env, PATH }, stdio: ["ignore", "pipe", "ignore"] },
  );
  let said = "";
  relay.stdout?.on("data", (chunk: Buffer) => {
    said += chunk;
  });
  ends.push(() => {
    const gone = new Promise((resolve) => relay.once("exit", resolve));
    return relay.kill("SIGKILL") ? gone : undefined;
  });
  await until(() => said.includes("listener opened on: 127.0.0.1") || said.includes("Relay ports initialization done"), "the relay");
  return { url: `turn:127.0.0.1:${port}?transport=udp`, process: relay };
}

/** Two sentences with pauses, spoken by espeak-ng, as a browser takes them for its microphone. */
function spokenFile(folder: string): string {
  const [first, second, pause, whole] = ["one.wav", "two.wav", "pause.wav", "whole.wav"].map((name) => join(folder, name)) as [string, string, string, string];
  for (const [text, file] of [
    [SENTENCES[0], first],
    [SENTENCES[1], second],
  ] as const)
    execFileSync("espeak-ng", ["-v", "en-us", "-s", "125", "-w", `${file}.raw.wav`, text as string]);
  for (const file of [first, second]) execFileSync("sox", [`${file}.raw.wav`, "-r", "48000", "-c", "1", file, "norm", "-3"]);
  execFileSync("sox", ["-n", "-r", "48000", "-c", "1", pause, "trim", "0", "3"]);
  execFileSync("sox", [pause, first, pause, second, pause, whole]);
  return whole;
}

/** One for all tests, whose microphone says the sentences again and again: what a machine that is busy for a moment garbles once is heard the next time. */
let browser: Browser;
let spoken: string;
beforeAll(async () => {
  if (reason !== undefined) return;
  mkdirSync(tmpdir(), { recursive: true });
  spoken = mkdtempSync(join(tmpdir(), "svc-spoken-"));
  const { chromium } = await import("playwright-core");
  browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: [
      ...["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage", "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"],
      ...["--disable-features=WebRtcHideLocalIpsWithMdns", "--allow-loopback-in-peer-connection", "--autoplay-policy=no-user-gesture-required"],
      `--use-file-for-fake-audio-capture=${spokenFile(spoken)}`,
    ],
  });
});
afterAll(async () => {
  await browser?.close();
  if (spoken !== undefined) rmSync(spoken, { recursive: true, force: true });
});

/** A chat in which people read and press. */
function chat() {
  const sent: Outgoing[] = [];
  let accept: (message: Message) => Promise<unknown> = async () => undefined;
  const plugin = definePlugin({
    kind: "channel",
    name: "chat",
    version: "0.1.0",
    svc: "^0.1.0",
    capabilities: ["tasks"],
    setup(ctx) {
      const handle: ChannelHandle = ctx.provide.channel({
        name: "chat",
        traits: { maxChars: 4_000, unit: "utf16", dialect: "plain", choices: true, editIntervalMs: 100 },
        async send(out) {
          sent.push(out);
          return { platformId: String(sent.length) };
        },
        async edit() {},
      });
      accept = (message) => ctx.tasks.accept(message);
      return {
        async start() {
          handle.ready();
        },
      };
    },
  }) as Plugin<never>;
  const texts = () => sent.map(({ plain }) => plain);
  async function press(label: string): Promise<void> {
    const { choiceOf } = await import("@svc/sdk");
    const button = sent.flatMap(({ choices = [] }) => choices).find((one) => one.label === label);
    const choice = choiceOf(button?.data ?? "");
    if (choice === undefined) throw new Error(`there is no button '${label}'`);
    await accept({ entry: "channel", channel: "chat", chat: "7", text: "", sender: { id: "5", name: "Ann" }, direct: true, choice });
  }
  return { plugin, sent, texts, press };
}

const KNOWN = ["channels/webrtc", "features/transcription", "features/calls"].map((path) => join(ROOT, "plugins", path));

/** The plugins as they are installed, in a kernel of this process that listens. */
async function daemon(webrtc: object, speech: SpeechServer | undefined, options: RunOptions = {}) {
  const people = chat();
  const dataFolder = await temporaryFolder();
  const running = await runKernel({
    ...options,
    dataFolder,
    known: KNOWN,
    listen: true,
    inline: [people.plugin],
    config: {
      channels: { webrtc: { enabled: true, stunServers: [], hostAddresses: ["127.0.0.1"], ...webrtc } },
      ...(speech === undefined ? {} : { transcription: { backend: "cloud", server: { url: speech.url } } }),
      calls: { allow: ["*"], maxPerHour: 60 },
    },
  });
  return { ...running, people, dataFolder, base: baseOf(running.kernel) };
}

/** The page of a link; what it did that its policy forbids is kept. */
async function openPage(url: string): Promise<{ page: Page; wrong: string[] }> {
  const page = await browser.newPage();
  ends.push(() => page.close());
  const wrong: string[] = [];
  page.on("console", (message) => message.type() === "error" && wrong.push(message.text()));
  page.on("pageerror", (error) => wrong.push(String(error)));
  await page.goto(url);
  return { page, wrong };
}

describe.skipIf(reason !== undefined)("a call from a browser", () => {
  it("CHAN-09 from relay to relay: its words are in the chat while it runs, the bot sends nothing, and it ends at its limit", {
    timeout: LIMIT,
  }, async () => {
    const relay = await startRelay();
    const speech = await startSpeechServer({ grammar: grammarOf(SENTENCES) });
    ends.push(() => speech.close());
    const turn = { turnServers: [{ urls: relay.url, username: USER, credential: PASSWORD }] };
    const bot = { enabled: true, whisperBackend: "cloud", whisperLanguage: "en", maxCallMinutes: 1, transcriptChannel: { channel: "chat", chatId: "9" } };
    const at = await daemon({ ...turn, bot, relayOnly: true }, speech);
    const placed = await post(at.base, "/calls", { to: "a", by: "Ann" });
    const { call, url } = placed.body as unknown as { call: { id: string }; url: string };
    const { page, wrong } = await openPage(url.replace("#", "?relay=only#"));
    expect(new URL(page.url()).hash).toBe("");
    await page.evaluate(() => {
      const Original = RTCPeerConnection;
      const kept = globalThis as unknown as { peers: RTCPeerConnection[]; RTCPeerConnection: unknown };
      kept.peers = [];
      kept.RTCPeerConnection = class extends Original {
        constructor(...given: ConstructorParameters<typeof RTCPeerConnection>) {
          super(...given);
          kept.peers.push(this);
        }
      };
    });
    await page.getByRole("button", { name: "Talk" }).click();
    await page.getByText("Talk now").waitFor();
    await until(
      () => SENTENCES.every((sentence) => at.people.texts().some((text) => text.includes(sentence))),
      `words, of ${JSON.stringify(at.people.texts())}`,
    );
    const state = async () =>
      ((await (await fetch(`${at.base}/calls/${call.id}`)).json()) as { call: { state: string; startedAt: string; endedAt?: string } }).call;
    expect((await state()).state).toBe("running");
    expect(at.people.texts().find((text) => text.includes(SENTENCES[0] as string))).toMatch(/^\d:\d\d Ann: /);
    await page.getByText(SENTENCES[1] as string).waitFor();
    // What the browser counts: packets of ours that went out, and none that came in, all by way of the relay.
    const stats = await page.evaluate(async () => {
      const [peer] = (globalThis as unknown as { peers: RTCPeerConnection[] }).peers;
      const all = [...((await peer?.getStats()) ?? new Map()).values()] as Record<string, unknown>[];
      const pair = all.find(({ type, nominated, state: how }) => type === "candidate-pair" && nominated && how === "succeeded");
      const typeOf = (id: unknown) => all.find((one) => one.id === id)?.candidateType;
      const sum = (kind: string, key: string) => all.filter(({ type }) => type === kind).reduce((total, one) => total + Number(one[key] ?? 0), 0);
      return {
        out: sum("outbound-rtp", "packetsSent"),
        in: sum("inbound-rtp", "packetsReceived"),
        here: typeOf(pair?.localCandidateId),
        there: typeOf(pair?.remoteCandidateId),
      };
    });
    expect(stats).toEqual({ out: expect.any(Number), in: 0, here: "relay", there: "relay" });
    expect(stats.out).toBeGreaterThan(100);
    await page.getByText("Ended by itself after 1 min 0 s").waitFor({ timeout: 120_000 });
    const { startedAt, endedAt = "" } = await state();
    expect(Math.round((Date.parse(endedAt) - Date.parse(startedAt)) / 1000)).toBe(60);
    await until(() => at.people.texts().some((text) => text.includes("ended by itself after 1 min 0 s")), "the end");
    await until(() => at.tier.prompts.some((prompt) => prompt.includes(SENTENCES[1] as string)), "the summary's turn");
    expect(wrong).toEqual([]);
  });

  it("CHAN-09 with a wrong password of the relay: it is told on the page and ends in a sentence, not in silence", { timeout: LIMIT }, async () => {
    const relay = await startRelay();
    const turn = { turnServers: [{ urls: relay.url, username: USER, credential: "wrong-password" }], relayOnly: true };
    const at = await daemon({ ...turn, bot: { enabled: true, transcriptChannel: { channel: "chat", chatId: "9" } } }, undefined);
    const { url } = (await post(at.base, "/calls", { to: "a", by: "Ann" })).body as unknown as { url: string };
    const { page } = await openPage(url.replace("#", "?relay=only#"));
    await page.getByRole("button", { name: "Talk" }).click();
    await page.locator("#state[data-state=failed]").waitFor({ timeout: 90_000 });
    const shown = await page.locator("main").innerText();
    expect(shown).toMatch(/refused/);
    expect(shown).not.toContain("wrong-password");
    await until(() => at.people.texts().some((text) => text.startsWith("Call of A with Ann")), "the end");
  });
});

describe.skipIf(reason !== undefined)("a browser whose network changes", () => {
  it("CHAN-09 looks for another way by itself, goes on in the same call, and says so where there is none", { timeout: LIMIT }, async () => {
    const speech = await startSpeechServer({ grammar: grammarOf(SENTENCES) });
    ends.push(() => speech.close());
    const at = await daemon({ bot: { enabled: true, whisperBackend: "cloud", transcriptChannel: { channel: "chat", chatId: "9" } } }, speech);
    const { call, url } = (await post(at.base, "/calls", { to: "a", by: "Ann" })).body as unknown as { call: { id: string }; url: string };
    const { page } = await openPage(url);
    await page.evaluate(() => {
      const Original = RTCPeerConnection;
      const kept = globalThis as unknown as { peer: RTCPeerConnection; hung: boolean; RTCPeerConnection: unknown };
      kept.RTCPeerConnection = class extends Original {
        constructor(...given: ConstructorParameters<typeof RTCPeerConnection>) {
          super(...given);
          kept.peer = this;
        }
        /** What a browser says whose network is gone. */
        override get connectionState() {
          return kept.hung ? "failed" : super.connectionState;
        }
      };
    });
    const restarts: number[] = [];
    page.on("response", (response) => response.url().endsWith("/restart") && restarts.push(response.status()));
    await page.getByRole("button", { name: "Talk" }).click();
    await page.getByText("Talk now").waitFor();
    const hang = (hung: boolean) =>
      page.evaluate((now) => {
        const kept = globalThis as unknown as { peer: RTCPeerConnection; hung: boolean };
        kept.hung = now;
        kept.peer.dispatchEvent(new Event("connectionstatechange"));
      }, hung);
    await hang(true);
    await expect.poll(() => restarts.length, { timeout: 30_000 }).toBeGreaterThan(0);
    await hang(false);
    await page.getByText("Talk now").waitFor();
    expect(new Set(restarts)).toEqual(new Set([200]));
    const lines = at.people.texts().length;
    await until(() => at.people.texts().length > lines + 1, "words after the network has changed");
    const state = async () => ((await (await fetch(`${at.base}/calls/${call.id}`)).json()) as { call: { state: string } }).call.state;
    expect(await state()).toBe("running");
    await hang(true);
    await page.getByText("there is no other way to the daemon; call again").waitFor({ timeout: 60_000 });
    await until(async () => (await state()) === "ended", "the end of the call");
  });
});

describe.skipIf(reason !== undefined)("a camera from a browser", () => {
  it("CHAN-09 is asked for on a chat, shows a picture to the agent, scaled by the page, and leaves no file", { timeout: LIMIT }, async () => {
    const tier = scriptedTier();
    const camera = { width: 640, height: 480, bot: { maxFrameEdge: 160 } };
    const at = await daemon({ camera, ringNotify: [{ channel: "chat", chatId: "7" }] }, undefined, { tier });
    const placed = await post(at.base, "/calls", { to: "chat", kind: "camera", agent: "a", why: "the meter" });
    expect(placed.status).toBe(201);
    const { id } = (placed.body as unknown as { call: { id: string } }).call;
    await until(() => at.people.texts().some((text) => text.includes("asks to see your camera: the meter")), "the ring");
    await at.people.press("Answer");
    await until(() => at.people.texts().some((text) => text.includes("/camera/")), "the link");
    const [link = ""] = /http:\S+/.exec(at.people.texts().find((text) => text.includes("/camera/")) ?? "") ?? [];
    const { page, wrong } = await openPage(link.replace(/\/\/[^/]+/, `//${new URL(at.base).host}`));
    await page.getByRole("button", { name: "Show the camera" }).click();
    await page.getByText("The agent may ask for pictures").waitFor();
    expect((await post(at.base, `/calls/${id}/ask`, {})).status).toBe(200);
    await page.getByText("1 picture was sent").waitFor();
    await until(() => tier.turns.length > 0, "the turn");
    const [turn] = tier.turns;
    expect(turn?.turn.messages[0]).toMatchObject({
      channel: "calls",
      chat: id,
      media: [{ kind: "image", type: "image/jpeg", path: expect.stringContaining(at.dataFolder) }],
    });
    expect(turn?.turn.messages[0].text).toContain("160 x 120 pixels");
    // The agent's answer stands on the page.
    await page.getByText("Picture 1 of the camera session", { exact: false }).waitFor();
    const files = () => execFileSync("find", [at.dataFolder, "-name", "*.jp*g"], { encoding: "utf8" }).trim();
    await until(() => files() === "", `no file is left, but: ${files()}`);
    await page.getByRole("button", { name: "End" }).click();
    await page.locator("#state[data-state=ended]").waitFor();
    expect(wrong).toEqual([]);
  });
});
