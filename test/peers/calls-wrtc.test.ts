import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { ask, type DaemonProcess, endDaemons, startDaemon, writeConfig } from "../faults/daemon.harness.ts";
import { post, temporaryFolder } from "../kit/kernel.ts";
import { grammarOf, type SpeechServer, startSpeechServer, whyDeaf } from "../kit/speech-server.ts";

// libwebrtc without a browser: another maker's ICE, DTLS and Opus than the daemon's, and sound from a file.

const SENTENCES = ["we meet on friday at ten", "the build is broken again"];
const RATE = 48_000;
/** Its source of sound takes 10 ms at a time. */
const FRAME = RATE / 100;
const PATIENCE = { timeout: 60_000, interval: 100 };
const LIMIT = 180_000;

interface AudioSource {
  createTrack(): MediaStreamTrack;
  onData(data: { samples: Int16Array; sampleRate: number; bitsPerSample: number; channelCount: number; numberOfFrames: number }): void;
}
interface Wrtc {
  readonly RTCPeerConnection: typeof RTCPeerConnection;
  readonly nonstandard: { readonly RTCAudioSource: new () => AudioSource };
}

function load(): Wrtc | string {
  try {
    return createRequire(import.meta.url)("@roamhq/wrtc") as Wrtc;
  } catch (error) {
    return `@roamhq/wrtc cannot be loaded (${String(error).split("\n")[0]}): run \`npm run test:peers\` where the registry can be reached`;
  }
}
const loaded = load();
const lacking = typeof loaded === "string" ? loaded : whyDeaf();
if (lacking !== undefined) console.warn(`skipped, calls from libwebrtc: ${lacking}`);
const wrtc = loaded as Wrtc;

/** A chat that is a file. */
const NOTES = `
import { appendFileSync } from "node:fs";
export default {
  kind: "channel", name: "notes", version: "1.0.0", svc: "^0.1.0", capabilities: [],
  setup(ctx) {
    const handle = ctx.provide.channel({
      name: "notes", traits: { maxChars: 4000, unit: "codepoint", dialect: "plain", keyed: true },
      async send({ plain, key }) { appendFileSync("notes.jsonl", JSON.stringify(plain) + "\\n"); return { platformId: key }; },
    });
    return { async start() { handle.ready(); } };
  },
};
`;

const ends: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
  await endDaemons();
});

/** Both sentences with pauses around them, by espeak-ng. */
async function spoken(): Promise<Int16Array> {
  const folder = await temporaryFolder();
  const parts = SENTENCES.map((sentence, at) => {
    const [said, raw] = [join(folder, `${at}.wav`), join(folder, `${at}.raw`)];
    execFileSync("espeak-ng", ["-v", "en-us", "-s", "125", "-w", said, sentence]);
    execFileSync("sox", [said, "-r", String(RATE), "-c", "1", "-b", "16", "-e", "signed", raw, "norm", "-3", "pad", "1", "2"]);
    return readFileSync(raw);
  });
  const data = Buffer.concat(parts);
  return new Int16Array(data.buffer.slice(data.byteOffset, data.byteOffset + data.length - (data.length % 2)));
}

async function begun() {
  const speech: SpeechServer = await startSpeechServer({ grammar: grammarOf(SENTENCES) });
  ends.push(() => speech.close());
  const folder = await temporaryFolder();
  writeFileSync(join(folder, "notes.ts"), NOTES);
  writeFileSync(join(folder, "notes.jsonl"), "");
  writeConfig(folder, {
    plugins: ["./notes.ts"],
    channels: {
      webrtc: {
        ...{ enabled: true, stunServers: [], hostAddresses: ["127.0.0.1"] },
        bot: { enabled: true, whisperBackend: "cloud", whisperLanguage: "en", transcriptChannel: { channel: "notes", chatId: "1" } },
      },
    },
    transcription: { backend: "cloud", server: { url: speech.url } },
    calls: { summary: false },
  });
  const daemon = await startDaemon(folder);
  const said = () => readFileSync(join(folder, "notes.jsonl"), "utf8").split("\n").filter(Boolean);
  return { daemon, said };
}

/** A caller who has joined with the link of a call. */
async function joined({ port }: DaemonProcess) {
  const base = `http://127.0.0.1:${port}`;
  const { call, url } = (await post(base, "/calls", { to: "echo", by: "Ann" })).body as unknown as { call: { id: string }; url: string };
  const path = `/calls/${call.id}`;
  const { bearer } = (await post(base, `${path}/join`, { code: url.split("#")[1] })).body as unknown as { bearer: string };
  const headers = { authorization: `Bearer ${bearer}` };
  const row = async () => (await ask<{ call: { state: string; end?: { reason: string; by?: string; words?: string } } }>(port, path)).body.call;
  return { path, base, headers, row, send: (what: string, body: unknown) => post(base, `${path}/${what}`, body, headers) };
}
type Joined = Awaited<ReturnType<typeof joined>>;

interface Told {
  readonly event: string;
  readonly data: unknown;
}

/** The stream of a call, as its page reads it, until it ends. */
async function listen({ base, path, headers }: Joined, hear: (told: Told) => void): Promise<void> {
  const { body } = await fetch(`${base}${path}/stream`, { headers });
  let waiting = "";
  for await (const chunk of (body as ReadableStream<Uint8Array<ArrayBuffer>>).pipeThrough(new TextDecoderStream())) {
    const frames = (waiting + chunk).split("\n\n");
    waiting = frames.pop() ?? "";
    for (const frame of frames) {
      const field = (name: string) => new RegExp(`^${name}: ?(.*)$`, "m").exec(frame)?.[1];
      const data = field("data");
      if (data !== undefined) hear({ event: field("event") ?? "", data: JSON.parse(data) });
    }
  }
}

/** A peer with a microphone; `camera`: it offers pictures too. */
async function peerWith({ microphone = true, camera = false } = {}) {
  const peer = new wrtc.RTCPeerConnection({ iceServers: [] });
  ends.push(() => peer.close());
  const source = new wrtc.nonstandard.RTCAudioSource();
  const track = source.createTrack();
  ends.push(() => track.stop());
  if (microphone) peer.addTransceiver(track, { direction: "sendonly" });
  if (camera) peer.addTransceiver("video", { direction: "sendonly" });
  const found: (RTCIceCandidateInit | null)[] = [];
  let give: (candidate: RTCIceCandidateInit | null) => void = (candidate) => void found.push(candidate);
  const gathered = new Promise<void>((resolve) => {
    peer.onicecandidate = ({ candidate }) => {
      give(candidate === null ? null : candidate.toJSON());
      if (candidate === null) resolve();
    };
  });
  await peer.setLocalDescription(await peer.createOffer());
  const offer = () => peer.localDescription?.sdp ?? "";
  /** Speaks in real time. */
  async function speak(samples: Int16Array): Promise<void> {
    const start = performance.now();
    for (let at = 0; at + FRAME <= samples.length; at += FRAME) {
      const due = start + (at * 1_000) / RATE;
      if (due > performance.now()) await new Promise((resolve) => setTimeout(resolve, due - performance.now()));
      source.onData({ samples: samples.slice(at, at + FRAME), sampleRate: RATE, bitsPerSample: 16, channelCount: 1, numberOfFrames: FRAME });
    }
  }
  return {
    ...{ peer, gathered, offer, speak },
    /** From now on candidates go there, those of before first. */
    trickle(to: (candidate: RTCIceCandidateInit | null) => void) {
      for (const candidate of found.splice(0)) to(candidate);
      give = to;
    },
  };
}

/** Answers the call with this peer. With `trickled` candidates go by themselves, and else all of them stand in the offer. */
async function answer(call: Joined, one: Awaited<ReturnType<typeof peerWith>>, trickled: boolean): Promise<string> {
  const { peer } = one;
  const early: RTCIceCandidateInit[] = [];
  const told: Told[] = [];
  const listening = listen(call, (event) => {
    told.push(event);
    if (event.event !== "candidate" || event.data === null) return;
    if (peer.remoteDescription === null) early.push(event.data as RTCIceCandidateInit);
    else peer.addIceCandidate(event.data as RTCIceCandidateInit).catch(() => {});
  });
  listening.catch(() => {});
  if (!trickled) await one.gathered;
  const offer = trickled ? one.offer().replace(/a=candidate:.*\r\n/g, "") : one.offer();
  const { status, body } = await call.send("answer", { offer });
  expect([status, body]).toEqual([200, expect.objectContaining({ answer: expect.any(String) })]);
  const sdp = body["answer"] as string;
  await peer.setRemoteDescription({ type: "answer", sdp });
  for (const candidate of early) await peer.addIceCandidate(candidate).catch(() => {});
  if (trickled) one.trickle((candidate) => void call.send("candidate", { candidate }).catch(() => {}));
  await expect.poll(() => peer.connectionState, PATIENCE).toBe("connected");
  return sdp;
}

describe.skipIf(lacking !== undefined)("a call from libwebrtc", () => {
  it.each([
    ["one by one", true],
    ["all in the offer", false],
  ])("CHAN-09 its words are in the chat, candidates %s, and no sound comes back; hanging up ends it", { timeout: LIMIT }, async (_how, trickled) => {
    const { daemon, said } = await begun();
    const call = await joined(daemon);
    const one = await peerWith();
    const sdp = await answer(call, one, trickled);
    expect(sdp).toMatch(/^a=recvonly\r$/m);
    const sound = await spoken();
    await one.speak(sound);
    for (const sentence of SENTENCES) await expect.poll(said, PATIENCE).toContainEqual(expect.stringContaining(`Ann: ${sentence}`));
    expect((await call.row()).state).toBe("running");
    const counted = [...(await one.peer.getStats()).values()] as { type: string; packetsSent?: number; packetsReceived?: number }[];
    const sum = (type: string, key: "packetsSent" | "packetsReceived") =>
      counted.filter((stat) => stat.type === type).reduce((total, stat) => total + (stat[key] ?? 0), 0);
    expect(sum("outbound-rtp", "packetsSent")).toBeGreaterThan(100);
    expect(sum("inbound-rtp", "packetsReceived")).toBe(0);
    expect((await call.send("end", {})).status).toBe(200);
    expect(await call.row()).toMatchObject({ state: "ended", end: { reason: "hung up", by: "Ann" } });
    await expect.poll(said, PATIENCE).toContainEqual(expect.stringMatching(/Call of Echo with Ann ended .* 2 lines in /));
  });

  it("CHAN-09 a caller whose network changes goes on in the same call: other offers for it are refused, and no word is lost", { timeout: LIMIT }, async () => {
    const { daemon, said } = await begun();
    const call = await joined(daemon);
    const one = await peerWith();
    expect((await call.send("restart", { offer: one.offer() })).status).toBe(409);
    const before = one.offer();
    await answer(call, one, false);
    const sound = await spoken();
    const [first, second] = [sound.slice(0, sound.length / 2), sound.slice(sound.length / 2)];
    await one.speak(first);
    const foreign = await peerWith();
    const others = await call.send("restart", { offer: foreign.offer() });
    expect([others.status, others.body["error"]]).toEqual([400, expect.stringContaining("it is of another connection")]);
    const same = await call.send("restart", { offer: before });
    expect([same.status, same.body["error"]]).toEqual([400, expect.stringContaining("nothing to restart")]);
    await one.peer.setLocalDescription(await one.peer.createOffer({ iceRestart: true }));
    await expect.poll(() => one.peer.iceGatheringState, PATIENCE).toBe("complete");
    const { status, body } = await call.send("restart", { offer: one.offer() });
    expect(status).toBe(200);
    await one.peer.setRemoteDescription({ type: "answer", sdp: body["answer"] as string });
    await one.speak(second);
    for (const sentence of SENTENCES) await expect.poll(said, PATIENCE).toContainEqual(expect.stringContaining(`Ann: ${sentence}`));
    // By the new credentials: the pair that carries the sound is of the second offer.
    const stats = [...(await one.peer.getStats()).values()] as { type: string; selectedCandidatePairChanges?: number }[];
    expect(stats.find(({ type }) => type === "transport")?.selectedCandidatePairChanges).toBeGreaterThan(1);
    expect((await call.row()).state).toBe("running");
    one.peer.close();
    await expect.poll(async () => (await call.row()).state, PATIENCE).toBe("ended");
  });

  it("CHAN-09 a peer that goes without a word of goodbye is noticed, and the call ends", { timeout: LIMIT }, async () => {
    const { daemon } = await begun();
    const call = await joined(daemon);
    const one = await peerWith();
    await answer(call, one, false);
    one.peer.close();
    await expect.poll(async () => (await call.row()).state, PATIENCE).toBe("ended");
    expect((await call.row()).end).toMatchObject({ reason: "failed", words: "the connection to the caller was lost" });
  });

  it("CHAN-09 declined while it rings: its stream says who did, and an offer that comes then is 410", { timeout: LIMIT }, async () => {
    const { daemon } = await begun();
    const call = await joined(daemon);
    const one = await peerWith();
    const told: Told[] = [];
    const listening = listen(call, (event) => told.push(event));
    await expect.poll(() => told.map(({ event }) => event), PATIENCE).toContain("call");
    expect((await call.send("end", {})).status).toBe(200);
    await listening;
    expect(told.at(-1)).toMatchObject({ event: "ended", data: { end: { reason: "declined", by: "Ann" }, words: "declined by Ann" } });
    const late = await call.send("answer", { offer: one.offer() });
    expect([late.status, late.body]).toEqual([410, expect.objectContaining({ code: "SVC_CALLS_OVER" })]);
  });

  it("CHAN-09 offers without Opus, and of pictures alone, are refused in words; the call rings on and takes the next one", { timeout: LIMIT }, async () => {
    const { daemon } = await begun();
    const call = await joined(daemon);
    const one = await peerWith({ camera: true });
    const opus = /^a=rtpmap:(\d+) opus\/48000\/2\r$/m.exec(one.offer())?.[1];
    expect(opus).toBeDefined();
    const without = one
      .offer()
      .split("\r\n")
      .filter((line) => !new RegExp(`^a=(rtpmap|fmtp|rtcp-fb):${opus} `).test(line))
      .map((line) => (line.startsWith("m=audio") ? line.replace(` ${opus}`, "") : line))
      .join("\r\n");
    const refused = await call.send("answer", { offer: without });
    expect([refused.status, refused.body["error"]]).toEqual([400, expect.stringContaining("its sound is not Opus")]);
    const pictures = await peerWith({ microphone: false, camera: true });
    const silent = await call.send("answer", { offer: pictures.offer() });
    expect([silent.status, silent.body["error"]]).toEqual([400, expect.stringContaining("it offers no encrypted sound")]);
    expect((await call.row()).state).toBe("ringing");
    // Sound and pictures: the sound is taken, the pictures are not.
    const sdp = await answer(call, one, false);
    const [, audio = "", video = ""] = sdp.split(/^m=/m);
    expect([audio.startsWith("audio"), /^a=recvonly\r$/m.test(audio)]).toEqual([true, true]);
    expect([video.startsWith("video 0 "), /^a=inactive\r$/m.test(video)]).toEqual([true, true]);
    expect((await call.send("end", {})).status).toBe(200);
  });
});
